package lsptools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// TestMain runs the test binary as a server if it is asked to.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "lsp-server" {
		serveFake(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

// rig runs the tools on real files. Its server is the test binary.
type rig struct {
	t    *testing.T
	dir  string
	env  *local.Env
	pipe *tool.Pipeline
}

func newRig(t *testing.T, mode string, timeout time.Duration) *rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := lsp.Server{Name: "fake", Command: []string{self, "lsp-server", mode}, Languages: map[string]string{".fk": "fake"}, Check: "fakec ."}
	if mode == "missing" {
		s.Command = []string{"no-such-language-server"}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := lsp.Open(e, e, lsp.Config{Servers: []lsp.Server{s}})
	t.Cleanup(func() {
		w.Close()
		e.Close()
	})
	c := tools.Config{State: tools.NewState(), ReadBeforeWrite: true}
	l := New(w, Config{Timeout: timeout}, c)
	reg := &tool.Registry{}
	if err := reg.Register(append(tools.New(c), l.All()...)...); err != nil {
		t.Fatal(err)
	}
	reg.Alias(tools.AddedAliases()...)
	return &rig{t, dir, e, &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}, Middleware: []tool.Middleware{l.Diagnose}}}
}

type args map[string]any

func (r *rig) run(name string, a args) tool.Outcome {
	r.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.pipe.Run(r.t.Context(), tool.Call{ID: "1", Name: name, Args: b, Env: r.env})
}

// ok makes a call that must succeed, and returns the model's view of the result.
func (r *rig) ok(name string, a args) string {
	r.t.Helper()
	out := r.run(name, a)
	if !out.OK() {
		r.t.Fatalf("%s %v failed: %v", name, a, out.Result.Error)
	}
	return out.Model
}

func (r *rig) file(name string) string {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) write(name, text string) string {
	return r.ok("write_file", args{"file_path": name, "content": text})
}

func TestEdit_ReturnsTheErrorsThatItCauses(t *testing.T) {
	r := newRig(t, "ok", time.Minute)
	if got := r.write("a.fk", "x\nERR first\n"); !strings.Contains(got, "[fake: 1 error in the changed files:\na.fk:2:1: first]") {
		t.Errorf("the edit that starts the server: %s", got)
	}
	want := "[fake: this change causes 1 new error:\na.fk:3:1: second\n1 error in the changed files existed before.]"
	if got := r.ok("edit_file", args{"file_path": "a.fk", "old_string": "x\n", "new_string": "x\n\nERR second\n"}); !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := r.ok("edit_file", args{"file_path": "a.fk", "old_string": "x\n", "new_string": "y\n"}); !strings.Contains(got, "[fake: no new errors; 2 errors from before.]") {
		t.Errorf("an edit that changes nothing about errors: %s", got)
	}
	var many strings.Builder
	for i := range 30 {
		many.WriteString("ERR e" + strings.Repeat("x", i) + "\n")
	}
	if got := r.write("b.fk", many.String()); strings.Count(got, "b.fk:") > 10+1 || !strings.Contains(got, "20 more; see read_lints") {
		t.Errorf("30 errors: %s", got)
	}
	if got := r.write("a.fk", "fine\n"); strings.Contains(got, "fake") {
		t.Errorf("an edit that repairs the file: %s", got)
	}
	if got := r.write("a.txt", "ERR x\n"); strings.Contains(got, "fake") {
		t.Errorf("a file without a server: %s", got)
	}
}

func TestEdit_DoesNotNeedAServer(t *testing.T) {
	r := newRig(t, "missing", time.Minute)
	for range 2 {
		if got := r.write("a.fk", "ERR x\n"); strings.Contains(got, "[") {
			t.Errorf("got %s, want no note", got)
		}
	}
	got := r.ok("read_lints", args{"paths": []string{"a.fk"}})
	if !strings.Contains(got, "not installed: no-such-language-server") || !strings.Contains(got, "fakec .") {
		t.Errorf("read_lints: got %s, want a note that there is no server, with a command to run", got)
	}
	if out := r.run("lsp", args{"operation": "references", "path": "a.fk", "line": 1}); out.OK() || !strings.Contains(out.Model, "not installed") {
		t.Errorf("lsp: got %s, want an error", out.Model)
	}
}

func TestEdit_WaitsForItsLimitOnly(t *testing.T) {
	r := newRig(t, "silent", time.Millisecond)
	const late = "fake has not checked this change yet"
	if got := r.write("a.fk", "ERR x\n"); !strings.Contains(got, late) {
		t.Errorf("got %s, want a note that diagnostics are late", got)
	}
	if got := r.write("a.fk", "ERR y\n"); strings.Contains(got, late) {
		t.Errorf("the note is repeated: %s", got)
	}
	if got := New(nil, Config{}, tools.Config{}).config.Timeout; got != 2*time.Second {
		t.Errorf("edits wait for %v, want 2 seconds", got)
	}
}

func TestLints_ShowErrorsInFiles(t *testing.T) {
	r := newRig(t, "ok", time.Minute)
	r.write("a.fk", "ERR x\n")
	if err := os.WriteFile(r.dir+"/b.fk", []byte("\nERR y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.ok("read_lints", args{"paths": []string{"a.fk", "b.fk"}}); got != "a.fk:1:1: error: x\nb.fk:2:1: error: y" {
		t.Errorf("got %s", got)
	}
	if got := r.ok("read_lints", args{}); !strings.Contains(got, "a.fk:1:1: error: x\nb.fk:2:1: error: y") {
		t.Errorf("the working directory: got %s", got)
	}
	if out := r.run("read_lints", args{"paths": []string{"none.fk"}}); out.OK() || out.Result.Error.Code != tool.FileNotFound {
		t.Errorf("a missing file: got %s", out.Model)
	}
}

func TestRename_DeclaresAndWritesTheFilesThatChange(t *testing.T) {
	r := newRig(t, "ok", time.Minute)
	r.write("a.fk", "old one\n")
	r.write("b.fk", "x old\r\n")
	r.write("c.fk", "none\n")
	a := args{"operation": "rename", "path": "a.fk", "line": 1, "symbol": "old", "new_name": "new"}
	b, _ := json.Marshal(a)
	var writes []string
	for _, x := range r.pipe.Check(t.Context(), tool.Call{Name: "lsp", Args: b, Env: r.env}).Accesses {
		if x.Kind == policy.Write {
			writes = append(writes, filepath.Base(x.Target))
		}
	}
	if !slices.Equal(writes, []string{"a.fk", "b.fk"}) {
		t.Errorf("the declared writes are %q, want a.fk and b.fk", writes)
	}
	var preview tool.Preview
	r.pipe.Policy = policy.Func(func(context.Context, policy.Query) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: "test"}
	})
	r.pipe.Approve = func(ctx context.Context, q tool.Request) (_ tool.Approval, err error) {
		preview, _, err = q.Preview(ctx)
		return tool.Approval{Allow: true}, err
	}
	got := r.ok("lsp", a)
	if !strings.Contains(got, "Renamed to new in 2 files:\na.fk\nb.fk") || r.file("a.fk") != "new one\n" || r.file("b.fk") != "x new\r\n" {
		t.Errorf("got %s, files %q and %q", got, r.file("a.fk"), r.file("b.fk"))
	}
	if len(preview.Changes) != 2 || string(preview.Changes[0].After) != "new one\n" || string(preview.Changes[1].Before) != "x old\r\n" {
		t.Errorf("the preview is %+v", preview.Changes)
	}
	r.pipe.Policy = policy.AllowAll{}
	r.ok("edit_file", args{"file_path": "a.fk", "old_string": "new", "new_string": "newer"}) // it need not be read again
}

func TestRename_WritesAllFilesOrNothing(t *testing.T) {
	r := newRig(t, "grows", time.Minute)
	r.write("a.fk", "old\n")
	r.write("b.fk", "old\n")
	out := r.run("lsp", args{"operation": "rename", "path": "b.fk", "symbol": "old", "new_name": "new"})
	if out.OK() || !strings.Contains(out.Model, "Nothing was changed") || r.file("a.fk") != "old\n" || r.file("b.fk") != "old\n" {
		t.Errorf("a rename of more files than were judged: got %s, files %q and %q", out.Model, r.file("a.fk"), r.file("b.fk"))
	}
}

func TestLSP_AcceptsClaudeCodeNames(t *testing.T) {
	r := newRig(t, "ok", time.Minute)
	r.write("a.fk", "old\n")
	if got := r.ok("LSP", args{"operation": "findReferences", "filePath": "a.fk", "line": 1, "character": 1}); got != "a.fk:1:1: old" {
		t.Errorf("got %s, want a.fk:1:1", got)
	}
	for operation, says := range map[string]string{"fly": "Unknown operation", "rename": "needs new_name"} {
		if out := r.run("lsp", args{"operation": operation, "path": "a.fk", "line": 1}); out.OK() || !strings.Contains(out.Model, says) {
			t.Errorf("%s: got %s, want %q", operation, out.Model, says)
		}
	}
}

func TestDefinitions_AreSmall(t *testing.T) {
	for _, one := range New(nil, Config{}, tools.Config{}).All() {
		if n := tool.DefinitionSize([]tool.Tool{one}); n > 800 {
			t.Errorf("the definition of %s has %d bytes, want at most 800", one.Spec().Name, n)
		} else {
			t.Logf("%s: %d bytes", one.Spec().Name, n)
		}
	}
}

func TestConfig_ReplacesCommands(t *testing.T) {
	c := Config{Commands: map[string]string{"gopls": "/opt/gopls -remote=auto", "clangd": "off"}}
	for _, s := range c.Servers() {
		switch {
		case s.Name == "gopls" && !slices.Equal(s.Command, []string{"/opt/gopls", "-remote=auto"}):
			t.Errorf("gopls has the command %q", s.Command)
		case s.Name == "clangd" && s.Command != nil:
			t.Errorf("clangd has the command %q, want none", s.Command)
		case s.Name == "rust-analyzer" && (len(s.Command) != 1 || !s.RunsProject):
			t.Errorf("rust-analyzer: %+v", s)
		}
	}
}
