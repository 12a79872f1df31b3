package panel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// planning is a rig whose agent presents a plan, and a panel that shows it.
func planning(t *testing.T, after ...llmtest.Turn) (*rig, *tasks) {
	r := newRig(t, command.Host{})
	must(t, r.Reconfigure(t.Context(), session.Settings{Mode: policy.ModePlan}))
	r.script.Turns = append([]llmtest.Turn{llmtest.Call("exit_plan_mode", `{"plan":"# 計画\n\n1. write a.txt\n2. test it"}`)}, after...)
	must(t, r.Submit(t.Context(), session.Input{Text: "Plan it", Plain: true}))
	p := r.follow(NewTasks(r.options())).(*tasks)
	has(t, r.shows(p, "Plan to decide about"), "計画", "2. test it")
	return r, p
}

// sent returns the last request as text.
func (r *rig) sent() string {
	list := r.script.Requests()
	b, _ := json.Marshal(list[len(list)-1].Messages)
	return string(b)
}

// closes waits until a panel closes.
func (r *rig) closes() {
	r.t.Helper()
	r.until("the panel closes", func() bool { return r.last.Close })
	_, err := r.Wait(r.t.Context())
	must(r.t, err)
}

func TestTasks_AnEditedPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	r, p := planning(t, write("a.txt", "made\n"), llmtest.Say("Done."))
	press(t, p, "alt+e", "alt+>", "enter", "'3. tell me")
	has(t, everywhere(t, p), "editing the plan", "# 計画", "3. tell me")
	press(t, p, "ctrl+s")
	has(t, everywhere(t, p), "What shall the agent do with your plan?", "Carry it out")
	press(t, p, "'y", "enter")
	r.until("the write is asked for", func() bool { return len(r.script.Requests()) == 2 })
	if s := r.sent(); !strings.Contains(s, "3. tell me") || !strings.Contains(s, "I edited the plan") {
		t.Errorf("the model read %s", s)
	}
	r.until("a question", func() bool { return len(r.state.Approvals()) > 0 })
	if i, _ := r.Info(t.Context()); i.Mode == policy.ModePlan {
		t.Error("plan mode was not left")
	}
	must(t, r.Interrupt(t.Context()))
	r.closes()
}

func TestTasks_AnEditedPlanIsPlannedWith(t *testing.T) {
	t.Parallel()
	r, p := planning(t, llmtest.Say("I see."))
	press(t, p, "alt+e", "alt+>", "enter", "'3. tell me", "ctrl+s", "'p", "enter")
	r.closes()
	if s := r.sent(); !strings.Contains(s, "the user said: I edited the plan") || !strings.Contains(s, "3. tell me") {
		t.Errorf("the model read %s", s)
	}
	if i, _ := r.Info(t.Context()); i.Mode != policy.ModePlan {
		t.Errorf("the mode is %s", i.Mode)
	}
}

func TestTasks_EditingIsNotLostByAccident(t *testing.T) {
	t.Parallel()
	r, p := planning(t)
	press(t, p, "alt+e", "esc")
	if p.edited != nil {
		t.Error("esc without a change does not leave the editor")
	}
	press(t, p, "alt+e", "'x", "esc")
	has(t, everywhere(t, p), "Discard your changes")
	press(t, p, "esc")
	if p.edited == nil {
		t.Error("the change is lost")
	}
	press(t, p, "esc", "'y", "enter")
	if p.edited != nil {
		t.Error("the change is kept")
	}
	must(t, r.Interrupt(t.Context()))
	_, _ = r.Wait(t.Context())
}

func TestTasks_WithoutAQuestionThePlanIsAMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, command.Host{})
	plan := `{"plan":[{"step":"look","status":"completed"},{"step":"行動 ` + "👩‍💻" + `","status":"in_progress"}]}`
	r.work("Go on", llmtest.Call("update_plan", plan), llmtest.Say("Looking."))
	p := r.follow(NewTasks(r.options())).(*tasks)
	has(t, everywhere(t, p), "Plan, 1 of 2 done", "☑  look", "▶  行動 👩‍💻")
	r.script.Turns = append(r.script.Turns, llmtest.Say("Right."))
	press(t, p, "alt+e", "alt+>", "enter", "'- [ ] more", "ctrl+s")
	r.closes()
	if s := r.sent(); !strings.Contains(s, `- [x] look\n- [ ] 行動 👩‍💻\n- [ ] more`) {
		t.Errorf("the model read %s", s)
	}
}

func TestTasks_HostileTasksFitEverywhere(t *testing.T) {
	t.Parallel()
	l := newLoop(t)
	s := states()
	for i, status := range []event.TaskStatus{event.TaskPending, event.TaskInProgress, event.TaskCancelled} {
		s.Apply(event.Record{Seq: s.Last() + 1, Time: now, Data: event.Task{
			ID:        fmt.Sprint("t", i),
			Subject:   hostile,
			Status:    status,
			Owner:     hostile,
			BlockedBy: []string{"t0"},
		}})
	}
	o := l.options(&fake{})
	o.State = func() *view.State { return s }
	p := NewTasks(o)
	has(t, everywhere(t, p), "3 tasks", "▶ in progress", "日本語", "(after t0)")
	press(t, p, "alt+e")
	everywhere(t, p)
}
