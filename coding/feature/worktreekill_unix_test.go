//go:build unix

package feature

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

const (
	treeFiles = 6
	treeDone  = "Everything is written."
)

// treeModel makes calls one after the other. It repeats those that were interrupted, with another name if the name may be
// taken.
func treeModel(_ int, r *llm.Request) llmtest.Turn {
	if strings.HasPrefix(r.Messages[1].Text(), "write_file") { // the subagent
		return nextCall(r)
	}
	made, done, failed := map[string]string{}, map[string]bool{}, map[string]int{}
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolCall:
				made[p.ID] = p.Name + " " + p.Arguments
			case llm.ToolResult:
				done[made[p.ID]] = !p.IsError && (p.Name != "wait" || strings.Contains(p.Text(), "Its changes are in worktree"))
				if !done[made[p.ID]] {
					failed[p.Name]++
				}
			}
		}
	}
	tree, helper := fmt.Sprint("try", failed["enter_worktree"]), fmt.Sprint("helper", failed["spawn_agent"]+failed["wait"])
	calls := []string{call("enter_worktree", map[string]any{"name": tree})}
	for i := range treeFiles {
		calls = append(calls, call("write_file", map[string]any{"file_path": fmt.Sprintf("f%d.txt", i), "content": fmt.Sprintln(i)}))
	}
	calls = append(calls,
		call("spawn_agent", map[string]any{"name": helper, "task": `write_file {"file_path":"sub.txt","content":"sub\n"}`, "isolation": "worktree"}),
		call("wait", map[string]any{"agent_id": helper}))
	for _, c := range calls {
		if !done[c] {
			name, args, _ := strings.Cut(c, " ")
			return llmtest.Call(name, args)
		}
	}
	return llmtest.Say(treeDone)
}

// TestWorktree_Lives is the process of the test below. It works until everything is done, and prints the number of each
// record that is saved.
func TestWorktree_Lives(t *testing.T) {
	dir := os.Getenv("REINS_TEST_TREE")
	if dir == "" {
		t.Skip("runs in a process of its own")
	}
	state := filepath.Join(dir, "state")
	c := coding.Config{Extensions: with(Worktrees()), State: state, Model: "m", Session: agent.Config{ID: "tree", Client: &llmtest.Script{Reply: treeModel}, Policy: policy.AllowAll{}}}
	store, err := home.Dir(state).OpenSessions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Meta(t.Context(), "tree"); err == nil {
		c.Resume = "tree"
	} else {
		c.Dir = filepath.Join(dir, "repo")
	}
	s, err := coding.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go func() {
		for r := range s.Events(context.Background(), s.Last()) {
			if r.Durable() {
				fmt.Println("record", r.Seq)
			}
		}
	}()
	for text := ""; text != treeDone; {
		out, err := s.Continue(t.Context())
		if errors.Is(err, agent.ErrNothingToContinue) {
			out, err = s.Submit(t.Context(), llm.Text{Text: "go on"})
		}
		if err != nil {
			t.Fatal(err)
		}
		text = out.Text
	}
	fmt.Println("finished")
}

// treeLife runs the process, and kills it some time after it saved a number of records. It reports whether the process
// finished its work.
func treeLife(t *testing.T, dir string, after int, pause time.Duration) (finished bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestWorktree_Lives$", "-test.v")
	cmd.Env = append(os.Environ(), "REINS_TEST_TREE="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	failure := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch line := lines.Text(); {
		case line == "finished":
			finished = true
		case strings.HasPrefix(line, "record "):
			if after--; after == 0 {
				time.Sleep(pause)
				_ = cmd.Process.Kill()
			}
		case !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- PASS") && line != "PASS":
			failure += line + "\n"
		}
	}
	err = cmd.Wait()
	if failure != "" || err != nil && err.Error() != "signal: killed" {
		t.Fatalf("the process failed: %v\n%s", err, failure)
	}
	return finished
}

// A session that is killed at any moment continues in its worktree, loses nothing that it wrote there, and never changes
// the repository.
func TestWorktree_SurvivesKillsAtAnyMoment(t *testing.T) {
	lives := 0
	for kills := thorough.Of(200, 3); kills > 0; lives++ {
		g := newTreeRig(t)
		home := t.TempDir()
		if err := os.Rename(g.dir, filepath.Join(home, "repo")); err != nil {
			t.Fatal(err)
		}
		g.dir, g.state = filepath.Join(home, "repo"), filepath.Join(home, "state")
		before := g.files()
		for !treeLife(t, home, 1+rand.IntN(12), time.Duration(rand.IntN(40))*time.Millisecond) {
			g.unchanged(before, "after a kill")
			if kills--; kills == 0 { // the last process is not killed
				treeLife(t, home, 0, 0)
				break
			}
		}
		g.unchanged(before, "at the end")
		g.checkTrees()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d sessions", lives)
}

// checkTrees checks that the session is in its worktree, with all files, and that the work of its subagent is kept.
func (g *treeRig) checkTrees() {
	g.Helper()
	g.model.Reply = func(_ int, r *llm.Request) llmtest.Turn { return nextCall(r) }
	g.start("tree")
	want := filepath.Join(g.state, "worktrees")
	got := g.do(`shell {"command":"pwd; cat f*.txt"}`, `exit_worktree {"action":"diff"}`)
	for i := range treeFiles {
		g.want(got, fmt.Sprintf("+++ b/f%d.txt", i))
	}
	g.want(got, want)
	g.want(got, "\n0\n1\n2\n3\n4\n5\n")
	if list, _ := filepath.Glob(filepath.Join(want, "*", "*", "tree", "sub.txt")); len(list) == 0 {
		all, _ := filepath.Glob(filepath.Join(want, "*", "*"))
		g.Errorf("the work of the subagent is lost: %v", all)
	}
	if err := g.session.Close(); err != nil {
		g.Error(err)
	}
}
