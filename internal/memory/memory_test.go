package memory

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

type rig struct {
	t       *testing.T
	store   Store
	project string
	pipe    *tool.Pipeline
}

func newRig(t *testing.T) *rig {
	t.Helper()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gitdirtest.Init(t, project)
	if err := os.MkdirAll(filepath.Join(project, "sub/dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	secrets, err := secret.New(t.Context(), secret.Config{Vars: []string{"API_TOKEN=tr0ub4dor-and-3-horses"}})
	if err != nil {
		t.Fatal(err)
	}
	s := Open(state, filepath.Join(project, "sub/dir"))
	reg := &tool.Registry{}
	if err := reg.Register(Tool(s, secrets)); err != nil {
		t.Fatal(err)
	}
	return &rig{t, s, project, &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}}
}

type args map[string]any

func (r *rig) call(a args) tool.Call {
	b, err := json.Marshal(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return tool.Call{Name: "update_memory", Args: b, Env: envtest.NewMemory("linux")}
}

func (r *rig) ok(a args) string {
	r.t.Helper()
	out := r.pipe.Run(r.t.Context(), r.call(a))
	if !out.OK() {
		r.t.Fatalf("%v: %v", a, out.Result.Error)
	}
	return out.Model
}

func (r *rig) fails(code tool.Code, a args, want string) {
	r.t.Helper()
	before := r.text(Project)
	out := r.pipe.Run(r.t.Context(), r.call(a))
	if out.OK() || out.Result.Error.Code != code || !strings.Contains(out.Model, want) {
		r.t.Errorf("%v: got %+v, want %s with %q", a, out.Result.Error, code, want)
	}
	if r.text(Project) != before {
		r.t.Errorf("%v changed the file", a)
	}
}

func (r *rig) text(scope Scope) string {
	r.t.Helper()
	b, err := os.ReadFile(r.store.Path(scope))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	return string(b)
}

func TestUpdate_CreatesUpdatesAndDeletesNotes(t *testing.T) {
	r := newRig(t)
	if got := r.ok(args{"action": "create", "title": "How to test", "content": "Run make check.\n\n## Not a note\ntext"}); got != `Created the note "How to test" (id: how-to-test) in the project memory.` {
		t.Errorf("got %q", got)
	}
	r.ok(args{"action": "create", "title": "Second", "knowledge_to_store": "two"})
	r.ok(args{"action": "update", "existing_knowledge_id": "how-to-test", "content": "Run make test."})
	want := "# Memory of " + r.project + "\n\nNotes that agents keep between sessions. You can edit them: each begins with \"## \" and its title.\n" +
		"\n## Second\n\ntwo\n\n## How to test\n\nRun make test.\n"
	if got := r.text(Project); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.ok(args{"action": "delete", "id": "second"})
	r.ok(args{"action": "update", "id": "how-to-test", "title": "Tests", "content": "x"})
	if notes, err := r.store.Notes(Project); err != nil || fmt.Sprint(notes) != "[{tests Tests x}]" {
		t.Errorf("got %v, %v", notes, err)
	}
	if got := r.text(User); got != "" {
		t.Errorf("the user's memory is %q", got)
	}
	r.ok(args{"action": "create", "title": "Me", "content": "terse", "scope": "user"})
	if !strings.Contains(r.text(User), "# Memory of the user\n") {
		t.Errorf("got %q", r.text(User))
	}
	if info, err := os.Stat(r.store.Path(User)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info, err)
	}
}

func TestUpdate_HeadingsDoNotBecomeNotes(t *testing.T) {
	r := newRig(t)
	r.ok(args{"action": "create", "title": "A", "content": "# one\n## two\n### three"})
	notes, err := r.store.Notes(Project)
	if err != nil || len(notes) != 1 || notes[0].Text != "### one\n### two\n### three" {
		t.Errorf("got %+v, %v", notes, err)
	}
}

func TestUpdate_Refuses(t *testing.T) {
	r := newRig(t)
	r.ok(args{"action": "create", "title": "A", "content": "x"})
	create := func(title, content string) args {
		return args{"action": "create", "title": title, "content": content}
	}
	r.fails(tool.AlreadyExists, create("a!", "y"), "Update it")
	r.fails(tool.ValidationError, create("", "y"), "title")
	r.fails(tool.ValidationError, create("B", " "), "empty")
	r.fails(tool.ValidationError, create("B\nC", "y"), "one line")
	r.fails(tool.ValidationError, create(strings.Repeat("t", 101), "y"), "100 bytes")
	r.fails(tool.ValidationError, create("B", strings.Repeat("y", 2001)), "2000 bytes")
	r.fails(tool.ValidationError, create("B", "the token is tr0ub4dor-and-3-horses"), "secret")
	r.fails(tool.ValidationError, create("B", "AKIAIOSFODNN7EXAMPLA"), "secret")
	r.fails(tool.ValidationError, create("B", "password [redacted:jwt]"), "secret")
	r.fails(tool.ValidationError, create("B", "a\u200bb"), "invisible characters")
	r.fails(tool.ValidationError, create("B\U000E0041", "b"), "invisible characters")
	r.fails(tool.ValidationError, create("B", "a\x1b[31mb"), "invisible characters")
	r.fails(tool.ValidationError, args{"action": "update", "id": "zz", "content": "y"}, "the ids are a")
	r.fails(tool.ValidationError, args{"action": "delete", "id": ""}, "Unknown note")
	r.fails(tool.ValidationError, args{"action": "read"}, "action")
	r.fails(tool.ValidationError, args{"action": "create", "title": "B", "content": "y", "scope": "../../x"}, "scope")
	for i := range 40 {
		out := r.pipe.Run(t.Context(), r.call(create(fmt.Sprint("n", i), strings.Repeat("y", 2000))))
		if !out.OK() {
			if i < 30 || out.Result.Error.Code != tool.TooLarge {
				t.Errorf("note %d: %v", i, out.Result.Error)
			}
			return
		}
	}
	t.Error("the memory has no limit")
}

func TestUpdate_IsDeclaredAndPreviewed(t *testing.T) {
	r := newRig(t)
	call := r.call(args{"action": "create", "title": "A", "content": "x"})
	tl := Tool(r.store, nil)
	if got := fmt.Sprint(tl.Access(t.Context(), &call)); got != "[write "+r.store.Path(Project)+"]" {
		t.Errorf("got accesses %s", got)
	}
	p, err := tl.(tool.Previewer).Preview(t.Context(), &call)
	if err != nil || len(p.Changes) != 1 || r.text(Project) != "" {
		t.Fatalf("got %+v, %v", p, err)
	}
	r.pipe.Run(t.Context(), call)
	if c := p.Changes[0]; c.Path != r.store.Path(Project) || string(c.After) != r.text(Project) || c.Existed || !c.Exists {
		t.Errorf("got %+v", c)
	}
	// Without an approver, nothing is written.
	r.pipe.Policy = nil
	r.fails(tool.PermissionDenied, args{"action": "delete", "id": "a"}, "no approver is configured")
}

func TestUpdate_ConcurrentChangesAreAllKept(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r.pipe.Run(t.Context(), r.call(args{"action": "create", "title": fmt.Sprint("note ", i), "content": "x"}))
		})
	}
	wg.Wait()
	if notes, err := r.store.Notes(Project); err != nil || len(notes) != 20 {
		t.Errorf("%d notes were kept, want 20: %v", len(notes), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(r.store.Path(User)), ".reins-*")); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
}

func TestShown_NewestNotesWithinTheBudget(t *testing.T) {
	r := newRig(t)
	for i := range 10 {
		r.ok(args{"action": "create", "title": fmt.Sprint("P", i), "content": strings.Repeat("p", 300)})
		r.ok(args{"action": "create", "title": fmt.Sprint("U", i), "content": strings.Repeat("u", 300), "scope": "user"})
	}
	shown, err := r.store.Shown(2000)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(shown["user"]) + len(shown["project"]); n > 2000 || n < 1500 {
		t.Errorf("%d bytes are shown", n)
	}
	for scope, want := range map[string]string{"user": "[8 older notes are left out]\n## U8 (id: u8)\n", "project": "[6 older notes are left out]\n## P6 (id: p6)\n"} {
		if !strings.HasPrefix(shown[scope], want) {
			t.Errorf("%s: got %.80q, want %q", scope, shown[scope], want)
		}
	}
	all, err := r.store.Shown(100_000)
	if err != nil || strings.Contains(all["user"], "left out") || strings.Count(all["project"], "## ") != 10 {
		t.Errorf("got %q, %v", all, err)
	}
	if none, err := r.store.Shown(0); err != nil || none["user"]+none["project"] != "" {
		t.Errorf("got %q, %v without a budget", none, err)
	}
}

func TestStore_ProjectsHaveTheirOwnFiles(t *testing.T) {
	r := newRig(t)
	notes := r.store.dir
	if got := Open(notes, r.project); got != r.store {
		t.Errorf("the root of the repository has %v, a directory in it %v", got, r.store)
	}
	if err := os.Mkdir(filepath.Join(r.project, "sub", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Open(notes, filepath.Join(r.project, "sub/dir")); got != r.store {
		t.Errorf("below an empty .git there is %v, want %v", got, r.store)
	}
	if other := Open(notes, t.TempDir()); other.Path(Project) == r.store.Path(Project) || other.Path(User) != r.store.Path(User) {
		t.Errorf("another project has %s", other.Path(Project))
	}
	if !strings.HasPrefix(r.store.Path(Project), notes+string(filepath.Separator)) {
		t.Errorf("%s is not with the notes", r.store.Path(Project))
	}
}

func TestStore_EditedFilesAreKept(t *testing.T) {
	r := newRig(t)
	if err := r.store.Create(t.Context(), Project); err != nil {
		t.Fatal(err)
	}
	mine := "Mine.\n\n## My note\nby hand\n- list\n"
	if err := os.WriteFile(r.store.Path(Project), []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	r.ok(args{"action": "create", "title": "B", "content": "x"})
	if got := r.text(Project); got != "Mine.\n\n## My note\n\nby hand\n- list\n\n## B\n\nx\n" {
		t.Errorf("got %q", got)
	}
	if found, err := r.store.Delete(t.Context(), Project, "C"); found || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := r.store.Delete(t.Context(), Project, "My note"); !found || err != nil || r.text(Project) != "Mine.\n\n## B\n\nx\n" {
		t.Errorf("got %v, %v, %q", found, err, r.text(Project))
	}
	if found, err := r.store.Clear(t.Context(), Project); !found || err != nil || r.text(Project) != "" {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := r.store.Clear(t.Context(), Project); found || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# M\n\n## A\n\nx\n## B\ny")
	f.Fuzz(func(t *testing.T, text string) {
		once := parse(text).String()
		if again := parse(once).String(); again != once {
			t.Errorf("%q becomes %q", once, again)
		}
	})
}
