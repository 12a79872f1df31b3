package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func ends(reason llm.FinishReason, parts ...llm.Part) llmtest.Turn {
	return llmtest.Turn{Parts: parts, Finish: reason}
}

func TestFinish_LengthIsContinuedAndTheTextPutTogether(t *testing.T) {
	script := llmtest.Play(ends(llm.FinishLength, text("One, ")), ends(llm.FinishLength, text("two, ")), llmtest.Say("three."))
	s := open(t, script, nil)
	if out := submit(t, s, "count"); out.Status != StatusDone || out.Text != "One, two, three." || out.Turns != 3 {
		t.Errorf(`got %+v, want StatusDone, Text "One, two, three.", Turns 3`, out)
	}
}

func TestFinish_LengthIsContinuedThreeTimesInARowAtMost(t *testing.T) {
	script := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return ends(llm.FinishLength, text("more ")) }}
	s := open(t, script, nil)
	if out := submit(t, s, "count"); out.Status != StatusCutOff || out.Turns != 4 || s.State() != Idle {
		t.Errorf("got %+v, want StatusCutOff, Turns 4, state Idle", out)
	}
	if out := submit(t, s, "go on"); out.Turns != 4 {
		t.Errorf("the next input: %+v", out)
	}
}

// answers is a client that returns fixed responses, as a host's own provider may.
func answers(responses ...*llm.Response) Streamer {
	n := 0
	return streamFunc(func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			n++
			yield(llm.Finish{Response: responses[n-1]}, nil)
		}
	})
}

func response(reason llm.FinishReason, parts ...llm.Part) *llm.Response {
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.FinishInfo{Reason: reason}}
}

func TestFinish_CutOffCallIsNeverRun(t *testing.T) {
	ran := 0
	once := fake("once", false, func(context.Context, *tool.Call, string) (tool.Result, error) { ran++; return tool.Success("ok"), nil })
	whole := llm.ToolCall{ID: "a", Name: "once", Arguments: `{"text":"x"}`}
	cut := llm.ToolCall{ID: "b", Name: "once", Arguments: `{"text":"rm -rf /`}
	s := open(t, answers(
		response(llm.FinishLength, cut),
		response(llm.FinishLength, whole, cut),
		response(llm.FinishStop, text("Done.")),
	), with(once))
	if out := submit(t, s, "go"); out.Status != StatusDone || ran != 1 {
		t.Errorf("got %+v; %d calls were run, want StatusDone, 1 run", out, ran)
	}
	if got := sketch(s.Messages()); strings.Contains(got, "rm -rf") {
		t.Errorf("the cut call is in the history:\n%s", got)
	}
}

func TestFinish_RefusalPauseAndGarbageHaveOutcomesOfTheirOwn(t *testing.T) {
	call := llm.ToolCall{Name: "echo", Arguments: `{"text":"x"}`}
	for _, tt := range []struct {
		name   string
		turns  []llmtest.Turn
		status Status
		calls  int
	}{
		{"refusal", []llmtest.Turn{ends(llm.FinishContentFilter, text("I will not."))}, StatusRefused, 1},
		{"refusal without a word", []llmtest.Turn{ends(llm.FinishContentFilter)}, StatusRefused, 1},
		{"refusal with a call", []llmtest.Turn{ends(llm.FinishContentFilter, call)}, StatusRefused, 1},
		{"pause", []llmtest.Turn{ends(llm.FinishPause, text("Wait. ")), llmtest.Say("Done.")}, StatusDone, 2},
		{"pauses", []llmtest.Turn{ends(llm.FinishPause, text("1")), ends(llm.FinishPause, text("2")), ends(llm.FinishPause, text("3")), ends(llm.FinishPause, text("4"))}, StatusPaused, 4},
		{"garbage once", []llmtest.Turn{ends(llm.FinishError), llmtest.Say("Done.")}, StatusDone, 2},
		{"garbage", []llmtest.Turn{ends(llm.FinishError), ends(llm.FinishError), ends(llm.FinishError), ends(llm.FinishError)}, StatusFailed, 4},
		{"nothing at all, once", []llmtest.Turn{ends(llm.FinishStop), llmtest.Say("Done.")}, StatusDone, 2},
		{"nothing but thinking, once", []llmtest.Turn{ends(llm.FinishStop, llm.Thinking{Text: "hm"}), llmtest.Say("Done.")}, StatusDone, 2},
		{"nothing at all", []llmtest.Turn{ends(llm.FinishStop), ends(llm.FinishStop, text("\n")), ends(llm.FinishStop), ends(llm.FinishStop)}, StatusFailed, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			script := llmtest.Play(append(tt.turns, llmtest.Say("Next."))...)
			s := open(t, script, nil)
			out, err := s.Submit(t.Context(), text("go"))
			if out.Status != tt.status || (err != nil) != (tt.status == StatusFailed) || len(script.Requests()) != tt.calls {
				t.Fatalf("got %+v, %v after %d calls, want Status %s after %d calls, and an error only if it failed", out, err, len(script.Requests()), tt.status, tt.calls)
			}
			if out := submit(t, s, "next"); out.Text != "Next." {
				t.Errorf(`got %+v, want Text "Next."`, out)
			}
		})
	}
}

func TestModel_ProviderThatPanicsOrNeverFinishesFailsTheTurn(t *testing.T) {
	for name, broken := range map[string]streamFunc{
		"panics": func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] { panic("oops") },
		"panics midway": func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) { yield(llm.TextDelta{Text: "x"}, nil); panic("oops") }
		},
		"never finishes": func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) { yield(llm.TextDelta{Text: "x"}, nil) }
		},
		"goes on for bad": func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) { yield(nil, errors.New("oops")) }
		},
	} {
		good := llmtest.Play(llmtest.Say("Fine."))
		n := 0
		s := open(t, streamFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			if n++; n == 1 {
				return broken(ctx, r)
			}
			return good.Stream(ctx, r)
		}), nil)
		out, err := s.Submit(t.Context(), text("go"))
		if out.Status != StatusFailed || err == nil || s.State() != Idle {
			t.Errorf("%s: got %+v, %v, want StatusFailed, an error, state Idle", name, out, err)
		}
		e := records[event.Error](s)
		if len(e) != 1 || strings.Contains(name, "panics") != (e[0].Class == "panic" && e[0].Stack != "") {
			t.Errorf("%s: got %+v, want 1, of class panic and with a stack if it panics", name, e)
		}
		if out := submit(t, s, "again"); out.Text != "Fine." {
			t.Errorf(`%s: got %+v, want Text "Fine."`, name, out)
		}
	}
}

func TestModel_HooksChangeTheRequestAndNotTheHistory(t *testing.T) {
	script := llmtest.Play(llmtest.Say("One."), llmtest.Say("Two."))
	s := open(t, script, func(c *Config) {
		c.TransformContext = func(m []llm.Message) []llm.Message { return append(m[:1:1], m[len(m)-1]) }
		c.BeforeModel = []func(context.Context, *llm.Request) error{func(_ context.Context, r *llm.Request) error {
			r.Messages = append(r.Messages, llm.UserText("hooked"))
			r.MaxTokens = 77
			return nil
		}}
	})
	submit(t, s, "first")
	submit(t, s, "second")
	r := script.Requests()[1]
	if got := said(r.Messages); got != "system:Be user:second user:hooked" || r.MaxTokens != 77 {
		t.Errorf("%s, %d", got, r.MaxTokens)
	}
	if got := said(s.Messages()); got != "system:Be user:first assistant:One. user:second assistant:Two." {
		t.Error(got)
	}
	if b := records[event.CacheBroken](s); len(b) != 1 {
		t.Errorf("got %+v, want 1", b)
	}
}

func TestModel_HookThatFailsOrPanicsFailsTheTurn(t *testing.T) {
	for name, change := range map[string]func(c *Config, bad *bool){
		"error": func(c *Config, bad *bool) {
			c.BeforeModel = append(c.BeforeModel, func(context.Context, *llm.Request) error {
				if *bad {
					return errors.New("oops")
				}
				return nil
			})
		},
		"panic": func(c *Config, bad *bool) {
			c.BeforeModel = append(c.BeforeModel, func(context.Context, *llm.Request) error {
				if *bad {
					panic("oops")
				}
				return nil
			})
		},
		"transform": func(c *Config, bad *bool) {
			c.TransformContext = func(m []llm.Message) []llm.Message {
				if *bad {
					panic("oops")
				}
				return m
			}
		},
	} {
		bad := true
		s := open(t, llmtest.Play(llmtest.Say("Fine.")), func(c *Config) { change(c, &bad) })
		if out, err := s.Submit(t.Context(), text("go")); out.Status != StatusFailed || err == nil || !strings.Contains(err.Error(), "oops") {
			t.Errorf(`%s: got %+v, %v, want StatusFailed, an error, error with "oops"`, name, out, err)
		}
		bad = false
		if out := submit(t, s, "again"); out.Text != "Fine." {
			t.Errorf(`%s: got %+v, want Text "Fine."`, name, out)
		}
	}
}

func TestLoop_SimilarEditsToDifferentFilesNeverTrip(t *testing.T) {
	edits := thorough.Of(100, 40)
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == edits {
			return llmtest.Say("Done.")
		}
		return llmtest.Call("write", fmt.Sprintf(`{"text":"file%d.go"}`, n))
	}}
	same := fake("write", false, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Success("1 replacement"), nil
	})
	s := open(t, script, with(same))
	if out := submit(t, s, "rename"); out.Status != StatusDone || len(records[event.LoopDetection](s)) != 0 {
		t.Errorf("got %+v, %+v, want StatusDone, no LoopDetection record", out, records[event.LoopDetection](s))
	}
}

func TestLoop_PollWhoseResultChangesNeverTrips(t *testing.T) {
	polls := 0
	poll := fake("poll", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		polls++
		return tool.Success("%d%% done", polls), nil
	})
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == 50 {
			return llmtest.Say("Done.")
		}
		return calls("poll")
	}}
	s := open(t, script, with(poll))
	if out := submit(t, s, "watch"); out.Status != StatusDone || len(records[event.LoopDetection](s)) != 0 {
		t.Errorf("got %+v, want StatusDone, no LoopDetection record", out)
	}
}

func TestLoop_SecondTripPausesAndTheNextInputGoesOn(t *testing.T) {
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == 20 {
			return llmtest.Say("I see.")
		}
		return llmtest.Call("echo", []string{`{"text":"a","x":1}`, `{"x":1, "text":"a"}`}[n%2])
	}}
	anything := tool.NewRaw(tool.Spec{Name: "echo", Input: []byte(`{"type":"object"}`)}, nil,
		func(context.Context, *tool.Call) (tool.Result, error) { return tool.Success("same"), nil })
	s := open(t, script, with(anything))
	out := submit(t, s, "go round")
	if out.Status != StatusLoop || out.Rounds != 20 || s.State() != Idle {
		t.Errorf("got %+v in state %s, want StatusLoop, Rounds 20, state Idle", out, s.State())
	}
	if l := records[event.LoopDetection](s); len(l) != 2 || l[1].Trips != 2 || l[0].Length != 1 {
		t.Errorf("got %+v, want 2, [1].Trips 2, [0].Length 1", l)
	}
	if out := submit(t, s, "try something else"); out.Status != StatusDone {
		t.Errorf("got %+v, want StatusDone", out)
	}
}

func TestLoop_CanBeSwitchedOff(t *testing.T) {
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		if n == 40 {
			return llmtest.Say("Done.")
		}
		return echoCall("same")
	}}
	s := open(t, script, func(c *Config) { c.LoopWindow = -1 })
	if out := submit(t, s, "go round"); out.Status != StatusDone || len(records[event.LoopDetection](s)) != 0 {
		t.Errorf("got %+v, want StatusDone, no LoopDetection record", out)
	}
}

func TestFinish_PauseIsEndedForAnotherModel(t *testing.T) {
	var s *Session
	script := &llmtest.Script{Reply: func(n int, r *llm.Request) llmtest.Turn {
		if n == 0 {
			s.SetModel("", "another")
			return ends(llm.FinishPause, text("Wait. "))
		}
		if last := r.Messages[len(r.Messages)-1]; last.Role != llm.RoleUser {
			t.Errorf("the other model is sent\n%s", sketch(r.Messages))
		}
		return llmtest.Say("Done.")
	}}
	s = open(t, script, nil)
	if out := submit(t, s, "go"); out.Text != "Wait. Done." {
		t.Errorf(`got %+v, want Text "Wait. Done."`, out)
	}
}
