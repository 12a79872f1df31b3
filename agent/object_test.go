package agent

import (
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

type verdict struct {
	Pass  bool     `json:"pass" jsonschema:"whether the tests pass"`
	Notes []string `json:"notes"`
}

func TestObject_WorkIsDoneFirstThenTheObjectIsAskedForWithToolsOff(t *testing.T) {
	script := llmtest.Play(echoCall("x"), llmtest.Say("All is well."), llmtest.Say("```json\n{\"pass\":true,\"notes\":[\"fast\"]}\n```"), llmtest.Say("You are welcome."))
	s := open(t, script, nil)
	v, out, err := SubmitObject[verdict](t.Context(), s, text("test it"))
	if err != nil || !v.Pass || len(v.Notes) != 1 || out.Text != "All is well." || out.Status != StatusDone || out.Turns != 3 {
		t.Fatalf(`got %+v, %+v, %v, want no error, Pass, 1 Notes, out.Text "All is well.", StatusDone, out.Turns 3`, v, out, err)
	}
	for i, r := range script.Requests() {
		if last := i == 2; (r.Output != nil) != last || (r.ToolChoice.Mode == llm.ToolNone) != last {
			t.Errorf("request %d: %v, tool choice %q", i, r.Output, r.ToolChoice.Mode)
		}
	}
	if out := submit(t, s, "thanks"); out.Text != "You are welcome." {
		t.Errorf(`got %+v, want Text "You are welcome."`, out)
	}
}

func TestObject_AnyTypeAndAnswersByToolCall(t *testing.T) {
	script := llmtest.Play(llmtest.Say("Four."), llmtest.Call("answer", `{"value":4}`), llmtest.Say("Ok."))
	s := open(t, script, nil)
	v, _, err := SubmitObject[int](t.Context(), s, text("2+2"))
	if err != nil || v != 4 {
		t.Fatalf("%d, %v", v, err)
	}
	submit(t, s, "go on")
}

func TestObject_WrongAnswersAreRepairedOrATypedError(t *testing.T) {
	wrong := llmtest.Call("answer", `{"pass":"maybe"}`)
	script := llmtest.Play(llmtest.Say("Done."), wrong, llmtest.Say("no"), llmtest.Say(`{"pass":false,"notes":[]}`),
		llmtest.Say("Done."), wrong, wrong, llmtest.Say("no"), llmtest.Say("Ok."))
	s := open(t, script, nil)
	if v, _, err := SubmitObject[verdict](t.Context(), s, text("test")); err != nil || v.Pass {
		t.Fatalf("got %+v, %v, want no error, no Pass", v, err)
	}
	v, out, err := SubmitObject[verdict](t.Context(), s, text("test"))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrNoObject || string(e.Body) != "no" || v.Notes != nil || out.Status != StatusFailed {
		t.Fatalf(`got %+v, %+v, %v, want error ErrNoObject with body "no", Notes nil, StatusFailed`, v, out, err)
	}
	if out := submit(t, s, "go on"); out.Text != "Ok." {
		t.Errorf(`got %+v, want Text "Ok."`, out)
	}
}

func TestObject_WorkThatIsNotDoneHasNone(t *testing.T) {
	s := open(t, llmtest.Play(echoCall("x")), func(c *Config) { c.Limits.ToolRounds = 1 })
	_, out, err := SubmitObject[verdict](t.Context(), s, text("test"))
	if llm.KindOf(err) != llm.ErrNoObject || !strings.Contains(err.Error(), "limit") || out.Status != StatusLimit {
		t.Errorf(`got %+v, %v, want error ErrNoObject, error with "limit", StatusLimit`, out, err)
	}
	s = open(t, llmtest.Play(llmtest.Say("Done.")), func(c *Config) { c.Limits.Turns = 1 })
	_, out, err = SubmitObject[verdict](t.Context(), s, text("test"))
	if llm.KindOf(err) != llm.ErrNoObject || out.Limit != "max_turns" || len(records[event.TurnLimit](s)) != 1 {
		t.Errorf(`got %+v, %v, want error ErrNoObject, Limit "max_turns", one TurnLimit record`, out, err)
	}
	if _, _, err := SubmitObject[func()](t.Context(), s, text("x")); llm.KindOf(err) != llm.ErrConfiguration {
		t.Error(err)
	}
}

func TestObject_FollowUpsComeFirst(t *testing.T) {
	script := llmtest.Play(llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say(`{"value":2}`))
	s := open(t, script, nil)
	_ = s.FollowUp(text("and two"))
	if v, out, err := SubmitObject[int](t.Context(), s, text("one")); err != nil || v != 2 || out.Text != "Two." {
		t.Errorf("%d, %+v, %v", v, out, err)
	}
}

// Some models return a list without the surrounding object that providers require.
func TestObject_ListNeedsNoRepair(t *testing.T) {
	for name, answer := range map[string]string{"in the object": `{"value":["a","b"]}`, "bare": `["a","b"]`, "fenced": "```json\n[\"a\",\"b\"]\n```"} {
		script := llmtest.Play(llmtest.Say("Found them."), llmtest.Say(answer))
		s := open(t, script, nil)
		v, out, err := SubmitObject[[]string](t.Context(), s, text("list them"))
		if err != nil || len(v) != 2 || v[1] != "b" || out.Turns != 2 {
			t.Errorf("%s: got %q, %+v, %v", name, v, out, err)
		}
	}
}
