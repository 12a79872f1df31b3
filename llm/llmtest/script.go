// Package llmtest is a test kit for programs that call language models. It needs no model.
//
// A [Script] defines the model's behaviour, turn by turn. It is an llm.Provider itself, for tests in memory. A [Server]
// plays the same script over HTTP in the OpenAI (Responses and Chat Completions), Anthropic and Gemini protocols. It
// validates every request as strictly as the real APIs, and can simulate network and provider failures ([Fault]).
// [Recorder] and [Replayer] record HTTP traffic in cassettes and replay it.
package llmtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
)

// Turn describes the model's behavior in one call.
type Turn struct {
	Parts  []llm.Part       // the answer; a tool call without an ID gets one
	Finish llm.FinishReason // default: FinishToolCalls if there are calls, else FinishStop
	Detail string           // about the finish, such as a refusal's category
	Usage  llm.Usage        // default: an estimate
	Chunk  int              // approximate bytes of text per delta; default 16

	Delay time.Duration // before the answer
	Gap   time.Duration // between events
	Fault Fault

	// Check, if set, inspects the request. The call fails with its error.
	Check func(r *llm.Request) error
}

// Say returns a turn with one text.
func Say(text string) Turn { return Turn{Parts: []llm.Part{llm.Text{Text: text}}} }

// Call returns a turn with one tool call. The arguments are JSON.
func Call(name, arguments string) Turn {
	return Turn{Parts: []llm.Part{llm.ToolCall{Name: name, Arguments: arguments}}}
}

// Fail returns a turn that fails with an HTTP status.
func Fail(status int) Turn { return Turn{Fault: Fault{Status: status}} }

// Script is a scripted model. It is safe for concurrent use. Its fields must not change while it is in use.
type Script struct {
	// Turns are played in order. Calls after the last one fail.
	Turns []Turn
	// Reply, if set, returns the turn for call n, counted from 0. It must be safe for concurrent use.
	Reply func(n int, r *llm.Request) Turn
	// Poison, if set, is a text or a file's content that the model refuses. A request that contains it fails with
	// an HTTP 400 error that names the place, and plays no turn.
	Poison string

	mu       sync.Mutex
	requests []*llm.Request
	refused  int // requests with poison
	calls    int
}

// Play returns a script with these turns.
func Play(turns ...Turn) *Script { return &Script{Turns: turns} }

// Requests returns the requests received so far.
func (s *Script) Requests() []*llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Name returns "script".
func (s *Script) Name() string { return "script" }

// record stores a request and returns the number of turns played before it.
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

// next records the request and returns the turn for it.
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

// complete sets a turn's defaults.
func (s *Script) complete(t Turn, r *llm.Request) Turn {
	finish := llm.FinishStop
	t.Parts = slices.Clone(t.Parts)
	for i, p := range t.Parts {
		c, ok := p.(llm.ToolCall)
		if !ok {
			continue
		}
		finish = llm.FinishToolCalls
		if c.ID == "" {
			s.mu.Lock()
			s.calls++
			c.ID = fmt.Sprintf("call_%04d", s.calls)
			s.mu.Unlock()
			t.Parts[i] = c
		}
	}
	if t.Finish == "" && r.Compact != "" {
		t.Parts, finish = []llm.Part{compaction(t.Parts)}, llm.FinishCompaction
	}
	if t.Finish == "" {
		t.Finish = finish
	}
	if t.Chunk <= 0 {
		t.Chunk = 16
	}
	if t.Usage.Input == 0 && t.Usage.Output == 0 {
		t.Usage = estimate(r, t.Parts)
	}
	return t
}

// compaction returns a conversation summary as a server sends it, with the parts' text. Without text it is a failed
// compaction.
func compaction(parts []llm.Part) llm.Part {
	var content any
	if text := (llm.Message{Parts: parts}).Text(); text != "" {
		content = text
	}
	data := object("type", "compaction", "content", content, "encrypted_content", nil)
	text, _ := content.(string)
	return llm.Text{Text: text, State: llm.State{Dialect: anthropic.Name, Data: data}}
}

// estimate counts a token for every four bytes.
func estimate(r *llm.Request, answer []llm.Part) llm.Usage {
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

// Stream plays the next turn in memory. Connection faults become the errors that an adapter reports for them;
// SlowFirstByte, Duplicate and Pings have no effect.
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
		return t.Fault.statusError(s.Name())
	}
	var broken error
	a := wire.NewAssembler("script", r.Model, func(ev llm.StreamEvent) bool {
		if _, last := ev.(llm.Finish); last && t.Fault.breaks() {
			broken = t.Fault.streamError(ctx, s.Name())
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
	a.Detail(t.Detail)
	a.Finish(t.Finish, string(t.Finish))
	if e, ok := errors.AsType[*llm.Error](broken); ok { // like Anthropic, which reports input tokens first
		e.Usage = llm.Usage{Input: t.Usage.Input, CacheRead: t.Usage.CacheRead, CacheWrite: t.Usage.CacheWrite}
	}
	return broken
}

// feed passes a part to the assembler in pieces.
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
