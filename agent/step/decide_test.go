package step_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// course is a session under construction, with a second between records.
type course struct {
	*step.Tree
	seq event.Seq
}

// begin starts the work on an input under rules.
func begin(model event.ModelSetup, rules event.Rules, more ...event.Data) *course {
	c := &course{Tree: step.NewTree()}
	model.Model = "m"
	c.add(event.SessionStart{ID: "s", Setup: event.Setup{ModelSetup: model, Rules: rules}}, event.UserInput{Message: llm.UserText("go")})
	c.add(more...)
	return c
}

func (c *course) add(data ...event.Data) {
	for _, d := range data {
		c.seq++
		c.Apply(event.Record{Seq: c.seq, Time: time.Unix(int64(c.seq), 0), Data: d})
	}
}

// answer ends a model call: 100 tokens, one dollar.
func (c *course) answer(finish llm.FinishReason, parts ...llm.Part) {
	dollar, call := 1.0, c.Agent("").Called()+1
	c.add(event.ModelCallStart{Call: call, Model: "m"},
		event.TextEnd{Call: call, Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}},
		event.ModelCallEnd{Call: call, Model: "m", Finish: finish, Usage: llm.Usage{Input: 90, Output: 10}, Cost: &dollar})
}

// round is a model call and the resulting tool call: five seconds.
func (c *course) round(tool string) {
	id := fmt.Sprint("call ", c.seq)
	c.answer(llm.FinishToolCalls, llm.ToolCall{ID: id, Name: tool, Arguments: "{}"})
	c.add(event.ToolCallStart{ID: id, Name: tool}, event.ToolCallEnd{ID: id, Name: tool, Model: "ok"})
}

// next appends the records that follow by themselves, and returns the last action in a few words.
func (c *course) next() string {
	var said []string
	for {
		switch a := c.Agent("").Next().(type) {
		case step.Append:
			said = append(said, describe(a.Data))
			c.add(a.Data)
		case step.Stop:
			return strings.Join(append(said, "stop "+string(a.Status)+" "+string(a.Limit)), ", ")
		default:
			return strings.Join(append(said, strings.TrimPrefix(fmt.Sprintf("%T", a), "step.")), ", ")
		}
	}
}

func describe(d event.Data) string {
	switch d := d.(type) {
	case event.TurnLimit:
		return "limit " + string(d.Limit)
	case event.Error:
		return "error " + d.Class
	case event.Warning:
		return "warning " + string(d.Code)
	case event.ToolCallEnd:
		return "result " + d.Model
	}
	return string(event.KindOf(d))
}

func TestNext_StopsExactlyAtALimit(t *testing.T) {
	for limit, tt := range map[string]struct {
		rules  event.Rules
		rounds int // rounds until the limit
	}{
		"max_tool_rounds": {event.Rules{ToolRounds: 3}, 3},
		"max_turns":       {event.Rules{Turns: 3}, 3},
		"tree_turns":      {event.Rules{TreeTurns: 3}, 3},
		"tree_tokens":     {event.Rules{TreeTokens: 300}, 3},
		"tree_cost":       {event.Rules{TreeCost: 3}, 3},
		"tree_duration":   {event.Rules{TreeDuration: 15 * time.Second}, 3},
	} {
		c := begin(event.ModelSetup{}, tt.rules)
		for i := range tt.rounds {
			if got := c.next(); got != "CallModel" {
				t.Errorf("%s, after %d rounds: %s, want CallModel", limit, i, got)
			}
			c.round(fmt.Sprint("tool", i))
		}
		if got, want := c.next(), "limit "+limit+", PROCESSING_END, stop limit "+limit; got != want {
			t.Errorf("%s, after %d rounds: %s, want %s", limit, tt.rounds, got, want)
		}
	}
}

func TestNext_WarnsOnceAtFourFifthsOfTheCostLimit(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{TreeCost: 10})
	for i := 1; i < 10; i++ {
		c.round(fmt.Sprint("tool", i))
		want := "CallModel"
		if i == 8 {
			want = "warning budget, CallModel"
		}
		if got := c.next(); got != want {
			t.Errorf("after $%d of $10: %s, want %s", i, got, want)
		}
	}
}

func TestNext_NoUnpricedModelUnderACostLimit(t *testing.T) {
	for unpriced, want := range map[bool]string{false: "CallModel", true: "error configuration, PROCESSING_END, stop failed "} {
		c := begin(event.ModelSetup{Unpriced: unpriced}, event.Rules{TreeCost: 3})
		if got := c.next(); got != want {
			t.Errorf("unpriced %v: %s, want %s", unpriced, got, want)
		}
	}
}

func TestNext_LoopsOfUpToThreeCallsAreWarnedAboutOnceAndThenStopped(t *testing.T) {
	for length, want := range map[int]string{1: "loop", 2: "loop", 3: "loop", 4: ""} {
		c := begin(event.ModelSetup{}, event.Rules{LoopWindow: 12})
		var got []string
		for i := range 24 {
			c.round(fmt.Sprint("tool", i%length))
			if n := c.next(); n != "CallModel" {
				got = append(got, fmt.Sprint(i+1, " ", n))
			}
		}
		wanted := []string{"12 LOOP_DETECTION, STEERING_INJECTED, CallModel", "24 LOOP_DETECTION, STEERING_INJECTED, PROCESSING_END, stop loop "}
		if want == "" {
			wanted = nil
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("a pattern of %d calls: %q, want %q", length, got, wanted)
		}
	}
}

func TestNext_TruncatedAnswersAreContinuedThreeTimes(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{})
	for i := range 3 {
		c.answer(llm.FinishLength, llm.Text{Text: "and"})
		if got := c.next(); got != "STEERING_INJECTED, CallModel" {
			t.Errorf("after %d truncated answers: %s, want another call", i+1, got)
		}
	}
	c.answer(llm.FinishLength, llm.Text{Text: "so on"})
	if got := c.next(); got != "PROCESSING_END, stop cut_off " {
		t.Errorf("after 4 truncated answers: %s, want the end", got)
	}
}

func TestNext_TruncatedAnswersAreCountedAgainAfterAWholeOne(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{})
	for i := range 2 {
		for range 3 {
			c.answer(llm.FinishLength, llm.Text{Text: "and"})
			if got := c.next(); got != "STEERING_INJECTED, CallModel" {
				t.Fatalf("after answer %d: %s, want that it is continued", i, got)
			}
		}
		if i == 0 {
			c.add(event.SteeringQueued{Message: llm.UserText("more")})
		}
		c.answer(llm.FinishStop, llm.Text{Text: fmt.Sprint(" whole ", i)})
		if got, want := c.next(), []string{"STEERING_INJECTED, CallModel", "PROCESSING_END, stop done "}[i]; got != want {
			t.Fatalf("after whole answer %d: %s, want %s", i, got, want)
		}
	}
	if got := c.Agent("").Next().(step.Stop).Text; got != "andandand whole 1" {
		t.Errorf("the last answer is %q", got)
	}
}

func TestNext_ContextOfHooksFollowsTheResultsInTheOrderOfTheCalls(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{})
	c.answer(llm.FinishToolCalls, llm.ToolCall{ID: "a", Name: "read", Arguments: "{}"}, llm.ToolCall{ID: "b", Name: "read", Arguments: "{}"})
	for _, id := range []string{"b", "a"} {
		c.add(event.ToolCallStart{ID: id, Name: "read"}, event.Hook{Event: "PostToolUse", Call: id, Context: "about " + id},
			event.ToolCallEnd{ID: id, Name: "read", Model: "ok"})
	}
	c.next()
	got := texts(c.Agent("").Messages())
	if want := []string{"user: PostToolUse hook: about a", "user: PostToolUse hook: about b"}; !slices.Equal(got[max(0, len(got)-2):], want) {
		t.Errorf("the conversation ends with %q, want %q", got, want)
	}
}

// Whoever interrupts the work may still answer the open question.
func TestNext_CallsWaitForAnApprovalAfterAnInterruption(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{})
	c.answer(llm.FinishToolCalls, llm.ToolCall{ID: "a", Name: "write", Arguments: "{}"}, llm.ToolCall{ID: "b", Name: "read", Arguments: "{}"})
	c.add(event.ToolCallStart{ID: "a", Name: "write"}, event.ApprovalRequested{ID: "a", Tool: "write"}, event.Interrupted{Reason: "by the user"})
	if got := c.next(); got != "PROCESSING_END, stop interrupted " {
		t.Fatalf("after the interruption: %s", got)
	}
	c.add(event.ApprovalResolved{ID: "a", Allowed: true, Deferred: true}, event.Continue{}) // a later answer
	run, ok := c.Agent("").Next().(step.RunTools)
	if !ok || len(run.Calls) != 2 || run.Calls[0].ID != "a" || run.Calls[1].ID != "b" {
		t.Errorf("after the approval: %+v, want that both calls run", run)
	}
}

func TestTotal_CountsTheWorkOfAProcessThatWasKilled(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{TreeDuration: time.Minute})
	c.round("tool")
	worked := c.Total().Worked
	c.seq += 3600 // an hour until the session is resumed
	c.add(event.SessionResume{Setup: event.Setup{ModelSetup: event.ModelSetup{Model: "m"}, Rules: event.Rules{TreeDuration: time.Minute}}})
	if got := c.Total().Worked; got != worked || worked == 0 {
		t.Errorf("worked %v after it was resumed, want the %v before it was killed", got, worked)
	}
}

func TestNext_WarnsWhenFourFifthsOfTheWindowAreUsed(t *testing.T) {
	for used, want := range map[int64]string{790: "CallModel", 830: "warning context_window, CallModel"} {
		c := begin(event.ModelSetup{Window: 1000}, event.Rules{})
		c.add(event.ModelCallStart{Call: 1, Model: "m"},
			event.TextEnd{Call: 1, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: "a", Name: "t", Arguments: "{}"}}}},
			event.ModelCallEnd{Call: 1, Model: "m", Finish: llm.FinishToolCalls, Usage: llm.Usage{Input: used}},
			event.ToolCallStart{ID: "a", Name: "t"}, event.ToolCallEnd{ID: "a", Name: "t", Model: "ok"})
		if got := c.next(); got != want {
			t.Errorf("%d of 1000 tokens: %s, want %s", used, got, want)
		}
	}
}

func TestNext_CallThatWasRunningWhenTheProcessDiedIsNotRunAgain(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{})
	c.answer(llm.FinishToolCalls, llm.ToolCall{ID: "a", Name: "t", Arguments: "{}"}, llm.ToolCall{ID: "b", Name: "t", Arguments: "{}"})
	c.add(event.ToolCallStart{ID: "a", Name: "t"}, event.SessionResume{Setup: c.Agent("").Setup()}, event.Continue{})
	a, ok := c.Agent("").Next().(step.Append)
	if end, is := a.Data.(event.ToolCallEnd); !ok || !is || end.ID != "a" || end.Error == nil {
		t.Errorf("got %+v, want an error as the result of call a", a)
	}
}

func TestNext_FallbackAfterAFailureThatAnotherModelMaySolve(t *testing.T) {
	spare := event.Rules{Fallback: []event.ModelSetup{{Model: "spare"}}}
	for name, tt := range map[string]struct {
		failure event.Error
		want    string
	}{
		"used-up quota":   {event.Error{Class: string(llm.ErrQuota)}, "MODEL_FALLBACK, CallModel"},
		"retryable":       {event.Error{Class: string(llm.ErrServer), Retryable: true}, "MODEL_FALLBACK, CallModel"},
		"refused request": {event.Error{Class: string(llm.ErrInvalidRequest)}, "error invalid_request, PROCESSING_END, stop failed "},
	} {
		c := begin(event.ModelSetup{}, spare, event.ModelCallStart{Call: 1, Model: "m"}, event.ModelCallEnd{Call: 1, Model: "m", Error: &tt.failure})
		if got := c.next(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		c.answer(llm.FinishStop, llm.Text{Text: "Done."})
		c.next()
		c.add(event.UserInput{Message: llm.UserText("more")})
		if got := c.Agent("").Effective().Model; got != "m" {
			t.Errorf("%s: the next input goes to %s, want m", name, got)
		}
	}
}

func TestNext_EveryFallbackIsUsedOnce(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{Fallback: []event.ModelSetup{{Model: "a"}, {Model: "b"}}})
	var used []string
	for call := 1; call <= 4; call++ {
		model := c.Agent("").Effective().Model
		used = append(used, model)
		c.add(event.ModelCallStart{Call: call, Model: model},
			event.ModelCallEnd{Call: call, Model: model, Error: &event.Error{Class: string(llm.ErrServer), Retryable: true}})
		if !strings.HasSuffix(c.next(), "CallModel") {
			break
		}
	}
	if got, want := strings.Join(used, " "), "m a b"; got != want {
		t.Errorf("the models are %s, want %s", got, want)
	}
}

func TestNext_SteeringThatComesWithTheLastAnswerIsStillInjected(t *testing.T) {
	c := begin(event.ModelSetup{}, event.Rules{})
	c.answer(llm.FinishStop, llm.Text{Text: "Done."})
	c.add(event.SteeringQueued{Message: llm.UserText("wait")}, event.SteeringQueued{Message: llm.UserText("then"), FollowUp: true})
	if got := c.next(); got != "STEERING_INJECTED, CallModel" {
		t.Errorf("got %s, want the message and another call", got)
	}
}

func TestNext_DigestOnlyWhenTheWindowIsAlmostFull(t *testing.T) {
	for used, want := range map[int64]event.CompactionMethod{900: "", 940: "digest"} { // and about 20 tokens from the last result
		c := begin(event.ModelSetup{Window: 1000}, event.Rules{CompactAt: 0.5, NoSummary: true})
		for i := range 10 {
			id := fmt.Sprint("call ", i)
			c.add(event.ModelCallStart{Call: i + 1, Model: "m"},
				event.TextEnd{Call: i + 1, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: strings.Repeat("word ", 40)}, llm.ToolCall{ID: id, Name: "t", Arguments: "{}"}}}},
				event.ModelCallEnd{Call: i + 1, Model: "m", Finish: llm.FinishToolCalls, Usage: llm.Usage{Input: used}},
				event.ToolCallStart{ID: id, Name: "t"}, event.ToolCallEnd{ID: id, Name: "t", Model: strings.Repeat("line\n", 10)})
		}
		a, _ := c.Agent("").Next().(step.Append)
		d, _ := a.Data.(event.Compaction)
		if d.Method != want {
			t.Errorf("%d of 1000 tokens: method %q, want %q", used, d.Method, want)
		}
	}
}

func TestNext_CompactsDownToHalfOfTheThreshold(t *testing.T) {
	c := begin(event.ModelSetup{Window: 10_000}, event.Rules{CompactAt: 0.8})
	for i := range 20 {
		id := fmt.Sprint("call ", i)
		c.add(event.ModelCallStart{Call: i + 1, Model: "m"},
			event.TextEnd{Call: i + 1, Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{ID: id, Name: "t", Arguments: "{}"}}}},
			event.ModelCallEnd{Call: i + 1, Model: "m", Finish: llm.FinishToolCalls, Usage: llm.Usage{Input: int64(400 * (i + 1))}},
			event.ToolCallStart{ID: id, Name: "t"}, event.ToolCallEnd{ID: id, Name: "t", Model: strings.Repeat("a line\n", 230)})
	}
	a, _ := c.Agent("").Next().(step.Append)
	if d, ok := a.Data.(event.Compaction); !ok || d.Method != "clear" || d.Before < 8000 || d.After > 4000 {
		t.Errorf("got %T, by %q, from %d to %d tokens, want a compaction by clear, from 8000 to 4000 at most", a.Data, d.Method, d.Before, d.After)
	}
}

// counted is a model call with the provider's token count, and its tool call's result, if any.
func (c *course) counted(input int64, tools, result string, parts ...llm.Part) string {
	call, finish := c.Agent("").Called()+1, llm.FinishStop
	id := fmt.Sprint(call)
	parts = append(parts, llm.Text{Text: "ok"})
	if result != "" {
		parts, finish = append(parts, llm.ToolCall{ID: id, Name: "t", Arguments: "{}"}), llm.FinishToolCalls
	}
	c.add(event.ModelCallStart{Call: call, Model: "m", Tools: tools}, event.TextEnd{Call: call, Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}},
		event.ModelCallEnd{Call: call, Model: "m", Finish: finish, Usage: llm.Usage{Input: input, Output: 10}})
	if result != "" {
		c.add(event.ToolCallStart{ID: id, Name: "t"}, event.ToolCallEnd{ID: id, Name: "t", Model: result})
	}
	return c.next() + "; "
}

// more is another input and a call for it.
func (c *course) more(input int64, tools string) string {
	c.add(event.UserInput{Message: llm.UserText("more")})
	return c.counted(input, tools, "")
}

func TestNext_WarnsIfTheServerDroppedPartOfTheConversation(t *testing.T) {
	long := event.SteeringInjected{Message: llm.UserText(strings.Repeat("some words ", 8000))} // 11,000 tokens at least
	summary := event.Compaction{Edit: compact.Edit{Replaced: 2, Messages: []llm.Message{llm.UserText("summary")}}}
	for name, tt := range map[string]struct {
		run  func(c *course) string
		want int // warnings
	}{
		"exactly the window":          {func(c *course) string { return c.counted(65_536, "", "") }, 1},
		"less than the window":        {func(c *course) string { return c.counted(65_535, "", "") }, 0},
		"less than the text can have": {func(c *course) string { c.add(long); return c.counted(10_900, "", "") }, 1},
		"few tokens for the text":     {func(c *course) string { c.add(long); return c.counted(11_100, "", "") }, 0},
		"no count":                    {func(c *course) string { c.add(long); return c.counted(0, "", "") }, 0},
		"less than before":            {func(c *course) string { return c.counted(32_000, "", "") + c.more(15_000, "") }, 1},
		"about as much as before":     {func(c *course) string { return c.counted(32_000, "", "") + c.more(31_000, "") }, 0},
		"no count in between":         {func(c *course) string { return c.counted(32_000, "", "") + c.more(0, "") + c.more(15_000, "") }, 1},
		"just as much as before": {func(c *course) string {
			got := c.counted(2048, "", "")
			c.add(event.SteeringInjected{Message: llm.UserText(strings.Repeat("some words ", 100))})
			return got + c.more(2048, "")
		}, 1},
		"a few tokens": {func(c *course) string { return c.counted(900, "", "") + c.more(100, "") }, 0},
		"other tools":  {func(c *course) string { return c.counted(32_000, "a", "") + c.more(15_000, "b") }, 0},
		"compacted":    {func(c *course) string { c.counted(32_000, "", ""); c.add(summary); return c.more(15_000, "") }, 0},
		"thinking is not repeated": {func(c *course) string {
			return c.counted(32_000, "", "", llm.Thinking{Text: "hm"}) + c.more(15_000, "")
		}, 0},
		"again for one input":  {func(c *course) string { return c.counted(65_536, "", "result") + c.counted(65_536, "", "") }, 1},
		"again for two inputs": {func(c *course) string { return c.counted(65_536, "", "") + c.more(65_536, "") }, 2},
	} {
		c := begin(event.ModelSetup{Window: 65_536}, event.Rules{})
		if got := tt.run(c); strings.Count(got, "warning context_truncated") != tt.want {
			t.Errorf("%s: %s, want %d warnings", name, got, tt.want)
		}
	}
}

func TestNext_ATruncatedConversationIsCompacted(t *testing.T) {
	c := begin(event.ModelSetup{Window: 4096}, event.Rules{CompactAt: 0.8, NoSummary: true})
	result := strings.Repeat("result ", 300)
	for i, input := range []int64{600, 1100, 1600} {
		if got := c.counted(input, "", result); got != "CallModel; " {
			t.Fatalf("round %d: %s", i+1, got)
		}
	}
	if got := c.counted(4096, "", result); got != "warning context_truncated, COMPACTION, CallModel; " {
		t.Errorf("after a truncated call: %s", got)
	}
	c = begin(event.ModelSetup{Window: 40_000}, event.Rules{CompactAt: 0.8, NoSummary: true})
	result = strings.Repeat("result ", 1500)
	if got := c.counted(29_000, "", result) + c.counted(14_000, "", result); got != "CallModel; warning context_truncated, warning context_window, CallModel; " {
		t.Errorf("after a call that read less than the one before: %s", got)
	}
}

func TestNext_GivesUpIfCompactionDoesNotHelpAgainstTruncation(t *testing.T) {
	c := begin(event.ModelSetup{Window: 4096}, event.Rules{CompactAt: 0.8, NoSummary: true})
	result := strings.Repeat("result ", 300)
	for round := 1; round < 10; round++ {
		got := c.counted(4096, "", result)
		if strings.Contains(got, "error context_length") {
			if round < 2 {
				t.Errorf("gave up in round %d", round)
			}
			return
		}
	}
	t.Error("did not give up")
}

func TestWindow_IsThatOfARefusal(t *testing.T) {
	c := begin(event.ModelSetup{Window: 131_072}, event.Rules{})
	refuse := func(model string) {
		call := c.Agent("").Called() + 1
		c.add(event.ModelCallStart{Call: call, Model: model}, event.ModelCallEnd{Call: call, Error: &event.Error{Class: string(llm.ErrContextLength), Window: 8192}})
	}
	if refuse("other"); c.Agent("").Window() != 131_072 {
		t.Errorf("after another model's refusal: %d", c.Agent("").Window())
	}
	if refuse("m"); c.Agent("").Window() != 8192 {
		t.Errorf("after a refusal: %d, want 8192", c.Agent("").Window())
	}
	if c.add(event.Settings{Setup: event.Setup{ModelSetup: event.ModelSetup{Model: "m", Window: 32_768}}}); c.Agent("").Window() != 32_768 {
		t.Errorf("after new settings: %d, want 32768", c.Agent("").Window())
	}
}
