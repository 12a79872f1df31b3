package agent

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Definition of done, 9.3.
func TestTools_CallsAreDispatchedThroughTheRegistry(t *testing.T) {
	script := llmtest.Play(calls("echo", "write"), llmtest.Say("Done."))
	s := open(t, script, nil)
	submit(t, s, "Go.")
	r := lastResults(script)
	if len(r) != 2 || r[0].Name != "echo" || r[0].Text() != "0" || r[1].Name != "write" || r[1].Text() != "1" {
		t.Errorf(`got %+v, want 2, [0].Name "echo", [0].Text "0", [1].Name "write", [1].Text "1"`, r)
	}
}

// Definition of done, 9.3.
func TestTools_UnknownToolIsAnErrorResult(t *testing.T) {
	script := llmtest.Play(calls("nonsense"), llmtest.Say("I see."))
	s := open(t, script, nil)
	if out := submit(t, s, "Go."); out.Status != StatusDone {
		t.Fatalf("got %+v, want StatusDone", out)
	}
	if r := lastResults(script); !r[0].IsError || !strings.Contains(r[0].Text(), "Unknown tool: nonsense") {
		t.Errorf(`got %+v, want [0].IsError, [0].Text with "Unknown tool: nonsense"`, r)
	}
	if e := records[event.ToolCallEnd](s); e[0].Error == nil || e[0].Error.Code != tool.UnknownTool {
		t.Errorf("got %+v, want [0].Error not nil, [0].Error.Code tool.UnknownTool", e)
	}
}

// Definition of done, 9.3.
func TestTools_ArgumentsAreValidatedAgainstTheSchema(t *testing.T) {
	for _, args := range []string{`{"text":1}`, `{}`, `{"text":"x","more":1}`, `{"text":`, `nonsense`, `[]`, ``} {
		script := llmtest.Play(llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: "echo", Arguments: args}}}, llmtest.Say("I see."))
		s := open(t, script, nil)
		submit(t, s, "Go.")
		if r := lastResults(script); len(r) != 1 || !r[0].IsError || !strings.Contains(r[0].Text(), "Invalid arguments for echo") {
			t.Errorf(`%q: got %+v, want 1, [0].IsError, [0].Text with "Invalid arguments for echo"`, args, r)
		}
		for _, rec := range s.log.Records(0) {
			if _, err := rec.MarshalJSON(); err != nil {
				t.Errorf("%q: %v", args, err)
			}
		}
	}
}

// Definition of done, 9.3.
func TestTools_ErrorsAndPanicsAreErrorResults(t *testing.T) {
	boom := errors.New("the disk is full")
	for name, run := range map[string]func(context.Context, *tool.Call, string) (tool.Result, error){
		"error": func(context.Context, *tool.Call, string) (tool.Result, error) { return tool.Result{}, boom },
		"panic": func(context.Context, *tool.Call, string) (tool.Result, error) { panic(boom) },
		"output": func(context.Context, *tool.Call, string) (tool.Result, error) {
			return tool.Result{Output: badOutput{}}, nil
		},
	} {
		script := llmtest.Play(calls("bad", "bad", "echo"), llmtest.Say("I see."))
		s := open(t, script, with(fake("bad", true, run)))
		if out := submit(t, s, "Go."); out.Status != StatusDone {
			t.Fatalf("%s: got %+v, want StatusDone", name, out)
		}
		r := lastResults(script)
		if len(r) != 3 || !r[0].IsError || !r[1].IsError || r[2].IsError || !strings.Contains(r[0].Text(), "disk is full") {
			t.Errorf(`%s: got %+v, want 3, [0].IsError, [1].IsError, no [2].IsError, [0].Text with "disk is full"`, name, r)
		}
	}
}

// badOutput cannot be read back.
type badOutput struct{ tool.Output }

func (badOutput) Open() io.ReadCloser { panic("the disk is full") }

// Definition of done, 9.3.
func TestTools_TenReadOnlyCallsRunInParallelAndAnswerInOrder(t *testing.T) {
	const n = 25
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		slow := fake("slow", true, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
			now := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			i, err := strconv.Atoi(text)
			time.Sleep(time.Duration(n-i) * time.Second) // the last calls finish first
			return tool.Success("%s", text), err
		})
		script := llmtest.Play(calls(slices.Repeat([]string{"slow"}, n)...), llmtest.Say("Done."))
		s := open(t, script, with(slow))
		submit(t, s, "Go.")
		if got := most.Load(); got != 10 {
			t.Errorf("%d calls ran at a time, want 10", got)
		}
		results, ends := lastResults(script), records[event.ToolCallEnd](s)
		if len(results) != n || len(ends) != n {
			t.Fatalf("got %d results and %d records, want %d", len(results), len(ends), n)
		}
		for i := range n {
			if want := strconv.Itoa(i); results[i].Text() != want || ends[i].Model != want {
				t.Errorf("call %d: result %q and record %q, want %q", i, results[i].Text(), ends[i].Model, want)
			}
		}
	})
}

// Definition of done, 9.3.
func TestTools_CallsWithSideEffectsRunOneByOne(t *testing.T) {
	for name, tt := range map[string]struct{ serial, readOnly bool }{
		"they change something": {serial: false, readOnly: false},
		"the session is serial": {serial: true, readOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running, ran atomic.Int64
				run := func(context.Context, *tool.Call, string) (tool.Result, error) {
					if n := running.Add(1); n != 1 {
						t.Errorf("%d calls run at a time, want 1", n)
					}
					time.Sleep(time.Second) // every other call that may run does so before this ends
					running.Add(-1)
					ran.Add(1)
					return tool.Success("ok"), nil
				}
				script := llmtest.Play(calls("a", "a", "a", "a"), llmtest.Say("Done."))
				s := open(t, script, func(c *Config) { c.Serial = tt.serial; with(fake("a", tt.readOnly, run))(c) })
				submit(t, s, "Go.")
				if n := ran.Load(); n != 4 {
					t.Errorf("%d calls ran, want 4", n)
				}
			})
		})
	}
}

// Definition of done, 9.5.
func TestTruncate_ModelSeesTruncatedOutputAndTheEventHasAllOfIt(t *testing.T) {
	big := strings.Repeat("0123456789", 10_000)
	dump := fake("dump", true, func(context.Context, *tool.Call, string) (tool.Result, error) { return tool.Success("%s", big), nil })
	script := llmtest.Play(calls("dump"), llmtest.Say("Done."))
	s := open(t, script, with(dump))
	submit(t, s, "Go.")
	seen := lastResults(script)[0].Text()
	if !strings.Contains(seen, "[WARNING: Tool output was truncated. 70000 characters") || len(seen) > 31_000 {
		t.Errorf("the model sees %d characters", len(seen))
	}
	if e := records[event.ToolCallEnd](s); tool.String(e[0].Output) != big || e[0].Model != seen {
		t.Errorf("the event has %d characters", e[0].Output.Len())
	}
}

// Definition of done, 9.5.
func TestTruncate_CharacterAndLineLimitsAreOverridable(t *testing.T) {
	lines := fake("lines", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Success("%s", strings.Repeat("line\n", 1000)), nil
	})
	script := llmtest.Play(calls("lines"), llmtest.Say("Done."))
	s := open(t, script, func(c *Config) {
		with(lines)(c)
		c.ToolLimits = map[string]tool.Limit{"lines": {Chars: 4000, Lines: 10}}
	})
	submit(t, s, "Go.")
	if seen := lastResults(script)[0].Text(); strings.Count(seen, "\n") > 12 || !strings.Contains(seen, "lines omitted") {
		t.Errorf("the model sees %q", seen)
	}
}

// Definition of done, 9.2.
func TestTools_CustomToolReplacesAToolOfTheSameName(t *testing.T) {
	mine := func(name string) tool.Tool {
		return fake(name, true, func(context.Context, *tool.Call, string) (tool.Result, error) { return tool.Success("mine"), nil })
	}
	script := llmtest.Play(calls("echo", "wait", AskUser), llmtest.Say("Done."))
	s := open(t, script, with(mine("echo"), mine("wait"), mine(AskUser)))
	if out := submit(t, s, "Go."); out.Status != StatusDone {
		t.Fatalf("got %+v, want StatusDone", out)
	}
	for _, r := range lastResults(script) {
		if r.Text() != "mine" {
			t.Errorf(`got %+v, want Text "mine"`, r)
		}
	}
}

func TestSession_AllowedAndDeniedToolsAreNotOffered(t *testing.T) {
	script := llmtest.Play(calls("write"), llmtest.Say("Done."))
	s := open(t, script, func(c *Config) {
		c.Tools.Alias(tool.Alias{Name: "Write", Tool: "write"})
		c.Allow, c.Deny = []string{"echo", "write", "spawn_agent"}, []string{"Write"}
	})
	submit(t, s, "Go.")
	var offered []string
	for _, d := range script.Requests()[0].Tools {
		offered = append(offered, d.Name)
	}
	if got := strings.Join(offered, " "); got != "echo spawn_agent" {
		t.Errorf("offered: %s", got)
	}
	if r := lastResults(script); !strings.Contains(r[0].Text(), "Unknown tool") {
		t.Errorf(`got %+v, want [0].Text with "Unknown tool"`, r)
	}
}

func TestSession_MiddlewareWrapsEachCallOnce(t *testing.T) {
	var order []string
	layer := func(name string) tool.Middleware {
		return func(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
			order = append(order, name)
			res, err := next(ctx)
			res.Output = tool.Text(name + "(" + tool.String(res.Output) + ")")
			return res, err
		}
	}
	script := llmtest.Play(calls("echo"), llmtest.Say("Done."))
	s := open(t, script, func(c *Config) { c.Middleware = []tool.Middleware{layer("a"), layer("b")} })
	submit(t, s, "Go.")
	if r := lastResults(script); r[0].Text() != "a(b(0))" || strings.Join(order, "") != "ab" {
		t.Errorf(`got %+v, %v, want [0].Text "a(b(0))", order "ab"`, r, order)
	}
}

func TestSession_PanicsOutsideTheToolAreErrorResults(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"middleware": func(c *Config) {
			c.Middleware = []tool.Middleware{func(context.Context, tool.Call, func(context.Context) (tool.Result, error)) (tool.Result, error) {
				panic("oops")
			}}
		},
		"policy": func(c *Config) { c.Policy = panicPolicy{} },
		"approver": func(c *Config) {
			c.Policy, c.Approve = askPolicy{}, func(context.Context, tool.Request) (tool.Approval, error) { panic("oops") }
		},
	} {
		script := llmtest.Play(calls("echo", "echo", "write"), llmtest.Say("Done."))
		s := open(t, script, change)
		if out := submit(t, s, "Go."); out.Status != StatusDone {
			t.Fatalf("%s: got %+v, want StatusDone", name, out)
		}
		for _, r := range lastResults(script) {
			if !r.IsError || !strings.Contains(r.Text(), "oops") {
				t.Errorf(`%s: got %+v, want IsError, Text with "oops"`, name, r)
			}
		}
	}
}

type panicPolicy struct{}

func (panicPolicy) Decide(context.Context, policy.Query) policy.Decision { panic("oops") }

type askPolicy struct{}

func (askPolicy) Decide(context.Context, policy.Query) policy.Decision {
	return policy.Decision{Verdict: policy.Ask, Reason: "because"}
}

func TestSession_ApprovalsAreRecordedAndRefusedWithoutAHost(t *testing.T) {
	for _, tt := range []struct {
		approve func(context.Context, tool.Request) (tool.Approval, error)
		allowed bool
		text    string
	}{
		{nil, false, "no approver is configured"},
		{func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }, true, "0"},
		{func(context.Context, tool.Request) (tool.Approval, error) {
			return tool.Approval{Message: "not today"}, nil
		}, false, "not today"},
		{func(context.Context, tool.Request) (tool.Approval, error) {
			return tool.Approval{Allow: true}, errors.New("the terminal is gone")
		}, false, "terminal is gone"},
	} {
		script := llmtest.Play(calls("write"), llmtest.Say("Done."))
		s := open(t, script, func(c *Config) { c.Policy, c.Approve = askPolicy{}, tt.approve })
		submit(t, s, "Go.")
		res := records[event.ApprovalResolved](s)
		if len(records[event.ApprovalRequested](s)) != 1 || len(res) != 1 || res[0].Allowed != tt.allowed {
			t.Errorf("%s: got %+v, want one request, one answer, Allowed %v", tt.text, res, tt.allowed)
		}
		if r := lastResults(script); r[0].IsError == tt.allowed || !strings.Contains(r[0].Text(), tt.text) {
			t.Errorf("%s: got %+v, want IsError %v and this text", tt.text, r, !tt.allowed)
		}
	}
}
