package step_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// lengthy begins a conversation with long results, for which the provider counts 10,000 tokens per round.
func lengthy(model event.ModelSetup, rules event.Rules, rounds int) *course {
	c := begin(model, rules)
	for i := range rounds {
		id := fmt.Sprint("call ", i)
		c.add(event.ModelCallStart{Call: i + 1, Model: "m"},
			event.TextEnd{Call: i + 1, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: id, Name: "t", Arguments: "{}"}}}},
			event.ModelCallEnd{Call: i + 1, Model: "m", Finish: llm.FinishToolCalls, Usage: llm.Usage{Input: int64(10_000 * (i + 1))}},
			event.ToolCallStart{ID: id, Name: "t"}, event.ToolCallEnd{ID: id, Name: "t", Model: strings.Repeat("a line\n", 5000)})
	}
	return c
}

func TestNext_CompactsBeforeTokensCostMore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		used  int64
		rules event.Rules
		want  string
	}{
		{"before 95 % of the step", 188_000, event.Rules{CompactAt: 0.8}, "CallModel; "},
		{"after 95 % of the step", 191_000, event.Rules{CompactAt: 0.8}, "COMPACTION, CallModel; "},
		{"the step does not matter", 191_000, event.Rules{CompactAt: 0.8, PastStep: true}, "CallModel; "},
		{"no compaction", 191_000, event.Rules{}, "CallModel; "},
	} {
		c := lengthy(event.ModelSetup{Window: 1_000_000, PriceStep: 200_000}, tt.rules, 15)
		if got := c.counted(tt.used, "", "ok"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestNext_WarnsOnceThatTokensCostMore(t *testing.T) {
	c := begin(event.ModelSetup{Window: 1_000_000, PriceStep: 200_000}, event.Rules{PastStep: true})
	got := c.counted(200_000, "", "ok") + c.counted(200_001, "", "ok") + c.counted(200_002, "", "ok")
	if want := "CallModel; warning price_step, CallModel; CallModel; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNext_ModelsThatAreUnknownOrRefuseHaveFallbacks(t *testing.T) {
	spare := event.Rules{Fallback: []event.ModelSetup{{Model: "spare"}}, TreeTurns: 2}
	for _, class := range []llm.ErrorKind{llm.ErrNotFound, llm.ErrContentFilter} {
		failed := event.ModelCallEnd{Call: 1, Model: "m", Error: &event.Error{Class: string(class)}}
		c := begin(event.ModelSetup{}, spare, event.ModelCallStart{Call: 1, Model: "m"}, failed)
		if got := c.next(); got != "MODEL_FALLBACK, CallModel" {
			t.Errorf("%s: %s, want a fallback", class, got)
		}
	}
	refuse := func(c *course, object bool) {
		c.add(event.ModelCallStart{Call: 1, Model: "m", Object: object},
			event.TextEnd{Call: 1, Message: llm.AssistantText("I can't.")},
			event.ModelCallEnd{Call: 1, Model: "m", Finish: llm.FinishContentFilter, Detail: "cyber"})
	}
	c := begin(event.ModelSetup{}, spare)
	refuse(c, false)
	a, _ := c.Agent("").Next().(step.Append)
	if d, ok := a.Data.(event.ModelFallback); !ok || d.To != "spare" || d.Error.Message != "the model refused to answer (cyber)" {
		t.Fatalf("after a refusal: %+v, want a fallback", a.Data)
	}
	if got := c.next(); got != "MODEL_FALLBACK, CallModel" {
		t.Errorf("after a refusal: %s", got)
	}
	if got := texts(c.Agent("").Messages()); !slices.Equal(got, []string{"user: go"}) {
		t.Errorf("after a refusal, the conversation is %q", got)
	}
	if got := c.Agent("").SinceInput().Turns; got != 1 {
		t.Errorf("after a refusal, %d turns count, want 1", got)
	}
	c.round("t")
	if got, want := c.next(), "limit tree_turns, PROCESSING_END, stop limit tree_turns"; got != want {
		t.Errorf("a refused answer is not one of the two turns: %s, want %s", got, want)
	}
	c = begin(event.ModelSetup{}, event.Rules{})
	refuse(c, false)
	if got := c.next(); strings.Contains(got, "CallModel") {
		t.Errorf("a refusal without a fallback: %s", got)
	}
	c = begin(event.ModelSetup{}, spare)
	refuse(c, true)
	if got := c.next(); strings.Contains(got, "MODEL_FALLBACK") {
		t.Errorf("a refusal to write an object: %s, want no other model", got)
	}
}

// texts returns role and text for each message.
func texts(messages []llm.Message) (list []string) {
	for _, m := range messages {
		list = append(list, strings.TrimSuffix(fmt.Sprintf("%s: %s", m.Role, m.Text()), ": "))
	}
	return list
}

func TestSystem_NewInstructionsAreAddedWhereTheModelTakesThem(t *testing.T) {
	const replaced = "system: Your instructions have changed. These replace all earlier instructions:\n\n"
	start := func(late bool) *course {
		c := &course{Tree: step.NewTree()}
		c.add(event.SessionStart{ID: "s", System: "one", Setup: event.Setup{ModelSetup: event.ModelSetup{Model: "m", LateSystem: late}}},
			event.UserInput{Message: llm.UserText("go")})
		return c
	}
	for _, tt := range []struct {
		name string
		late bool
		run  func(c *course)
		want []string
	}{
		{"more", true, func(c *course) { c.answer(llm.FinishStop, llm.Text{Text: "a"}); c.system("m", "one\n\ntwo") },
			[]string{"system: one", "user: go", "assistant: a", "system: two"}},
		{"others", true, func(c *course) { c.answer(llm.FinishStop, llm.Text{Text: "a"}); c.system("m", "two") },
			[]string{"system: one", "user: go", "assistant: a", replaced + "two"}},
		{"the same", true, func(c *course) { c.answer(llm.FinishStop, llm.Text{Text: "a"}); c.system("m", "one") },
			[]string{"system: one", "user: go", "assistant: a"}},
		{"before the first answer", true, func(c *course) { c.system("m", "two") }, []string{"system: two", "user: go"}},
		{"for another model", true, func(c *course) { c.answer(llm.FinishStop, llm.Text{Text: "a"}); c.system("n", "two") },
			[]string{"system: two", "user: go", "assistant: a"}},
		{"for a model that does not take them", false, func(c *course) { c.answer(llm.FinishStop, llm.Text{Text: "a"}); c.system("m", "two") },
			[]string{"system: two", "user: go", "assistant: a"}},
		{"before a result", true, func(c *course) {
			c.answer(llm.FinishToolCalls, llm.ToolCall{ID: "1", Name: "t", Arguments: "{}"})
			c.system("m", "two")
		}, []string{"system: two", "user: go", "assistant"}},
		{"twice, then another model", true, func(c *course) {
			c.answer(llm.FinishStop, llm.Text{Text: "a"})
			c.system("m", "one\n\ntwo")
			c.system("n", "three")
		}, []string{"system: three", "user: go", "assistant: a"}},
		{"and the input before them is undone", true, func(c *course) {
			c.answer(llm.FinishStop, llm.Text{Text: "a"})
			c.next()
			c.add(event.UserInput{Message: llm.UserText("more")})
			c.answer(llm.FinishStop, llm.Text{Text: "b"})
			c.next()
			c.system("m", "one\n\ntwo")
			undo, ok := c.Agent("").Undo(event.Parts{Chat: true})
			if !ok {
				t.Fatal("there is nothing to undo")
			}
			c.add(undo.Rewind)
		}, []string{"system: one", "user: go", "assistant: a", "system: two"}},
	} {
		c := start(tt.late)
		tt.run(c)
		if got := texts(c.Agent("").Messages()); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// system changes the system prompt, and perhaps the model.
func (c *course) system(model, text string) {
	set := c.Agent("").Setup()
	set.Model = model
	c.add(event.Settings{Setup: set, System: text})
}

func TestNext_PausedTurnsAreContinuedByTheirModel(t *testing.T) {
	hosted := llm.Opaque{Kind: "server_tool_use", State: llm.State{Dialect: "d", Data: []byte("{}")}}
	for _, tt := range []struct {
		name  string
		model event.ModelSetup
		part  llm.Part
		want  string
	}{
		{"a model that continues answers", event.ModelSetup{}, llm.Text{Text: "a"}, "CallModel"},
		{"a model that does not", event.ModelSetup{NoPrefill: true}, llm.Text{Text: "a"}, "STEERING_INJECTED, CallModel"},
		{"a tool that the provider runs", event.ModelSetup{NoPrefill: true}, hosted, "CallModel"},
	} {
		c := begin(tt.model, event.Rules{})
		c.answer(llm.FinishPause, tt.part)
		if got := c.next(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestCompact_TheProviderSignsTheSummary(t *testing.T) {
	signs := event.ModelSetup{Window: 200_000, Compacts: true}
	signature := llm.State{Dialect: "d", Model: "m", Data: []byte(`{"type":"compaction"}`)}
	asked := func(c *course) bool {
		call, ok := c.Agent("").Compact().(step.CallModel)
		return ok && call.Purpose == event.PurposeCompaction && call.Compact != ""
	}
	answer := func(c *course, end event.ModelCallEnd) event.CompactionMethod {
		end.Call, end.Model = c.Agent("").Called()+1, "m"
		call, _ := c.Agent("").Compact().(step.CallModel)
		c.add(event.ModelCallStart{Call: end.Call, Model: "m", Messages: len(call.Messages), Purpose: event.PurposeCompaction}, end)
		a, _ := c.Agent("").Compact().(step.Append)
		d, _ := a.Data.(event.Compaction)
		return d.Method
	}
	for _, tt := range []struct {
		name  string
		end   event.ModelCallEnd
		want  event.CompactionMethod
		again bool // the provider is asked again
	}{
		{"a summary", event.ModelCallEnd{Finish: llm.FinishCompaction, Summary: "It went well.", Signed: signature}, event.CompactionServer, false},
		{"another answer", event.ModelCallEnd{Finish: llm.FinishStop, Summary: "It went well.", Signed: signature}, "", false},
		{"an empty summary", event.ModelCallEnd{Finish: llm.FinishCompaction}, "", false},
		{"an error", event.ModelCallEnd{Error: &event.Error{Class: string(llm.ErrServer)}}, "", false},
		{"an interruption", event.ModelCallEnd{Error: &event.Error{Class: string(llm.ErrCancelled)}}, "", true},
	} {
		c := lengthy(signs, event.Rules{CompactAt: 0.8}, 12)
		if !asked(c) {
			t.Fatalf("%s: the provider is not asked", tt.name)
		}
		if got := answer(c, tt.end); got != tt.want {
			t.Errorf("%s: the method is %q, want %q", tt.name, got, tt.want)
		}
		if got := asked(c); got != tt.again {
			t.Errorf("%s: the provider is asked again: %v", tt.name, got)
		}
	}
	for name, c := range map[string]*course{
		"a model without it": lengthy(event.ModelSetup{Window: 200_000}, event.Rules{CompactAt: 0.8}, 12),
		"no summaries":       lengthy(signs, event.Rules{CompactAt: 0.8, NoSummary: true}, 12),
		"no more turns":      lengthy(signs, event.Rules{CompactAt: 0.8, TreeTurns: 12}, 12),
	} {
		if asked(c) {
			t.Errorf("%s: the provider is asked for a summary", name)
		}
	}
}
