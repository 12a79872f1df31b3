package agent

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// trap is a log that springs when the n-th record is appended, counting transient records.
type trap struct {
	*event.Journal
	at     int64
	n      atomic.Int64
	spring func()
}

func (l *trap) Append(r event.Record) (event.Record, bool) {
	r, ok := l.Journal.Append(r)
	if l.n.Add(1) == l.at {
		l.spring()
	}
	return r, ok
}

// rig is a session in which faults can be injected: six rounds with parallel calls, calls with side effects, a process,
// and a subagent that does the same.
type rig struct {
	*Session
	log        *trap
	failModel  atomic.Bool
	panicTool  atomic.Bool
	mu         sync.Mutex
	processes  []env.Process
	terminated bool
}

func newRig(t *testing.T, e env.Environment, at int, spring func(*rig)) *rig {
	t.Helper()
	r := &rig{}
	r.log = &trap{Journal: event.NewJournal(&event.Log{}, nil, 0), at: int64(at), spring: func() { spring(r) }}
	script := play(map[string][]llmtest.Turn{
		"main": {
			calls("echo", "echo", "echo"), calls("write", "run", "echo", "echo"), spawn(`{"task":"child"}`), calls("echo", "write"),
			{Parts: append(wait("1").Parts, calls("echo", "nonsense").Parts...)}, calls("write"), llmtest.Say("All done here."),
		},
		"child": {calls("echo", "echo"), calls("run"), llmtest.Say("The child is done.")},
	})
	flow := script.Reply
	script.Reply = func(n int, req *llm.Request) llmtest.Turn {
		if req.Messages[len(req.Messages)-1].Text() == "recover" {
			return llmtest.Say("Recovered.")
		}
		return flow(n, req)
	}
	c := Config{ID: "rig", Client: r.checked(t, faulty{script, &r.failModel}), Model: "m", Env: e, System: "Be good.", Policy: policy.AllowAll{}, Tools: &tool.Registry{}}
	c.Middleware = []tool.Middleware{func(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
		if r.panicTool.Swap(false) {
			panic("a tool went wrong")
		}
		return next(ctx)
	}}
	with(fake("echo", true, streamed), fake("write", false, echo), acting("run", r.run))(&c)
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	s, err := newSession(c, "", nil, r.log, newTree())
	if err != nil {
		t.Fatal(err)
	}
	r.Session = s
	return r
}

// checked checks the first request after the fault; earlier requests are always the same, and what later requests add
// is unrelated to it.
func (r *rig) checked(t *testing.T, client Streamer) Streamer {
	var after atomic.Int64
	return streamFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		if r.log.n.Load() >= r.log.at && after.Add(1) == 1 {
			client := strict{t, client}
			return client.Stream(ctx, req)
		}
		return client.Stream(ctx, req)
	})
}

func streamed(_ context.Context, c *tool.Call, text string) (tool.Result, error) {
	c.Output([]byte(text))
	return tool.Success("%s", text), nil
}

// run starts a process.
func (r *rig) run(ctx context.Context, c *tool.Call, _ string) (tool.Result, error) {
	p, err := c.Env.Start(ctx, env.Command{Args: []string{"echo", "hello"}})
	if err != nil {
		return tool.Result{}, err
	}
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	exit, err := p.Wait(context.WithoutCancel(ctx))
	return tool.Success("exit code %d", exit.Code), err
}

// faulty is a model that fails on demand, at its next event.
type faulty struct {
	Streamer
	fail *atomic.Bool
}

func (f faulty) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		for ev, err := range f.Streamer.Stream(ctx, r) {
			if f.fail.Swap(false) {
				yield(nil, llm.Errorf(llm.ErrServer, "script", "the server is on fire"))
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

var faults = map[string]func(r *rig, cancel func()){
	"interrupt":      func(_ *rig, cancel func()) { cancel() },
	"close":          func(r *rig, _ func()) { r.terminated = true; go r.Close() },
	"provider fails": func(r *rig, _ func()) { r.failModel.Store(true) },
	"tool panics":    func(r *rig, _ func()) { r.panicTool.Store(true) },
}

func TestFault_AtEveryEventBoundaryTheSessionStaysLegalAndUsable(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	clean := newRig(t, e, -1, nil)
	if out := submit(t, clean.Session, "main"); out.Status != StatusDone || out.Rounds != 6 {
		t.Fatalf("without a fault: %+v", out)
	}
	points := int(clean.log.n.Load())
	clean.finish(t)
	runs, wanted, chosen := 0, 0, thorough.OneIn(3)
	for _, name := range sortedNames(faults) {
		fault := faults[name]
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			for at := 2; at <= points && !t.Failed(); at++ { // at the first record there is no session yet
				if !chosen(at) {
					continue
				}
				runWithFault(t, e, at, fault)
				runs++
			}
		})
	}
	t.Logf("%d runs: %d points with %d faults each", runs, points-1, len(faults))
	for at := 2; at <= points; at++ {
		if chosen(at) {
			wanted += 4
		}
	}
	if !t.Failed() && runs != wanted {
		t.Errorf("%d runs, want %d", runs, wanted)
	}
}

func runWithFault(t *testing.T, e env.Environment, at int, fault func(*rig, func())) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := newRig(t, e, at, func(r *rig) { fault(r, cancel) })
	out, err := r.Submit(ctx, text("main"))
	if n := r.log.n.Load(); n < int64(at) {
		t.Errorf("at %d: there was no fault, because there were only %d records", at, n)
	}
	switch out.Status {
	case StatusDone, StatusInterrupted, StatusFailed:
	default:
		if !r.terminated || err != ErrClosed {
			t.Errorf("at %d: %+v, %v", at, out, err)
		}
	}
	if !r.terminated {
		if st := r.State(); st != Idle {
			t.Errorf("at %d: state %s", at, st)
		}
		r.failModel.Store(false)
		r.panicTool.Store(false)
		if out, err := r.Submit(t.Context(), text("recover")); err != nil || out.Text != "Recovered." {
			t.Errorf("at %d: the next input gives %+v, %v", at, out, err)
		}
	}
	r.finish(t)
	if t.Failed() {
		t.Errorf("at %d the conversation is\n%s", at, sketch(r.Messages()))
	}
}

// finish closes the session and checks its records.
func (r *rig) finish(t *testing.T) {
	t.Helper()
	if err := r.Close(); err != nil || r.State() != Closed {
		t.Errorf("Close: %v, state %s", err, r.State())
	}
	for _, p := range r.processes {
		select {
		case <-p.Done():
		default:
			t.Errorf("process %d is left", p.PID())
		}
		_ = p.Release()
	}
	checkHistory(t, r.Session)
	all := r.log.Records(0)
	for _, agent := range []string{"", "1"} {
		checkBrackets(t.Errorf, all, agent, false)
		if m := step.Messages(all, agent); len(m) > 1 {
			if err := valid(&llm.Request{Messages: append(m, llm.UserText("next"))}); err != nil {
				t.Errorf("the history of agent %q: %v\n%s", agent, err, sketch(m))
			}
		}
	}
	if last := all[len(all)-1]; last.Kind() != event.KindSessionEnd || last.Agent != "" {
		t.Errorf("the last record is %s of %q", last.Kind(), last.Agent)
	}
}

// checkBrackets checks that everything that begins in an agent's records also ends: model calls, tool calls, the work
// on an input, subagent tasks, the session. A question to the user may stay open.
func checkBrackets(errorf func(string, ...any), all []event.Record, agent string, asked bool) {
	open := map[string]int{}
	for _, r := range all {
		if r.Agent != agent {
			continue
		}
		name, step := bracket(r.Data)
		if name == "" {
			continue
		}
		if open[name] += step; open[name] < 0 || open[name] > 1 {
			errorf("agent %q: %s begins or ends twice", agent, name)
		}
	}
	for name, n := range open {
		if n != 0 && !(asked && strings.HasPrefix(name, "tool ")) {
			errorf("agent %q: there is no end of %s", agent, name)
		}
	}
}

// bracket returns what a record begins (1) or ends (-1).
func bracket(d event.Data) (name string, step int) {
	switch d := d.(type) {
	case event.SessionStart:
		return "session", 1
	case event.SessionEnd:
		return "session", -1
	case event.UserInput:
		return "input", 1
	case event.ProcessingEnd:
		return "input", -1
	case event.ModelCallStart:
		return fmt.Sprint("model ", d.Call), 1
	case event.ModelCallEnd:
		return fmt.Sprint("model ", d.Call), -1
	case event.ToolCallStart:
		return "tool " + d.ID, 1
	case event.ToolCallEnd:
		return "tool " + d.ID, -1
	case event.SubagentStart:
		return "agent " + d.ID, 1
	case event.SubagentEnd:
		return "agent " + d.ID, -1
	}
	return "", 0
}

type badShape struct{ Streamer }

func (badShape) Shape(*llm.Request) string { panic("no shape") }

func TestFault_PanicInShapeIsNotTheHosts(t *testing.T) {
	s := open(t, nil, func(c *Config) { c.Client = badShape{llmtest.Play(llmtest.Say("Done."))} })
	if out := submit(t, s, "go"); out.Text != "Done." {
		t.Errorf(`got %+v, want Text "Done."`, out)
	}
}
