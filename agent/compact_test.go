package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// wide is a tool with a large result.
var wide = fake("wide", true, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
	return tool.Success("%s", strings.Repeat("line of output "+text+"\n", 200)), nil
})

// narrow is a session whose window is filled by a few large results. The model answers summary requests with write.
func narrow(t *testing.T, rounds int, write func(r *llm.Request) llmtest.Turn, change func(*Config)) (*Session, *llmtest.Script) {
	n := 0
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleUser && !strings.HasPrefix(last.Text(), "task") {
			return write(r)
		}
		if n++; n > rounds {
			n = 0
			return llmtest.Say("Done.")
		}
		return llmtest.Turn{Parts: []llm.Part{llm.Text{Text: fmt.Sprint("Step ", n, ". ", strings.Repeat("I explain at length. ", 40))}, llm.ToolCall{Name: "wide", Arguments: fmt.Sprintf(`{"text":"%d"}`, n)}}}
	}}
	s := open(t, script, func(c *Config) {
		c.ContextWindow, c.LoopWindow = 8000, -1
		c.Compaction = Compaction{At: 0.8}
		with(wide)(c)
		if change != nil {
			change(c)
		}
	})
	return s, script
}

func summary(*llm.Request) llmtest.Turn {
	return llmtest.Say("The work is half done; go on with the rest.")
}

func TestCompaction_OldResultsAreClearedFirstWithoutACall(t *testing.T) {
	s, script := narrow(t, 20, summary, func(c *Config) { c.ContextWindow = 20_000 })
	submit(t, s, "task: keep this in mind")
	c := records[event.Compaction](s)
	if len(c) == 0 || c[0].Method != "clear" || c[0].Reason != "threshold" || c[0].After >= c[0].Before {
		t.Fatalf(`got %+v, want some, [0].Method "clear", [0].Reason "threshold", [0].After < [0].Before`, c)
	}
	for _, start := range records[event.ModelCallStart](s)[:c0Calls(s)] {
		if start.Purpose != "" {
			t.Errorf("a summary was asked for before that was needed: %+v", start)
		}
	}
	for i, r := range script.Requests() {
		var m compact.Meter
		if w := m.Weigh(r.Messages...); w > 20_000 {
			t.Errorf("request %d has %d tokens", i, w)
		}
	}
}

// c0Calls returns how many model calls came before the first compaction.
func c0Calls(s *Session) (n int) {
	for _, r := range s.log.Records(0) {
		switch r.Data.(type) {
		case event.ModelCallStart:
			n++
		case event.Compaction:
			return n
		}
	}
	return n
}

func TestCompaction_SummaryKeepsTaskPlanAndFiles(t *testing.T) {
	plan := planner()
	edit := fake("edit", false, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
		res := tool.Success("ok")
		res.Artifacts.FilesChanged = []string{text}
		return res, nil
	})
	s, script := narrow(t, 30, summary, func(c *Config) { with(plan, edit)(c) })
	flow := script.Reply
	script.Reply = func(n int, r *llm.Request) llmtest.Turn {
		switch n {
		case 0:
			return llmtest.Call("update_plan", `{"text":"first the parser, then the printer"}`)
		case 1:
			return llmtest.Call("edit", `{"text":"src/parse.go"}`)
		}
		return flow(n, r)
	}
	submit(t, s, "task: mind the API of version 3")
	var last *event.Compaction
	for _, c := range records[event.Compaction](s) {
		if c.Method == "summary" {
			last = &c
		}
	}
	if last == nil {
		t.Fatalf("no summary: %s", kinds(s))
	}
	all := sketchWhole(s.Messages())
	for _, want := range []string{"task: mind the API of version 3", "first the parser, then the printer", "src/parse.go", "The work is half done"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is lost", want)
		}
	}
	if broken := records[event.CacheBroken](s); len(broken) == 0 || broken[0].Reason != "the conversation was compacted" {
		t.Errorf(`got %+v, want some, [0].Reason "the conversation was compacted"`, broken)
	}
	if got := s.Total(); got.Turns <= len(records[event.TextEnd](s)) {
		t.Errorf("the calls for summaries are not counted: %+v", got)
	}
}

func sketchWhole(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

func TestCompaction_TwoFailuresStopTryingAndTheFallbackStillWorks(t *testing.T) {
	asked := 0
	s, _ := narrow(t, 60, func(*llm.Request) llmtest.Turn {
		asked++
		return llmtest.Turn{Fault: llmtest.Fault{Status: 400}}
	}, nil)
	out := submit(t, s, "task: do it")
	if out.Status != StatusDone || asked != 2 {
		t.Fatalf("got %+v, %d summaries were asked for, want StatusDone, asked 2", out, asked)
	}
	methods := map[event.CompactionMethod]int{}
	for _, c := range records[event.Compaction](s) {
		methods[c.Method]++
		if c.After >= c.Before {
			t.Errorf("it did not shrink: %+v", c)
		}
	}
	if methods["summary"] != 0 || methods["digest"]+methods["clear"] == 0 {
		t.Errorf("%v", methods)
	}
}

func TestCompaction_OnceAfterTheProviderSaysTooLong(t *testing.T) {
	refused := 0
	s, script := narrow(t, 3, summary, func(c *Config) { c.ContextWindow = 1_000_000 })
	flow := script.Reply
	script.Reply = func(n int, r *llm.Request) llmtest.Turn {
		var m compact.Meter
		if m.Weigh(r.Messages...) > 2500 {
			refused++
			return llmtest.Turn{Fault: llmtest.Fault{Status: 400, Message: "prompt is too long: 250000 tokens > 200000 maximum"}}
		}
		return flow(n, r)
	}
	out, err := s.Submit(t.Context(), text("task: do it"))
	if err != nil || out.Status != StatusDone || refused == 0 {
		t.Fatalf("got %+v, %v, %d refused, want no error, StatusDone, refused not 0", out, err, refused)
	}
	if c := records[event.Compaction](s); len(c) == 0 || c[0].Reason != "context_length" {
		t.Errorf(`got %+v, want some, [0].Reason "context_length"`, c)
	}
}

func TestCompaction_ByHandChangesNothingIfItFails(t *testing.T) {
	fail := true
	s, _ := narrow(t, 4, func(r *llm.Request) llmtest.Turn {
		if fail {
			return llmtest.Say("")
		}
		return summary(r)
	}, func(c *Config) { c.Compaction = Compaction{}; c.ContextWindow = 100_000 })
	submit(t, s, "task: do it")
	before := sketch(s.Messages())
	if _, err := s.Compact(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if got := sketch(s.Messages()); got != before {
		t.Errorf("the conversation changed:\n%s", got)
	}
	fail = false
	d, err := s.Compact(t.Context())
	if err != nil || d.Method != "summary" || d.After >= d.Before || s.State() != Idle {
		t.Fatalf(`got %+v, %v, want no error, Method "summary", After < Before, state Idle`, d, err)
	}
	if got := sketch(s.Messages()); !strings.Contains(got, "task: do it") || got == before {
		t.Errorf("%s", got)
	}
	submit(t, s, "task: go on")
}

func TestCompaction_OffByDefault(t *testing.T) {
	s, _ := narrow(t, 12, summary, func(c *Config) { c.Compaction = Compaction{} })
	submit(t, s, "task: do it")
	if c := records[event.Compaction](s); len(c) != 0 {
		t.Errorf("got %+v, want none", c)
	}
}

func TestCompaction_ResumeSeesTheCompactedConversation(t *testing.T) {
	store := &event.Memory{}
	var config Config
	s, _ := narrow(t, 30, summary, func(c *Config) { c.Store, c.ID = store, "life"; config = *c })
	submit(t, s, "task: do it")
	want := sketch(s.Messages())
	s.Close()
	again, err := Resume(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := sketch(again.Messages()); got != want {
		t.Errorf("resumed with\n%s\ninstead of\n%s", got, want)
	}
	if len(records[event.Compaction](again)) == 0 || len(records[event.ToolCallEnd](again)) != 30 {
		t.Error("the log is not whole")
	}
}

func TestCompaction_SingleResultIsCondensedAndKeptWhole(t *testing.T) {
	s, script := narrow(t, 1, summary, func(c *Config) { c.Compaction = Compaction{Results: 500} })
	submit(t, s, "task: do it")
	if r := lastResults(script); len(r[0].Text()) > 500 {
		t.Errorf("the model sees %d characters", len(r[0].Text()))
	}
	if end := records[event.ToolCallEnd](s); end[0].Output.Len() < 3000 {
		t.Errorf("the event has %d bytes", end[0].Output.Len())
	}
}

func TestFallback_AnotherModelTakesOverToTheEndOfTheInput(t *testing.T) {
	down := true
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		if r.Model == "m" && down {
			return llmtest.Turn{Fault: llmtest.Fault{Status: 503}}
		}
		if r.Messages[len(r.Messages)-1].Role == llm.RoleTool {
			return llmtest.Say("Done by " + r.Model)
		}
		return calls("echo")
	}}
	s := open(t, script, func(c *Config) { c.Fallback = []Model{{Name: "m"}, {Name: "spare"}} })
	if out := submit(t, s, "go"); out.Text != "Done by spare" {
		t.Fatalf(`got %+v, want Text "Done by spare"`, out)
	}
	f := records[event.ModelFallback](s)
	if len(f) != 1 || f[0].From != "m" || f[0].To != "spare" || f[0].Error.Class != "server" {
		t.Errorf(`got %+v, want 1, [0].From "m", [0].To "spare", [0].Error.Class "server"`, f)
	}
	down = false
	if out := submit(t, s, "again"); out.Text != "Done by m" {
		t.Errorf(`got %+v, want Text "Done by m"`, out)
	}
	models := s.Total().Models
	if len(models) != 2 || models[0].Model != "spare" || models[0].Calls != 2 || models[1].Model != "m" {
		t.Errorf(`got %+v, want 2, [0].Model "spare", [0].Calls 2, [1].Model "m"`, models)
	}
}

func TestFallback_NoneLeftIsTheErrorOfTheLast(t *testing.T) {
	script := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Turn{Fault: llmtest.Fault{Status: 503}} }}
	s := open(t, script, func(c *Config) { c.Fallback = []Model{{Name: "spare"}} })
	_, err := s.Submit(t.Context(), text("go"))
	if e := new(llm.Error); !errors.As(err, &e) || e.Kind != llm.ErrServer {
		t.Errorf("%v", err)
	}
}

// Whatever the summariser does, every request is valid, the conversation shrinks or stays, and the
// task is still in it.
func TestCompaction_AnySummariserLeavesAValidHistory(t *testing.T) {
	answers := map[string]func(r *llm.Request) llmtest.Turn{
		"good":    summary,
		"empty":   func(*llm.Request) llmtest.Turn { return llmtest.Say("") },
		"huge":    func(*llm.Request) llmtest.Turn { return llmtest.Say(strings.Repeat("blah ", 20_000)) },
		"calls":   func(*llm.Request) llmtest.Turn { return calls("wide") },
		"refused": func(*llm.Request) llmtest.Turn { return llmtest.Fail(400) },
		"down":    func(*llm.Request) llmtest.Turn { return llmtest.Fail(503) },
		"cut": func(*llm.Request) llmtest.Turn {
			return llmtest.Turn{Parts: llmtest.Say("The wo").Parts, Finish: llm.FinishLength}
		},
		"broken": func(*llm.Request) llmtest.Turn {
			return llmtest.Turn{Parts: llmtest.Say("The wo").Parts, Fault: llmtest.Fault{CutAt: 1}}
		},
		"filter": func(*llm.Request) llmtest.Turn { return llmtest.Turn{Finish: llm.FinishContentFilter} },
	}
	names := sortedNames(answers)
	for seed := range 6 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			n := seed
			s, _ := narrow(t, 16, func(r *llm.Request) llmtest.Turn {
				n = n*7 + 3
				return answers[names[n%len(names)]](r)
			}, nil)
			for _, task := range []string{"task: the first", "task: the second"} {
				if out := submit(t, s, task); out.Status != StatusDone {
					t.Fatalf("got %+v, want StatusDone", out)
				}
				if !strings.Contains(sketchWhole(s.Messages()), task) {
					t.Errorf("%q is lost", task)
				}
			}
			for _, c := range records[event.Compaction](s) {
				if c.After >= c.Before {
					t.Errorf("it did not shrink: %d tokens became %d", c.Before, c.After)
				}
			}
			if n, window := s.state.Size(), s.state.Window(); n > window {
				t.Errorf("%d tokens do not fit into a window of %d", n, window)
			}
		})
	}
}

func TestFallback_ServesStructuredOutputToo(t *testing.T) {
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		switch {
		case r.Output == nil:
			return llmtest.Say("Done.")
		case r.Model == "m":
			return llmtest.Fail(503)
		}
		return llmtest.Say(`{"good":true}`)
	}}
	s := open(t, script, func(c *Config) { c.Fallback = []Model{{Name: "spare"}} })
	v, _, err := SubmitObject[struct {
		Good bool `json:"good"`
	}](t.Context(), s, text("go"))
	if err != nil || !v.Good {
		t.Errorf("got %+v, %v, want no error, Good", v, err)
	}
}
