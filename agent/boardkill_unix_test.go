//go:build unix

package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

const (
	crewTasks, crewSize = 40, 4
	crewDone            = "All tasks are completed."
)

// lastRound returns the results of the last tool calls by tool name, nil if one was interrupted.
func lastRound(messages []llm.Message) map[string][]string {
	results := map[string][]string{}
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleAssistant {
			break
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				if strings.HasPrefix(r.Text(), "interrupted: ") {
					return nil
				}
				results[r.Name] = append(results[r.Name], r.Text())
			}
		}
	}
	return results
}

// crewModel plays a leader that creates tasks and keeps its team working on them, and the team members. Each next step
// follows from the last results; if they were interrupted, the model looks again.
func crewModel(_ int, r *llm.Request) llmtest.Turn {
	last := lastRound(r.Messages)
	if name, ok := strings.CutPrefix(r.Messages[1].Text(), "work as "); ok {
		return crewMember(name, last)
	}
	if len(last["task_list"]) == 0 || len(last["list_agents"]) == 0 {
		return turn(use("task_list"), use("list_agents"))
	}
	tasks, agents := last["task_list"][0], last["list_agents"][0]
	var calls []llm.ToolCall
	for i := range crewTasks {
		if !strings.Contains(tasks, fmt.Sprintf("number %d.", i)) {
			calls = append(calls, use("task_create", "subject", fmt.Sprintf("number %d.", i)))
		}
	}
	if len(calls) > 0 {
		return turn(calls...)
	}
	if strings.Count(tasks, "[completed") == crewTasks {
		return llmtest.Say(crewDone)
	}
	calls = append(calls, use("team_create", "name", "crew", "members", []string{"w0", "w1", "w2", "w3"}))
	for i := range crewSize {
		switch name := fmt.Sprint("w", i); {
		case !strings.Contains(agents, name+":"):
			calls = append(calls, use("spawn_agent", "name", name, "task", "work as "+name))
		case !strings.Contains(agents, name+": running"):
			calls = append(calls, use("send_input", "agent_id", name, "message", "go on"))
		}
	}
	calls = append(calls, use("send_message", "to", "*", "message", "Keep going."))
	for i := range crewSize {
		calls = append(calls, use("wait", "agent_id", fmt.Sprint("w", i)))
	}
	return turn(calls...)
}

var listedTask = regexp.MustCompile(`(?m)^(task_\d+) `)

func crewMember(name string, last map[string][]string) llmtest.Turn {
	if updates := last["task_update"]; slices.ContainsFunc(updates, func(s string) bool { return strings.Contains(s, "No task available") }) &&
		!slices.ContainsFunc(updates, func(s string) bool { return strings.HasPrefix(s, "task_") }) {
		return llmtest.Say("Nothing is left.")
	}
	if len(last["task_list"]) == 0 {
		return turn(use("task_list", "owner", name, "status", "in_progress"))
	}
	var calls []llm.ToolCall
	for _, m := range listedTask.FindAllStringSubmatch(last["task_list"][0], -1) {
		calls = append(calls, use("task_update", "task_id", m[1], "status", "completed", "output", "by "+name), use("send_message", "to", "main", "message", m[1]+" is completed"))
	}
	if calls == nil {
		calls = append(calls, use("task_update", "claim", true), use("task_update", "claim", true))
	}
	return turn(calls...)
}

// crewConfig configures a crew's session.
func crewConfig(dir string) (Config, error) {
	store, err := filestore.New(filestore.Config{Dir: dir + "/sessions"})
	if err != nil {
		return Config{}, err
	}
	e, err := local.New(local.Config{Dir: dir})
	c := Config{
		ID: "crew", Client: &llmtest.Script{Reply: crewModel}, Model: "m", Env: e, System: "Be good.", Policy: policy.AllowAll{}, Store: store, LoopWindow: -1,
		Limits: Limits{ToolRounds: -1}, Subagents: Subagents{Teams: true, MaxTurns: 10_000},
	}
	return c, err
}

// TestBoard_Lives is the process for the test below: it works until the tasks are completed, and prints the number of
// each saved record.
func TestBoard_Lives(t *testing.T) {
	dir := os.Getenv("REINS_TEST_CREW")
	if dir == "" {
		t.Skip("runs in a process of its own")
	}
	c, err := crewConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	begin := New
	if _, err := c.Store.Meta(t.Context(), c.ID); err == nil {
		begin = func(c Config) (*Session, error) { return Resume(t.Context(), c) }
	}
	s, err := begin(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go func() {
		for r := range s.Events(context.Background(), s.Last()) {
			if r.Durable() {
				fmt.Printf("%d %s\n", r.Seq, r.Kind())
			}
		}
	}()
	for {
		_, err := s.Continue(t.Context())
		if errors.Is(err, ErrNothingToContinue) {
			if s.tree.fold.Agent("").Text() == crewDone {
				fmt.Println("finished")
				return
			}
			_, err = s.Submit(t.Context(), llm.Text{Text: "go on"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// crewLife runs the process once, and kills it after it saved a number of records. It reports whether the work was
// finished instead, and adds the records that were seen.
func crewLife(t *testing.T, dir string, after int, seen map[string]bool) (finished bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestBoard_Lives$", "-test.v")
	cmd.Env = append(os.Environ(), "REINS_TEST_CREW="+dir)
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
		case line != "" && line[0] >= '1' && line[0] <= '9':
			seen[line] = true
			if after--; after == 0 {
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

func TestBoard_SurvivesKillsAtAnyMoment(t *testing.T) {
	lives := 0
	for kills := thorough.Of(200, 3); kills > 0; lives++ {
		dir, seen := t.TempDir(), map[string]bool{}
		for !crewLife(t, dir, 1+rand.IntN(thorough.Of(120, 400)), seen) {
			kills--
			if kills == 0 { // the last life is not killed
				crewLife(t, dir, 0, seen)
				break
			}
		}
		checkCrew(t, dir, seen)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d sessions", lives)
}

// checkCrew checks the result of a life: every record that was seen is there, each task was done once, and each message
// delivered once.
func checkCrew(t *testing.T, dir string, seen map[string]bool) {
	t.Helper()
	c, err := crewConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	var records []event.Record
	for r, err := range event.Read(t.Context(), c.Store, c.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		delete(seen, fmt.Sprintf("%d %s", r.Seq, r.Kind()))
		records = append(records, r)
	}
	for line := range seen {
		t.Errorf("record %s was lost", line)
	}
	started := owners(t, records)
	completed, expected, delivered := map[string]int{}, map[string]int{}, map[string]int{}
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.Task:
			if d.Status == event.TaskCompleted {
				completed[d.ID]++
				if d.Owner != started[d.ID] || d.Output != "by "+d.Owner {
					t.Errorf("got %+v, want it completed by %s", d, started[d.ID])
				}
			}
		case event.Mail:
			for _, name := range d.To {
				expected[fmt.Sprint(r.Seq, " ", name)]++
			}
		case event.SteeringInjected:
			if d.Source == event.SourceMail {
				name := "main"
				if r.Agent != "" {
					name = names(records)[r.Agent]
				}
				delivered[fmt.Sprint(d.Queued, " ", name)]++
			}
		}
	}
	if len(completed) != crewTasks || len(started) != crewTasks {
		t.Errorf("%d tasks were started and %d completed, want %d", len(started), len(completed), crewTasks)
	}
	s, err := Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	left := 0
	for _, a := range s.Agents() {
		left += a.Mail
	}
	missing := 0
	for mail, n := range expected {
		if n != 1 || delivered[mail] > 1 {
			t.Errorf("message %s was sent %d times and delivered %d times", mail, n, delivered[mail])
		}
		missing += 1 - delivered[mail]
		delete(delivered, mail)
	}
	if missing > left || len(delivered) > 0 {
		t.Errorf("%d messages were not delivered, %d wait; not sent: %v", missing, left, delivered)
	}
}

// names returns the subagent names by path.
func names(records []event.Record) map[string]string {
	all := map[string]string{}
	for _, r := range records {
		if d, ok := r.Data.(event.SubagentStart); ok {
			all[d.ID] = d.Name
		}
	}
	return all
}
