package feature

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// treeRig is a repository with sessions whose model carries out the calls in a prompt, one in each line.
type treeRig struct {
	*openRig
	session *agent.Session
}

func newTreeRig(t *testing.T) *treeRig {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := &treeRig{openRig: newOpenRig(t)}
	g.model.Reply = func(_ int, r *llm.Request) llmtest.Turn { return nextCall(r) }
	var err error
	if g.dir, err = filepath.EvalSymlinks(g.dir); err != nil {
		t.Fatal(err)
	}
	g.write("a.txt", "one\n")
	for _, args := range []string{"init -q -b main", "config user.name T", "config user.email t@example.com", "add -A", "commit -qm first"} {
		g.git(strings.Fields(args)...)
	}
	return g
}

func (g *treeRig) git(args ...string) {
	g.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		g.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (g *treeRig) write(name, text string) {
	g.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o644); err != nil {
		g.Fatal(err)
	}
}

func (g *treeRig) start(resume string) {
	g.Helper()
	g.session = g.open(coding.Config{Extensions: with(Worktrees()), Model: "m", Resume: resume, Session: agent.Config{Policy: policy.AllowAll{}}})
}

// restart closes the session and resumes it.
func (g *treeRig) restart() {
	g.Helper()
	if err := g.session.Close(); err != nil {
		g.Fatal(err)
	}
	g.start(g.session.ID())
}

// nextCall returns the call in the next line of the last prompt or, after the last one, the results.
func nextCall(r *llm.Request) llmtest.Turn {
	prompt, done, results := "", 0, ""
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleUser:
			if text := m.Text(); strings.Contains(text, " {") {
				prompt, done, results = text, 0, ""
			}
		case llm.RoleTool:
			done++
			for _, p := range m.Parts {
				results += fmt.Sprintln(p.(llm.ToolResult).Text())
			}
		}
	}
	lines := strings.Split(prompt, "\n")
	if done >= len(lines) {
		return llmtest.Say(results)
	}
	name, args, _ := strings.Cut(lines[done], " {")
	return llmtest.Call(name, "{"+args)
}

// do has the model carry out calls, and returns the results.
func (g *treeRig) do(calls ...string) string {
	g.Helper()
	out, err := g.session.Submit(g.Context(), llm.Text{Text: strings.Join(calls, "\n")})
	if err != nil || out.Status != agent.StatusDone {
		g.Fatalf("%s: %+v, %v", calls, out, err)
	}
	return out.Text
}

func (g *treeRig) want(got, part string) {
	g.Helper()
	if !strings.Contains(got, part) {
		g.Errorf("got %q, want %q in it", got, part)
	}
}

// files returns all files of the repository, those of git included.
func (g *treeRig) files() map[string]string {
	g.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		info, _ := d.Info()
		all[path] = info.Mode().String() + string(b)
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
	return all
}

func (g *treeRig) unchanged(before map[string]string, when string) {
	g.Helper()
	if after := g.files(); !maps.Equal(after, before) {
		g.Errorf("%s: the repository changed: %v, want %v", when, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

func call(name string, args map[string]any) string {
	b, _ := json.Marshal(args)
	return name + " " + string(b)
}

func TestWorktree_SessionWorksInItAlsoAfterAResume(t *testing.T) {
	g := newTreeRig(t)
	g.start("")
	before := g.files()
	g.want(g.do(`enter_worktree {"name":"try"}`), "worktree try")
	g.do(`write_file {"file_path":"new.txt","content":"1\n"}`, `shell {"command":"echo 2 >> new.txt; git add -A; git commit -qm work; pwd"}`)
	g.unchanged(before, "after edits")
	g.restart()
	g.want(g.do(`shell {"command":"cat new.txt; pwd"}`), "1\n2\n"+filepath.Join(g.state, "worktrees"))
	g.want(g.do(call("write_file", map[string]any{"file_path": filepath.Join(g.dir, "a.txt"), "content": "x"})), "outside the allowed")
	g.want(g.do(`enter_worktree {}`), "already")
	g.unchanged(before, "after the resume")
	g.want(g.do(`exit_worktree {"action":"diff"}`), "+++ b/new.txt")
	g.want(g.do(`exit_worktree {"action":"remove"}`), "not removed")
	g.unchanged(before, "in the worktree")
	g.want(g.do(`exit_worktree {"action":"apply"}`, `shell {"command":"pwd; cat new.txt"}`), g.dir+"\n1\n2\n")
	g.restart()
	g.want(g.do(`shell {"command":"pwd"}`), g.dir)
	g.want(g.do(`exit_worktree {"action":"remove","name":"try"}`), "was removed")
	if moved := records(g, func(d event.Settings) bool { return d.Dir != "" }); len(moved) != 3 {
		t.Errorf("%d records of a new directory, want 3: %v", len(moved), moved)
	}
}

// records returns the records of the session of one kind.
func records[D event.Data](g *treeRig, want func(D) bool) (all []D) {
	last := g.session.Last()
	for r := range g.session.Events(g.Context(), 0) {
		if d, ok := r.Data.(D); ok && want(d) {
			all = append(all, d)
		}
		if r.Seq >= last {
			break
		}
	}
	return all
}

func TestWorktree_ResumeWithoutIt(t *testing.T) {
	g := newTreeRig(t)
	g.start("")
	g.do(`enter_worktree {"name":"try"}`)
	g.session.Close()
	if err := os.RemoveAll(filepath.Join(g.state, "worktrees")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g.start(g.session.ID())
		g.want(g.do(`shell {"command":"pwd"}`), g.dir)
		g.session.Close()
	}
	if n := strings.Count(fmt.Sprint(g.session.Messages()), "no longer exists"); n != 1 {
		t.Errorf("the model was told %d times, want once", n)
	}
}

// A subagent with isolation changes nothing of the repository, byte for byte, whatever it does.
func TestWorktree_SubagentIsIsolated(t *testing.T) {
	g := newTreeRig(t)
	g.write("a.txt", "not committed\n")
	g.start("")
	before := g.files()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	task := []string{`write_file {"file_path":"mine.txt","content":"mine\n"}`}
	for range 5 {
		text, name := fmt.Sprint(rng.Uint64(), "\n"), fmt.Sprintf("f%d.txt", rng.IntN(3))
		task = append(task, []string{
			call("write_file", map[string]any{"file_path": name, "content": text}),
			call("shell", map[string]any{"command": "echo " + name + " >> a.txt; mkdir -p d; echo x > d/" + name}),
			call("shell", map[string]any{"command": "git add -A; git commit -qm x; git branch -f main HEAD; git tag -f t"}),
			call("shell", map[string]any{"command": "rm -rf a.txt d; git stash -u -q; git stash drop -q"}),
			call("write_file", map[string]any{"file_path": filepath.Join(g.dir, name), "content": text}),
			call("write_file", map[string]any{"file_path": "../../../" + name, "content": text}),
		}[rng.IntN(6)])
	}
	task = append(task, `write_file {"file_path":"mine.txt","content":"mine\n"}`)
	g.want(g.do(call("spawn_agent", map[string]any{"task": strings.Join(task, "\n"), "isolation": "worktree"}), `wait {"agent_id":"1"}`), "Its changes are in worktree ")
	g.unchanged(before, "after the subagent")
	started := records(g, func(event.SubagentStart) bool { return true })
	if len(started) != 1 || started[0].Worktree == "" {
		t.Fatalf("records %+v, want one with a worktree", started)
	}
	tree := name(started[0].Worktree)
	g.restart()
	g.unchanged(before, "after a resume")
	g.want(g.do(call("exit_worktree", map[string]any{"action": "branch", "name": tree})), "branch worktree-"+tree)
	for path, text := range before {
		if now := g.files()[path]; now != text {
			t.Errorf("saving the branch changed %s", path)
		}
	}
	g.want(g.do(`send_input {"agent_id":"1","message":"shell {\"command\":\"cat mine.txt\"}"}`, `wait {"agent_id":"1"}`), "mine\n")
}

func TestWorktree_ConflictIsReportedAndChangesNothing(t *testing.T) {
	g := newTreeRig(t)
	g.start("")
	g.do(`enter_worktree {"name":"try"}`, `write_file {"file_path":"b.txt","content":"b\n"}`, `shell {"command":"echo theirs > a.txt"}`)
	g.write("a.txt", "ours\n")
	before := g.files()
	g.want(g.do(`exit_worktree {"action":"apply"}`), "both sides changed a.txt")
	g.unchanged(before, "after the conflict")
	g.want(g.do(`exit_worktree {"action":"keep"}`, `shell {"command":"pwd"}`), g.dir)
	g.want(g.do(`exit_worktree {"action":"remove","name":"try"}`), "not removed")
	g.want(g.do(`enter_worktree {"name":"try"}`, `shell {"command":"cat a.txt"}`), "theirs")
}

func TestWorktree_NeedsARepositoryAndIsOnlyForTheSession(t *testing.T) {
	g := newTreeRig(t)
	g.dir = t.TempDir()
	g.start("")
	g.want(g.do(`enter_worktree {}`), "not a git repository")
	g.want(g.do(`spawn_agent {"task":"pwd {}","isolation":"worktree"}`), "not a git repository")
	g.want(g.do(`spawn_agent {"task":"x {}","isolation":"remote"}`), "unknown isolation")
	g.want(g.do(`spawn_agent {"task":"enter_worktree {}"}`, `wait {"agent_id":"1"}`), "nknown tool")
}

// Applying is judged file by file, and an approver sees the changes.
func TestWorktree_ApplyNeedsPermissionForEachFile(t *testing.T) {
	g := newTreeRig(t)
	g.start("")
	g.do(`enter_worktree {"name":"try"}`, `write_file {"file_path":"b.txt","content":"b\n"}`, `shell {"command":"rm a.txt"}`)
	g.do(`exit_worktree {"action":"apply"}`)
	for _, d := range records(g, func(d event.ToolCallEnd) bool { return d.Name == "exit_worktree" }) {
		want := []policy.Access{
			{Kind: policy.Delete, Target: filepath.Join(g.dir, "a.txt"), Host: true},
			{Kind: policy.Write, Target: filepath.Join(g.dir, "b.txt"), Host: true},
		}
		if !slices.Equal(d.Accesses, want) {
			t.Errorf("accesses %v, want %v", d.Accesses, want)
		}
	}
}

// TestWorktree_UndoTakesBackWhatApplyWrote has the user change the original during the work.
func TestWorktree_UndoTakesBackWhatApplyWrote(t *testing.T) {
	g := newTreeRig(t)
	g.start("")
	steps := 0
	g.model.Reply = func(_ int, r *llm.Request) llmtest.Turn {
		if steps++; steps == 2 {
			g.write("mine.txt", "by hand\n")
		}
		return nextCall(r)
	}
	g.do(`enter_worktree {"name":"try"}`, `write_file {"file_path":"new/b.txt","content":"b\n"}`,
		`edit_file {"file_path":"a.txt","old_string":"one","new_string":"two"}`, `exit_worktree {"action":"apply"}`)
	for _, d := range records(g, func(d event.ToolCallEnd) bool { return d.Name == "exit_worktree" }) {
		var paths []string
		for _, w := range d.Artifacts.Wrote {
			paths = append(paths, w.Path)
		}
		if !slices.Equal(paths, []string{"a.txt", "new", "new/b.txt"}) {
			t.Errorf("apply wrote %v", paths)
		}
	}
	u, err := g.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true})
	if err != nil || fmt.Sprint(u.Changed, u.Kept) != "[a.txt new/b.txt] [mine.txt]" {
		t.Fatalf("changed %v, kept %v, %v", u.Changed, u.Kept, err)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "new")); err == nil {
		t.Error("undo left an empty directory")
	}
}

func TestWorktree_HooksAreToldOfIt(t *testing.T) {
	g := newTreeRig(t)
	var seen []string
	list := []hook.Hook{}
	for _, e := range []hook.Event{hook.WorktreeCreate, hook.WorktreeRemove, hook.CwdChanged} {
		list = append(list, hook.Hook{Event: e, Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			seen = append(seen, fmt.Sprint(in.Event, " ", in.WorktreeName, " ", filepath.Base(in.Worktree), " ", in.OldDir == g.dir, in.NewDir == g.dir))
			return hook.Output{}, nil
		}})
	}
	set, err := hook.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	g.session = g.open(coding.Config{Extensions: with(Worktrees()), Model: "m", Session: agent.Config{Policy: policy.AllowAll{}, Hooks: set}})
	g.do(`enter_worktree {"name":"w"}`, `exit_worktree {"action":"keep"}`, `enter_worktree {"name":"w"}`, `exit_worktree {"action":"remove"}`)
	in, out := "CwdChanged  . true false", "CwdChanged  . false true"
	if want := []string{"WorktreeCreate w tree false false", in, out, in, "WorktreeRemove w tree false false", out}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestAgent_InPlanModeChangesNothing(t *testing.T) {
	g := newTreeRig(t)
	g.start("") // with a policy that allows everything
	before := g.files()
	task := call("write_file", map[string]any{"file_path": "new.txt", "content": "x"}) + "\n" + call("shell", map[string]any{"command": "touch new"})
	g.do(call("Agent", map[string]any{"prompt": task, "description": "d", "mode": "plan", "run_in_background": false}))
	g.unchanged(before, "after the subagent")
	g.want(g.do(call("Task", map[string]any{"prompt": task, "mode": "bypassPermissions"})), "less strict")
	g.unchanged(before, "after a refused mode")
	if n := len(records(g, func(event.SubagentStart) bool { return true })); n != 1 {
		t.Errorf("%d subagents, want 1", n)
	}
}
