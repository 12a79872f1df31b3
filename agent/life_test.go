package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// asWritten is a store that returns records as a file would.
type asWritten struct{ *event.Memory }

func (s asWritten) Load(ctx context.Context, id string, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range s.Memory.Load(ctx, id, after) {
			if err == nil {
				var b []byte
				if b, err = event.AppendRecord(nil, r); err == nil {
					r, err = event.DecodeRecord(b)
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// lives is one session over several processes: each is interrupted somewhere, and the next continues with what was
// saved until then.
type lives struct {
	*rapid.T
	env    env.Environment
	store  asWritten
	desk   *desk
	turns  []llmtest.Turn
	said   atomic.Int64 // host messages
	asked  atomic.Int64 // approvals
	config Config
	*Session
	reader sync.WaitGroup

	mu       sync.Mutex
	reply    int
	ids      int
	ran      map[string]int            // tool calls, by id
	requests map[string][]*llm.Request // conversation requests, by agent
	faults   []string
}

func newLives(t *rapid.T, e env.Environment) *lives {
	l := &lives{
		T: t, env: e, store: asWritten{&event.Memory{}}, desk: &desk{files: map[string]string{}},
		turns: rapid.SliceOfN(rapid.Custom(drawLifeTurn), 4, 30).Draw(t, "turns"),
		ran:   map[string]int{}, requests: map[string][]*llm.Request{},
	}
	l.config = l.draw("life-0")
	s, err := New(l.config)
	if err != nil {
		t.Fatal(err)
	}
	l.follow(s)
	return l
}

// draw returns the configuration for the next process.
func (l *lives) draw(id string) Config {
	c := Config{
		ID: id, Client: l, Env: l.env, Store: l.store, Tools: &tool.Registry{}, Checkpoints: l.desk,
		Approve: l.approve, Limits: Limits{ToolRounds: 4, TreeTurns: 200}, LoopWindow: 4, MaxOutput: 1000,
		ContextWindow: rapid.SampledFrom([]int64{0, 3000, 100_000}).Draw(l.T, "window"),
		Compaction:    Compaction{At: 0.7, NoModel: rapid.Bool().Draw(l.T, "no model")},
		Fallback:      []Model{{Name: "spare"}},
		Subagents:     Subagents{MaxDepth: 2, MaxTurns: 5},
		Model:         rapid.SampledFrom([]string{"m", "m", "other"}).Draw(l.T, "model"),
		Provider:      rapid.SampledFrom([]string{"", "", "p"}).Draw(l.T, "provider"),
		Effort:        rapid.SampledFrom([]string{"", "high"}).Draw(l.T, "effort"),
		System:        rapid.SampledFrom([]string{"", "Be good.", "Be better."}).Draw(l.T, "system"),
	}
	if rapid.Bool().Draw(l.T, "hooks") {
		say := func(in hook.Input) hook.Output { return hook.Output{Context: "said at " + in.Tool} }
		stop := func(in hook.Input) hook.Output {
			if *in.StopActive {
				return hook.Output{}
			}
			return hook.Output{Decision: hook.Deny, Reason: "not yet"}
		}
		c.Hooks = hooks(on(hook.SessionStart, say), on(hook.UserPromptSubmit, say), on(hook.PostCompact, say), on(hook.PreToolUse, say), on(hook.PostToolUse, say),
			on(hook.Stop, stop), on(hook.SubagentStop, stop))
	}
	if rapid.IntRange(0, 2).Draw(l.T, "budget") == 0 {
		c.ThinkingBudget, c.Timeouts = new(1000), tool.Timeouts{Default: time.Second}
	}
	with(writer(l.run))(&c)
	if rapid.IntRange(0, 3).Draw(l.T, "fewer tools") > 0 {
		with(AskUserTool(), fake("echo", true, l.run), fake("large", true, l.large))(&c)
	}
	return c
}

func (l *lives) run(_ context.Context, c *tool.Call, text string) (tool.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ran[c.ID]++
	return tool.Success("%s", text), nil
}

func (l *lives) large(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
	return l.run(ctx, c, strings.Repeat("A long line of output.\n", 4000)+text)
}

func (l *lives) approve(context.Context, tool.Request) (tool.Approval, error) {
	return tool.Approval{Allow: l.asked.Add(1)%4 != 0, Message: "no"}, nil
}

// Stream is the model: it checks and records the request and plays the next turn.
func (l *lives) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := valid(r); err != nil {
		l.faults = append(l.faults, fmt.Sprintf("an invalid request was sent: %v\n%s", err, sketch(r.Messages)))
	}
	turn := l.turns[l.reply%len(l.turns)]
	l.reply++
	last := r.Messages[len(r.Messages)-1]
	switch {
	case strings.HasPrefix(last.Text(), "This conversation is about to be compacted."):
		if turn.Fault == (llmtest.Fault{}) {
			turn = llmtest.Say("The work goes on.")
		}
	default:
		_, agent, _ := strings.Cut(r.CacheKey, "/")
		l.requests[agent] = append(l.requests[agent], r)
		if r.Output != nil && len(turn.Parts)%2 == 0 {
			turn.Parts = []llm.Part{text(`{"pass":true,"notes":[]}`)}
		} else if r.Output != nil && len(turn.Parts) == 3 {
			turn.Parts = []llm.Part{llm.ToolCall{Name: "answer", Arguments: `{"pass":true}`}}
		}
	}
	turn.Parts = slices.Clone(turn.Parts)
	for i, p := range turn.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			l.ids++
			c.ID = fmt.Sprintf("call_%d", l.ids)
			turn.Parts[i] = c
		}
	}
	return llmtest.Play(turn).Stream(ctx, r)
}

func drawLifeTurn(t *rapid.T) (turn llmtest.Turn) {
	kind := rapid.SampledFrom([]string{"done", "calls", "calls", "calls", "cut", "fault"}).Draw(t, "kind")
	switch kind {
	case "done", "cut":
		turn.Parts = []llm.Part{text(rapid.SampledFrom([]string{"Well.", "Shall I?", strings.Repeat("Many words. ", 60)}).Draw(t, "text"))}
	case "fault":
		turn.Fault = rapid.SampledFrom([]llmtest.Fault{{Status: 500}, {Status: 413}, {Status: 400}, {CutAt: 1}}).Draw(t, "fault")
	}
	if kind == "cut" {
		turn.Finish = rapid.SampledFrom([]llm.FinishReason{llm.FinishLength, llm.FinishPause, llm.FinishContentFilter, llm.FinishError}).Draw(t, "finish")
	}
	if kind != "calls" && kind != "cut" {
		return turn
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"echo", "echo", "write", "write", "large", AskUser, "spawn_agent", "wait", "send_input", "nonsense"}).Draw(t, "name")
		args := map[string]string{
			AskUser: `{"question":"Which?"}`, "spawn_agent": `{"task":"child"}`, "wait": `{"agent_id":"1"}`, "send_input": `{"agent_id":"1","message":"more"}`,
		}[name]
		if args == "" {
			args = rapid.SampledFrom([]string{`{"text":"x"}`, `{"text":"y"}`, `{}`}).Draw(t, "args")
		}
		turn.Parts = append(turn.Parts, llm.ToolCall{Name: name, Arguments: args})
	}
	return turn
}

// follow makes a session the current one, and adds a reader.
func (l *lives) follow(s *Session) {
	l.Session = s
	l.reader.Go(func() {
		last := event.Seq(0)
		for r, err := range s.Events(context.Background(), 0) {
			switch {
			case err != nil:
				l.fault("the events end with %v", err)
			case !r.Durable():
			case r.Seq <= last:
				l.fault("record %d comes after %d", r.Seq, last)
			default:
				last = r.Seq
				if m, err := l.store.Meta(context.Background(), s.id); err != nil || m.Last < r.Seq {
					l.fault("record %d is seen and not in the store (%v)", r.Seq, err)
				}
			}
		}
	})
}

func (l *lives) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// act performs a host action.
func (l *lives) act(what string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	message := text(fmt.Sprintf("%s %d", what, l.said.Add(1)))
	var err error
	switch what {
	case "submit":
		_, err = l.Submit(ctx, message)
	case "interrupted":
		ctx, stop := context.WithCancel(ctx)
		after := l.Last() + event.Seq(rapid.IntRange(1, 12).Draw(l.T, "records"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range l.Events(ctx, after) {
				break
			}
			stop()
		}()
		_, err = l.Submit(ctx, message)
		stop()
		<-done
	case "busy":
		var work sync.WaitGroup
		work.Go(func() { _, err = l.Submit(ctx, message) })
		for range 10 {
			l.disturb()
		}
		work.Wait()
	case "object":
		_, _, err = SubmitObject[verdict](ctx, l.Session, message)
	case "continue":
		_, err = l.Continue(ctx)
	case "steer":
		err = l.Steer(message)
	case "follow up":
		err = l.FollowUp(message)
	case "compact":
		_, err = l.Compact(ctx)
	case "undo":
		_, err = l.Undo(ctx, Parts{Chat: rapid.Bool().Draw(l.T, "chat"), Files: true})
	case "redo":
		_, err = l.Redo(ctx)
	case "model":
		l.SetModel("", rapid.SampledFrom([]string{"m", "other"}).Draw(l.T, "to"))
	case "effort":
		l.SetEffort(rapid.SampledFrom([]string{"", "low"}).Draw(l.T, "to"))
	case "budget":
		l.SetThinkingBudget(rapid.IntRange(1, 2).Draw(l.T, "to"))
	case "crash":
		l.crash(ctx)
	case "close":
		l.end()
		l.resume(ctx, l.id)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) {
		l.Fatalf("%s: %v", what, err)
	}
	if l.State() == Closed {
		l.end()
		l.resume(ctx, l.id)
	}
}

// disturb performs host actions while the session works.
func (l *lives) disturb() {
	n := l.said.Add(1)
	switch n % 5 {
	case 0:
		_ = l.Steer(text(fmt.Sprint("busy ", n)))
	case 1:
		_ = l.FollowUp(text(fmt.Sprint("busy ", n)))
	case 2:
		l.SetModel("", []string{"m", "other"}[n%2])
	case 3:
		l.SetEffort([]string{"low", ""}[n%2])
	}
	l.Pending()
	l.Question()
	l.Messages()
	l.Total()
	runtime.Gosched()
}

func (l *lives) end() {
	if err := l.Close(); err != nil {
		l.Fatalf("closing: %v", err)
	}
	l.reader.Wait()
}

// crash interrupts the session at any record that this process has saved.
func (l *lives) crash(ctx context.Context) {
	quieten(l.Session)
	l.end()
	records := l.saved()
	at := event.Seq(rapid.IntRange(1, len(records)).Draw(l.T, "cut off at"))
	id := fmt.Sprintf("life-%d", l.said.Add(1))
	if _, err := event.Fork(ctx, l.store, l.id, at, event.Meta{ID: id}); err != nil {
		l.Fatal(err)
	}
	l.forget(records[:at])
	l.resume(ctx, id)
}

// forget undoes everything that happened after the end of the log.
func (l *lives) forget(saved []event.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.ran)
	calls := map[string]int{}
	for _, r := range saved {
		switch d := r.Data.(type) {
		case event.ToolCallStart:
			l.ran[d.ID] = 1 // it may have run
		case event.ApprovalRequested:
			l.ran[d.ID] = 0
		case event.ApprovalResolved:
			l.ran[d.ID] = 1
		case event.ModelCallStart:
			if d.Purpose == "" {
				calls[r.Agent]++
			}
		}
	}
	for agent, requests := range l.requests {
		l.requests[agent] = requests[:calls[agent]]
	}
}

func (l *lives) saved() (records []event.Record) {
	for r, err := range event.Read(context.Background(), l.store, l.id, 0) {
		if err != nil {
			l.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

func (l *lives) resume(ctx context.Context, id string) {
	c := l.draw(id)
	if rapid.Bool().Draw(l.T, "as it was") {
		c.Model, c.Provider = "", ""
	}
	s, err := Resume(ctx, c)
	if err != nil {
		l.Fatal(err)
	}
	l.config = c
	l.follow(s)
}

var hostActions = []string{
	"submit", "submit", "busy", "busy", "interrupted", "object", "continue", "steer", "follow up", "compact", "undo", "redo",
	"model", "effort", "budget", "crash", "crash", "crash", "close",
}

func TestLife_AnyCourseCutOffAnywhereIsAsIfItHadNotBeen(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	most, _ := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	lived := 0
	rapid.Check(t, func(t *rapid.T) {
		if lived++; lived > most/thorough.Of(10, 40) { // one of these lives is as long as many usual checks
			return
		}
		l := newLives(t, e)
		defer func() { l.Close(); l.reader.Wait() }()
		for range rapid.IntRange(1, 14).Draw(t, "actions") {
			what := rapid.SampledFrom(hostActions).Draw(t, "action")
			l.act(what)
			l.check(what)
		}
		quiet := 0          // continuations without an error
		for i := 0; ; i++ { // it ends eventually
			if l.State() == AwaitingInput {
				l.act("submit")
			}
			_, err := l.Continue(context.Background())
			if errors.Is(err, ErrNothingToContinue) {
				break
			}
			if l.State() == Closed {
				l.end()
				l.resume(context.Background(), l.id)
			}
			if err == nil {
				quiet++
			}
			if i > 60 && quiet > 60 {
				t.Fatal("the session never finishes")
			} else if i > 60 { // the model never does
				break
			}
		}
		l.check("the end")
	})
}
