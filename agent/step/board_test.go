package step_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// team is a session with the agents main, ann (1), bob (2) and an unnamed agent below ann (1/1).
func team() *course {
	return begin(event.ModelSetup{}, event.Rules{Reports: true}, event.SubagentStart{ID: "1", Name: "ann", Task: "a"},
		event.SubagentStart{ID: "2", Name: "bob", Task: "b"}, event.SubagentStart{ID: "1/1", Task: "c"})
}

// by adds an agent's record.
func (c *course) by(agent string, d event.Data) event.Seq {
	c.seq++
	c.Apply(event.Record{Seq: c.seq, Agent: agent, Data: d})
	return c.seq
}

func (c *course) task(t *testing.T, blockers ...string) string {
	t.Helper()
	d, err := c.NewTask(event.Task{Subject: "do it", BlockedBy: blockers})
	if err != nil {
		t.Fatal(err)
	}
	c.by("", d)
	return d.ID
}

// change makes a change and returns the error, or "".
func (c *course) change(agent, id string, ch step.TaskChange) string {
	d, err := c.ChangeTask(agent, id, ch)
	if err != nil {
		return err.Error()
	}
	c.by(agent, d)
	return ""
}

// status shows a task's status and owner.
func (c *course) status(id string) string {
	d, _ := c.Task(id)
	return strings.TrimSpace(string(d.Status) + " " + d.Owner)
}

func set(s event.TaskStatus) step.TaskChange { return step.TaskChange{Status: s} }

func owner(name string) step.TaskChange { return step.TaskChange{Owner: &name} }

func TestTask_StatusesChangeByTheRulesOnly(t *testing.T) {
	all := []event.TaskStatus{event.TaskPending, event.TaskInProgress, event.TaskCompleted, event.TaskFailed, event.TaskCancelled}
	allowed := map[string]bool{
		"pending in_progress": true, "pending cancelled": true, "in_progress pending": true, "in_progress completed": true,
		"in_progress failed": true, "in_progress cancelled": true,
	}
	for _, from := range all {
		for _, to := range append(all, "done") {
			c := team()
			id := c.task(t)
			if from != event.TaskPending {
				c.change("1", id, set(event.TaskInProgress))
				c.change("1", id, set(from))
			}
			problem := c.change("1", id, set(to))
			want := allowed[fmt.Sprintf("%s %s", from, to)] || from == to && !from.Final()
			if got, _ := c.Task(id); want != (problem == "") || want && got.Status != to || !want && got.Status != from {
				t.Errorf("%s to %s: got status %s and error %q", from, to, got.Status, problem)
			}
		}
	}
}

func TestTask_OwnersAreRespected(t *testing.T) {
	for _, tt := range []struct {
		name   string
		agent  string
		change step.TaskChange
		want   string // status and owner, or the error
	}{
		{"the owner completes it", "1", set(event.TaskCompleted), "completed ann"},
		{"another one starts it", "2", set(event.TaskInProgress), "task_1 belongs to ann"},
		{"another one completes it", "2", set(event.TaskCompleted), "task_1 belongs to ann"},
		{"another one takes it", "2", owner("bob"), "task_1 belongs to ann"},
		{"another one writes its output", "2", step.TaskChange{Output: "x"}, "task_1 belongs to ann"},
		{"one below the owner completes it", "1/1", set(event.TaskCompleted), "task_1 belongs to ann"},
		{"the root cancels it", "", set(event.TaskCancelled), "cancelled ann"},
		{"the root releases it", "", set(event.TaskPending), "pending"},
		{"the root gives it away", "", owner("bob"), "task_1 is in_progress: set it to pending before you assign it"},
	} {
		c := team()
		id := c.task(t)
		c.change("1", id, set(event.TaskInProgress))
		got := c.change(tt.agent, id, tt.change)
		if got == "" {
			got = c.status(id)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTask_AnAgentIsNotAboveThoseWhoseNumbersBeginWithItsOwn(t *testing.T) {
	c := team()
	c.add(event.SubagentStart{ID: "10", Name: "ten", Task: "d"})
	id := c.task(t)
	c.change("", id, owner("ten"))
	if got, want := c.change("1", id, set(event.TaskCancelled)), id+" belongs to ten"; got != want {
		t.Errorf("agent 1 changes a task of agent 10: got %q, want %q", got, want)
	}
	if _, err := c.NewTeam("1", "crew", []string{"ten"}); err == nil {
		t.Error("agent 1 recruits agent 10")
	}
}

func TestTask_AssignedTaskIsForItsOwner(t *testing.T) {
	c := team()
	id := c.task(t)
	if p := c.change("", id, owner("carl")); p != `unknown agent "carl"` {
		t.Errorf("got %q for an unknown agent", p)
	}
	if p := c.change("", id, owner("2")); p != "" || c.status(id) != "pending bob" {
		t.Fatalf("got %q and %q", p, c.status(id))
	}
	if d, ok := c.Claim("1"); ok {
		t.Errorf("ann could claim %s, which is assigned to bob", d.ID)
	}
	if d, ok := c.Claim("2"); !ok || d.Owner != "bob" || d.Status != event.TaskInProgress {
		t.Errorf("bob claims %+v, %v", d, ok)
	}
}

func TestTask_BlockedOneCannotStart(t *testing.T) {
	c := team()
	a := c.task(t)
	b := c.task(t, a)
	want := "task_2 is blocked by task_1 (pending)"
	if p := c.change("1", b, set(event.TaskInProgress)); p != want {
		t.Errorf("got %q, want %q", p, want)
	}
	d, ok := c.Claim("1")
	if !ok || d.ID != a {
		t.Fatalf("claimed %+v", d)
	}
	c.by("1", d)
	if d, ok := c.Claim("2"); ok {
		t.Errorf("claimed %s, which is blocked", d.ID)
	}
	c.change("1", a, set(event.TaskFailed))
	if p := c.change("1", b, set(event.TaskInProgress)); p != "task_2 is blocked by task_1 (failed)" {
		t.Errorf("got %q for a failed blocker", p)
	}
	if p := c.change("", b, step.TaskChange{BlockedBy: []string{}}); p != "" {
		t.Error(p)
	}
	if p := c.change("1", b, set(event.TaskInProgress)); p != "" {
		t.Errorf("without blockers: %s", p)
	}
}

func TestTask_InvalidOnesAreRefused(t *testing.T) {
	c := team()
	a := c.task(t)
	b := c.task(t, a)
	d := c.task(t, b)
	for name, p := range map[string]string{
		"cycle":           c.change("", a, step.TaskChange{BlockedBy: []string{d}}),
		"itself":          c.change("", a, step.TaskChange{BlockedBy: []string{a}}),
		"unknown blocker": c.change("", a, step.TaskChange{BlockedBy: []string{"task_9"}}),
		"unknown task":    c.change("", "task_9", set(event.TaskInProgress)),
		"long subject":    c.change("", a, step.TaskChange{Subject: strings.Repeat("x", 501)}),
		"long output":     c.change("", a, step.TaskChange{Output: strings.Repeat("x", 100_001)}),
	} {
		if p == "" {
			t.Errorf("%s: no error", name)
		}
	}
	for _, d := range []event.Task{{}, {Subject: "s", BlockedBy: []string{"task_9"}}, {Subject: "s", BlockedBy: []string{"task_4"}}} {
		if _, err := c.NewTask(d); err == nil {
			t.Errorf("%+v was accepted", d)
		}
	}
}

func TestTask_UndoRestoresAndRedoRepeats(t *testing.T) {
	c := team()
	first := c.task(t)
	c.answer(llm.FinishStop, llm.Text{Text: "Done."})
	c.next()
	c.add(event.UserInput{Message: llm.UserText("more")})
	input := c.seq
	second := c.task(t)
	c.change("1", first, set(event.TaskInProgress))
	with := c.Tasks()
	c.add(event.Rewind{Input: input, Chat: true})
	if got := c.Tasks(); len(got) != 1 || got[0].Status != event.TaskPending {
		t.Errorf("after the undo there are %+v", got)
	}
	c.add(event.Rewind{Input: input, Chat: true, Redo: true})
	if diff := cmp.Diff(c.Tasks(), with); diff != "" {
		t.Errorf("after the redo: %s", diff)
	}
	c.add(event.Rewind{Input: input, Chat: true})
	if id := c.task(t); id == second || id != "task_3" {
		t.Errorf("the new task is %s, want task_3", id)
	}
	if len(with) != 2 || with[1].ID != second {
		t.Errorf("a list that was returned changed: %+v", with)
	}
}

func TestUndo_MakesTheModeStricterButNotMilder(t *testing.T) {
	for _, c := range []struct{ before, after, want policy.Mode }{
		{policy.ModePlan, policy.ModeDefault, policy.ModePlan},
		{policy.ModeAcceptEdits, policy.ModePlan, policy.ModePlan},
		{policy.ModeBypass, policy.ModeDefault, policy.ModeDefault},
	} {
		at := begin(event.ModelSetup{}, event.Rules{})
		mode := func(m policy.Mode) {
			id := fmt.Sprint("call ", at.seq)
			at.answer(llm.FinishToolCalls, llm.ToolCall{ID: id, Name: "switch", Arguments: "{}"})
			at.add(event.ToolCallStart{ID: id, Name: "switch"}, event.ToolCallEnd{ID: id, Name: "switch", Mode: m})
			at.answer(llm.FinishStop, llm.Text{Text: "Done."})
			at.next()
		}
		mode(c.before)
		at.add(event.UserInput{Message: llm.UserText("more")})
		input := at.seq
		mode(c.after)
		at.add(event.Rewind{Input: input, Chat: true})
		if got := at.Mode(); got != c.want {
			t.Errorf("from %s to %s and back: mode %s, want %s", c.before, c.after, got, c.want)
		}
	}
}

func TestBoard_ImportedSessionKeepsNoAuthority(t *testing.T) {
	c := team()
	a, b := c.task(t), c.task(t)
	c.change("1", a, set(event.TaskInProgress))
	c.change("1", b, set(event.TaskInProgress))
	c.change("1", b, set(event.TaskCompleted))
	d, err := c.NewTeam("", "crew", []string{"ann"})
	if err != nil {
		t.Fatal(err)
	}
	c.by("", d)
	c.by("1", event.Mail{Team: "crew", From: "ann", To: []string{"main"}, Type: event.MailText, Content: "obey"})
	c.add(event.SessionResume{Imported: true})
	if got := c.status(a) + ", " + c.status(b); got != "pending, completed ann" {
		t.Errorf("the tasks are %s", got)
	}
	if got := c.Teams(); got[0].Status != event.TeamDisbanded {
		t.Errorf("the team is %+v", got)
	}
	if n := c.Agent("").Waiting(); n != 0 {
		t.Errorf("%d messages wait", n)
	}
	if _, ok := c.Find("ann"); ok {
		t.Error("the name of a dropped agent is still taken")
	}
}

func TestTask_ClaimedOnceInAnyOrder(t *testing.T) {
	c := team()
	for range 300 {
		c.task(t)
	}
	owners := map[string]string{}
	for range 2000 {
		agent := []string{"", "1", "2", "1/1"}[rand.IntN(4)]
		if rand.IntN(2) == 0 {
			id := fmt.Sprintf("task_%d", 1+rand.IntN(300))
			before, _ := c.Task(id)
			if agent != "" && c.change(agent, id, set(event.TaskInProgress)) == "" && before.Status == event.TaskPending {
				if owners[id] != "" {
					t.Fatalf("%s was claimed twice", id)
				}
				owners[id] = c.Name(agent)
			}
			continue
		}
		if d, ok := c.Claim(agent); ok {
			c.by(agent, d)
			if owners[d.ID] != "" {
				t.Fatalf("%s was claimed twice", d.ID)
			}
			owners[d.ID] = c.Name(agent)
		}
	}
	for _, d := range c.Tasks() {
		if owners[d.ID] != d.Owner {
			t.Errorf("%s belongs to %q, want %q", d.ID, d.Owner, owners[d.ID])
		}
	}
}

func TestName_IsUniqueAndValid(t *testing.T) {
	c := team()
	for name, ok := range map[string]bool{
		"": true, "carl": true, "c-1_x.y": true, "ann": false, "main": false, "1": false, "1/1": false, "a b": false, "task_7": false,
		"*": false, "-a": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if err := c.CheckName(name); ok != (err == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{"main": "", "ann": "1", "1": "1", "1/1": "1/1"} {
		if got, ok := c.Find(name); got != want || !ok {
			t.Errorf("%s is at %q, %v, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "carl", "3"} {
		if got, ok := c.Find(name); ok {
			t.Errorf("%q is at %q", name, got)
		}
	}
}

func TestTree_BoardIsTheSameFromItsRecords(t *testing.T) {
	c := team()
	var records []event.Record
	add := func(agent string, d event.Data, err error) {
		if err == nil {
			records = append(records, event.Record{Agent: agent, Data: d, Seq: c.by(agent, d)})
		}
	}
	for range 400 {
		agent, id := []string{"", "1", "2"}[rand.IntN(3)], fmt.Sprintf("task_%d", 1+rand.IntN(20))
		switch rand.IntN(4) {
		case 0:
			d, err := c.NewTask(event.Task{Subject: "s", BlockedBy: []string{id, id}[:rand.IntN(3)]})
			add(agent, d, err)
		case 1:
			d, ok := c.Claim(agent)
			if ok {
				add(agent, d, nil)
			}
		default:
			status := []event.TaskStatus{event.TaskInProgress, event.TaskCompleted, event.TaskPending, event.TaskFailed}[rand.IntN(4)]
			d, err := c.ChangeTask(agent, id, set(status))
			add(agent, d, err)
		}
	}
	again := team()
	for _, r := range records {
		b, err := event.AppendRecord(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = event.DecodeRecord(b); err != nil {
			t.Fatal(err)
		}
		again.Apply(r)
	}
	if diff := cmp.Diff(again.Tasks(), c.Tasks()); diff != "" {
		t.Error(diff)
	}
	if len(c.Tasks()) == 0 {
		t.Error("there are no tasks")
	}
}
