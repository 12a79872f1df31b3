package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/view"
)

// streamed returns the events of an answer, in pieces of three bytes.
func streamed(model string, parts ...llm.Part) []event.Data {
	list := []event.Data{event.ModelCallStart{Provider: "anthropic", Model: model}}
	pieces := func(text string, data func(piece string) event.Data) {
		for len(text) > 0 {
			n := min(3, len(text))
			list = append(list, data(text[:n]))
			text = text[n:]
		}
	}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Thinking:
			list = append(list, event.ReasoningStart{})
			pieces(p.Text, func(s string) event.Data { return event.ReasoningDelta{Text: s} })
			list = append(list, event.ReasoningEnd{Text: p.Text})
		case llm.Text:
			pieces(p.Text, func(s string) event.Data { return event.TextDelta{Text: s} })
		case llm.ToolCall:
			pieces(string(p.Arguments), func(s string) event.Data { return event.ArgumentsDelta{ID: p.ID, Name: p.Name, Text: s} })
		}
	}
	return append(list, event.TextEnd{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}}, event.ModelCallEnd{})
}

func TestTextView_SaysWhatTheModelThinksBetweenToolCalls(t *testing.T) {
	thinking := func(text string) llm.Part { return llm.Thinking{Text: text} }
	text := func(text string) llm.Part { return llm.Text{Text: text} }
	call := llm.ToolCall{ID: "c", Name: "glob", Arguments: `{"pattern":"*"}`}
	const claude = "claude-opus-5-5"
	for _, c := range []struct {
		name, model string
		parts       []llm.Part
		want, live  string // live is "" if it is the same
	}{
		{"thinking and a call", claude, []llm.Part{thinking("I list the files."), call}, "I list the files.\n", ""},
		{"a newer model of the family", "claude-opus-7-1", []llm.Part{thinking("I list the files."), call}, "I list the files.\n", ""},
		{"several blocks", claude, []llm.Part{thinking("One."), thinking(""), thinking("Two."), call}, "One.\n\nTwo.\n", ""},
		{"thinking between calls", claude, []llm.Part{thinking("One."), call, thinking("Two."), call}, "One.\n\nTwo.\n", ""},
		{"thinking, text and a call", claude, []llm.Part{thinking("Hm."), text("I list the files."), call}, "I list the files.\n", ""},
		{"thinking after text", claude, []llm.Part{text("I list the files."), thinking("Hm."), call}, "I list the files.\n", ""},
		{"text after a call", claude, []llm.Part{thinking("Hm."), call, text("Listed.")}, "Listed.\n", "Hm.\nListed.\n"},
		{"thinking without a call", claude, []llm.Part{thinking("Hm.")}, "", ""},
		{"the last answer", claude, []llm.Part{thinking("Hm."), text("Done.")}, "Done.\n", ""},
		{"a call alone", claude, []llm.Part{call}, "", ""},
		{"a model that shows its thinking itself", "claude-haiku-4-5", []llm.Part{thinking("Hm."), call}, "", ""},
		{"an unknown model", "mystery", []llm.Part{thinking("Hm."), call}, "", ""},
	} {
		for _, live := range []bool{false, true} {
			want := c.want
			if live && c.live != "" {
				want = c.live
			}
			var out, side strings.Builder
			v := &textView{out: &out, side: &side, live: live}
			for _, d := range streamed(c.model, c.parts...) {
				if err := v.show(event.Record{Data: d}); err != nil {
					t.Fatal(err)
				}
			}
			if out.String() != want || side.Len() > 0 {
				t.Errorf("%s, live %v: it says %q and shows %q, want %q", c.name, live, out.String(), side.String(), want)
			}
		}
		var past strings.Builder
		v := newTranscript(&past, itemText{})
		for i, d := range streamed(c.model, c.parts...) {
			if err := v.show(event.Record{Seq: event.Seq(i), Data: d}); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.end(); err != nil {
			t.Fatal(err)
		}
		shown := strings.ReplaceAll(past.String(), "… glob * queued\n", "")
		shown, _, _ = strings.Cut(shown, "· the session ends during")
		_, said, _ := strings.Cut(strings.TrimPrefix(shown, "\n"), "\n")
		if said != c.want {
			t.Errorf("%s: the transcript is %q, want %q", c.name, past.String(), c.want)
		}
	}
}

func TestTextView_ThinkingWaitsForTheFirstToolCall(t *testing.T) {
	var out, side strings.Builder
	v := &textView{out: &out, side: &side, live: true}
	show := func(data ...event.Data) string {
		for _, d := range data {
			if err := v.show(event.Record{Data: d}); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	if got := show(event.ModelCallStart{Provider: "anthropic", Model: "claude-opus-5-5"}, event.ReasoningStart{}, event.ReasoningDelta{Text: "I look"}); got != "" {
		t.Errorf("before it is known what follows, it says %q", got)
	}
	if got := show(event.ArgumentsDelta{Text: "{"}); got != "I look" {
		t.Errorf("at the call, it says %q", got)
	}
	retry := event.ModelRetry{Attempt: 2, Max: 3, Delay: 2 * time.Second, Discard: true, Fallback: "gpt-6-sol", Error: event.Error{Message: "cut"}}
	if got := show(retry, event.ReasoningDelta{Text: "I see"}); got != "I look [interrupted]\n" {
		t.Errorf("after the retry, it says %q", got)
	}
	if want := "· retrying in 2s (attempt 2 of 3, then gpt-6-sol): cut\n"; side.String() != want {
		t.Errorf("it shows %q, want %q", side.String(), want)
	}
	if got := show(event.ArgumentsDelta{Text: "{"}); got != "I look [interrupted]\nI see" {
		t.Errorf("at the second call, it says %q", got)
	}
}

// A log forgets transient records that a slow reader has not seen.
func TestTextView_ShowsTheWholeTextIfAPartOfTheStreamWasMissed(t *testing.T) {
	var out, side strings.Builder
	v := &textView{out: &out, side: &side, live: true}
	for _, r := range []event.Record{
		{Seq: 1, Data: event.ModelCallStart{Model: "m"}},
		{Data: event.TextDelta{Text: "One, "}},
		{Data: event.TextDelta{Text: "three."}},
		{Seq: 2, Data: event.TextEnd{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "One, two, three."}}}}},
	} {
		_ = v.show(r)
	}
	if want := "One, three.\nOne, two, three.\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
}

// The text of a model call whose end was lost disappears, even if the screen is empty then.
func TestTextView_AnItemMayDisappear(t *testing.T) {
	var out, side strings.Builder
	v := &textView{out: &out, side: &side}
	for _, d := range []event.Data{event.ModelCallStart{Model: "m"}, event.TextDelta{Text: "One"}, event.ModelCallStart{Model: "m"}} {
		if err := v.show(event.Record{Data: d}); err != nil {
			t.Error(err)
		}
	}
}

func TestTextView_ThinkingOfSubagentsIsNotShown(t *testing.T) {
	var out, side strings.Builder
	v := &textView{out: &out, side: &side, live: true}
	for _, d := range streamed("claude-opus-5-5", llm.Thinking{Text: "Hm."}, llm.ToolCall{ID: "c", Name: "glob", Arguments: `{}`}) {
		_ = v.show(event.Record{Agent: "1", Data: d})
	}
	if out.Len()+side.Len() > 0 {
		t.Errorf("it says %q and shows %q", out.String(), side.String())
	}
}

func TestRun_SaysWhatTheModelThinksBetweenToolCalls(t *testing.T) {
	turns := func() *llmtest.Script {
		return llmtest.Play(
			llmtest.Turn{Parts: []llm.Part{llm.Thinking{Text: "I list the files."}, llm.ToolCall{ID: "c1", Name: "glob", Arguments: `{"pattern":"*"}`}}},
			llmtest.Turn{Parts: []llm.Part{llm.Thinking{Text: "That is all."}, llm.Text{Text: "There are none."}}})
	}
	play := func(output string) (*requestRig, string) {
		g := newRequestRig(t)
		g.server = llmtest.NewServer(turns())
		t.Cleanup(g.server.Close)
		g.env["ANTHROPIC_BASE_URL"] = g.server.BaseURL("anthropic")
		g.configure("")
		code, out, side := g.run("run", "--session-id", "WORDS", "--cwd", g.dir, "--output", output, "list the files")
		if code != 0 {
			t.Fatalf("exit code %d: %s%s", code, out, side)
		}
		return g, out
	}
	g, out := play("text")
	if want := "I list the files.\nThere are none.\n"; out != want {
		t.Errorf("it says %q, want %q", out, want)
	}
	_, past, _ := g.run("sessions", "show", "WORDS")
	if !strings.Contains(past, "\nI list the files.\n✓ glob") || strings.Contains(past, "That is all.") || !strings.Contains(past, "\nThere are none.\n") {
		t.Errorf("the session is shown as %s", past)
	}
	_, out = play("stream-json")
	lines := slices.Collect(strings.Lines(out))
	var res struct{ Text string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &res); err != nil || res.Text != "There are none." || !strings.Contains(out, `"text":"","reasoning":"I list the files."`) {
		t.Errorf("the result is %+v (%v) after %s", res, err, out)
	}
	_, out = play("json")
	if err := json.Unmarshal([]byte(out), &res); err != nil || res.Text != "There are none." {
		t.Errorf("the result is %s (%v)", out, err)
	}
}

func TestTextView_SaysOnceThatThinkingWasLeftOut(t *testing.T) {
	drop := event.ModelCallEnd{Dropped: []llm.Dropped{{Path: "messages.1", Reason: "prefix_binding_mismatch"}, {Path: "messages.3", Reason: "prefix_binding_mismatch"}}}
	allowed := event.ModelCallEnd{Dropped: []llm.Dropped{{Path: "messages.1", Reason: "expired", Allowed: true}}}
	const want = "· the server left out 2 thinking blocks: prefix_binding_mismatch\n"
	for _, replayed := range []bool{false, true} {
		var out, side strings.Builder
		v := &textView{out: &out, side: &side}
		if replayed { // the run before has shown it
			v.replay(event.Record{Seq: 1, Data: drop})
		}
		for _, d := range []event.Data{allowed, drop, drop} {
			_ = v.show(event.Record{Data: d})
		}
		if got := side.String(); replayed && got != "" || !replayed && got != want || out.Len() > 0 {
			t.Errorf("it shows %q, want %q unless it was replayed (%v)", got, want, replayed)
		}
	}
	var past strings.Builder
	v := newTranscript(&past, itemText{})
	for _, d := range []event.Data{allowed, drop, drop} {
		_ = v.show(event.Record{Data: d})
	}
	if err := v.end(); err != nil || past.String() != want {
		t.Errorf("the transcript is %q, want %q", past.String(), want)
	}
}

func TestTextView_RefusalNamesItsCategory(t *testing.T) {
	refused := event.ModelCallEnd{Finish: llm.FinishContentFilter, Detail: "cyber"}
	for agent, want := range map[string]string{"": "", "1": "[1] · the model refused to answer (cyber)\n"} {
		var side strings.Builder
		v := &textView{out: &side, side: &side}
		_ = v.show(event.Record{Agent: agent, Data: refused})
		if side.String() != want {
			t.Errorf("agent %q: it shows %q, want %q", agent, side.String(), want)
		}
	}
	r := runner{}
	r.note(event.Record{Data: refused})
	r.note(event.Record{Agent: "1", Data: event.ModelCallEnd{}})
	if got, want := (result{Outcome: "refused", refusal: r.refusal}).stopReason(), "the model refused to answer (cyber)"; got != want {
		t.Errorf("the run ends with %q, want %q", got, want)
	}
	r.note(event.Record{Data: event.ModelCallEnd{Finish: llm.FinishContentFilter}})
	if got, want := (result{Outcome: "refused", refusal: r.refusal}).stopReason(), "the model or the provider's filter refused to continue"; got != want {
		t.Errorf("without a category, the run ends with %q, want %q", got, want)
	}
}

func TestStatus_SaysWhatTheAgentDoes(t *testing.T) {
	var s view.State
	for i, c := range []struct {
		agent string
		data  event.Data
		want  string
	}{
		{"", event.UserInput{Message: llm.UserText("go")}, "working"},
		{"", event.ModelCallStart{}, "waiting for the model"},
		{"", event.ReasoningDelta{Tokens: 900}, "thinking, about 900 tokens"},
		{"", event.ReasoningDelta{Tokens: 1200}, "thinking, about 1.2k tokens"},
		{"1", event.ReasoningDelta{Tokens: 5}, "thinking, about 1.2k tokens"},
		{"", event.ArgumentsDelta{ID: "c", Name: "write_file", Text: "{"}, "writing write_file, 1 byte"},
		{"", event.ArgumentsDelta{ID: "c", Name: "write_file", Text: strings.Repeat("x", 2000)}, "writing write_file, 2.0 kB"},
		{"", event.TextDelta{Text: "x"}, "answering"},
		{"", event.TextEnd{}, "working"},
		{"", event.ToolCallStart{ID: "c", Name: "shell", Arguments: []byte(`{"command":"make"}`)}, "shell make"},
		{"", event.ToolCallStart{ID: "d", Name: "glob"}, "glob and 1 more"},
		{"", event.ApprovalRequested{ID: "d"}, "shell make"},
		{"", event.ToolCallEnd{ID: "c"}, "waiting for 1 approval"},
		{"", event.SubagentStart{ID: "1"}, "waiting for 1 approval · 1 agent working"},
	} {
		s.Apply(event.Record{Seq: event.Seq(i + 1), Agent: c.agent, Data: c.data})
		root, _ := s.Agent("")
		if got := doing(root.Activity, agentsAtWork(&s), time.Now()); got != c.want {
			t.Errorf("after %T %+v it is %q, want %q", c.data, c.data, got, c.want)
		}
	}
}
