package llmtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Turn is what the scripted model does in one call.
type Turn struct {
	Parts  []llm.Part       // the answer; tool calls without an ID get one
	Finish llm.FinishReason // zero is FinishToolCalls where there are calls, else FinishStop
	Usage  llm.Usage        // zero is a plausible count
	Chunk  int              // bytes of text in one delta, about; zero is 16

	Delay time.Duration // before the answer begins
	Gap   time.Duration // between two events
	Fault Fault         // what goes wrong

	// Check, if set, looks at the request; its error is what the call fails with.
	Check func(r *llm.Request) error
}

// Say is a turn of one text.
func Say(text string) Turn { return Turn{Parts: []llm.Part{llm.Text{Text: text}}} }

// Call is a turn of one tool call with JSON arguments.
func Call(name, arguments string) Turn {
	return Turn{Parts: []llm.Part{llm.ToolCall{Name: name, Arguments: arguments}}}
}

// Fail is a turn that fails with an HTTP status.
func Fail(status int) Turn { return Turn{Fault: Fault{Status: status}} }

// Script is a scripted model. It is safe for concurrent use; the fields must not change once it
// is in use.
type Script struct {
	// Turns are played in order; a call behind the last one fails.
	Turns []Turn
	// Reply, if set, decides on the turn instead; n counts the calls from 0. It must be safe for
	// concurrent use.
	Reply func(n int, r *llm.Request) Turn
	// Poison, if set, is a text or a file's bytes that the provider cannot take: as long as a
	// request holds it, the call is refused with a 400 that names the place, and no turn is played.
	Poison string
	// ProviderName is the name as an llm.Provider; "" is "script".
	ProviderName string

	mu       sync.Mutex
	requests []*llm.Request
	refused  int // of the requests, for poison
	calls    int
}

// Play is a script of these turns.
func Play(turns ...Turn) *Script { return &Script{Turns: turns} }

// Requests are the requests that arrived so far.
func (s *Script) Requests() []*llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*llm.Request(nil), s.requests...)
}

// Name is the provider's name.
func (s *Script) Name() string {
	if s.ProviderName == "" {
		return "script"
	}
	return s.ProviderName
}

// record takes down a request and returns how many before it played a turn.
func (s *Script) record(r *llm.Request, refused bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests) - s.refused
	s.requests = append(s.requests, r)
	if refused {
		s.refused++
	}
	return n
}

// next takes down the request and returns the turn for it.
func (s *Script) next(r *llm.Request) (Turn, error) {
	n := s.record(r, false)
	var t Turn
	switch {
	case s.Reply != nil:
		t = s.Reply(n, r)
	case n < len(s.Turns):
		t = s.Turns[n]
	default:
		return t, fmt.Errorf("the script has %d turns and this is call %d", len(s.Turns), n+1)
	}
	if t.Check != nil {
		if err := t.Check(r); err != nil {
			return t, err
		}
	}
	return s.complete(t, r), nil
}

// complete fills in what the turn leaves open.
func (s *Script) complete(t Turn, r *llm.Request) Turn {
	parts := make([]llm.Part, len(t.Parts))
	calls := 0
	for i, p := range t.Parts {
		if c, ok := p.(llm.ToolCall); ok {
			calls++
			if c.ID == "" {
				s.mu.Lock()
				s.calls++
				c.ID = fmt.Sprintf("call_%04d", s.calls)
				s.mu.Unlock()
			}
			p = c
		}
		parts[i] = p
	}
	t.Parts = parts
	if t.Finish == "" {
		t.Finish = llm.FinishStop
		if calls > 0 {
			t.Finish = llm.FinishToolCalls
		}
	}
	if t.Chunk <= 0 {
		t.Chunk = 16
	}
	if t.Usage.Input == 0 && t.Usage.Output == 0 {
		t.Usage = guess(r, t.Parts)
	}
	return t
}

// guess counts tokens the rough way: four bytes are one.
func guess(r *llm.Request, answer []llm.Part) llm.Usage {
	size := func(parts []llm.Part) (n int) {
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				n += len(p.Text)
			case llm.Thinking:
				n += len(p.Text)
			case llm.ToolCall:
				n += len(p.Name) + len(p.Arguments)
			case llm.ToolResult:
				n += len(p.Text())
			default:
				n += 400
			}
		}
		return n
	}
	in := 0
	for _, m := range r.Messages {
		in += size(m.Parts)
	}
	return llm.Usage{Input: int64(in/4 + 1), Output: int64(size(answer)/4 + 1)}
}

// Stream plays the next turn in memory. Of the faults it knows those that are not about HTTP:
// Status, Stall, CutAt (any: the stream ends early) and MidStream.
func (s *Script) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		if at := s.refuses(r); at != nil {
			s.record(r, true)
			yield(nil, s.poisonError(at))
			return
		}
		t, err := s.next(r)
		if err != nil {
			e := llm.Errorf(llm.ErrInvalidRequest, s.Name(), "%w", err)
			e.UsageComplete = true
			yield(nil, e)
			return
		}
		if err := s.play(ctx, r, t, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (s *Script) play(ctx context.Context, r *llm.Request, t Turn, yield func(llm.StreamEvent, error) bool) error {
	if err := pause(ctx, t.Delay); err != nil {
		return cancelled(s.Name(), err)
	}
	if t.Fault.Status != 0 {
		return t.Fault.memoryError(s.Name())
	}
	var broken error
	a := wire.NewAssembler("script", r.Model, func(ev llm.StreamEvent) bool {
		if _, last := ev.(llm.Finish); last && t.Fault.breaks() {
			broken = t.Fault.breakStream(ctx, s.Name())
			return false
		}
		if err := pause(ctx, t.Gap); err != nil {
			broken = cancelled(s.Name(), err)
			return false
		}
		return yield(ev, nil)
	})
	a.Start("resp_script", r.Model)
	a.Usage(t.Usage)
	for _, p := range t.Parts {
		feed(a, p, t.Chunk)
	}
	a.Finish(t.Finish, string(t.Finish))
	if e, ok := errors.AsType[*llm.Error](broken); ok { // as Anthropic does: the input is counted first
		e.Usage = llm.Usage{Input: t.Usage.Input, CacheRead: t.Usage.CacheRead, CacheWrite: t.Usage.CacheWrite}
	}
	return broken
}

// feed gives a part to the assembler piece by piece.
func feed(a *wire.Assembler, p llm.Part, chunk int) {
	switch p := p.(type) {
	case llm.Text:
		deltas(a, a.BeginText(), p.Text, p.State, chunk)
	case llm.Thinking:
		if p.Redacted {
			a.Part(p)
			return
		}
		deltas(a, a.BeginThinking(), p.Text, p.State, chunk)
	case llm.ToolCall:
		deltas(a, a.BeginCall(p.ID, p.Name, p.Custom), p.Arguments, p.State, chunk)
	default:
		a.Part(p)
	}
}

func deltas(a *wire.Assembler, i int, text string, state llm.State, chunk int) {
	for _, s := range chunks(text, chunk) {
		a.Delta(i, s)
	}
	a.SetState(i, state)
	a.End(i)
}

func cancelled(name string, err error) error {
	return &llm.Error{Kind: llm.ErrCancelled, Provider: name, Message: err.Error(), Err: err}
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
