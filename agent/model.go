package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// callModel makes one model call and records it, also if it fails. It returns an error only if a hook fails or the
// session cannot be saved.
func (s *Session) callModel(ctx context.Context, a step.CallModel) error {
	if ctx.Err() != nil {
		return nil
	}
	r, tools, err := s.request(ctx, a)
	if err != nil {
		return err
	}
	call := s.startCall(r, a.Purpose, tools)
	start := time.Now()
	got := s.stream(ctx, r, call, a.Purpose)
	end := event.ModelCallEnd{
		Call:     call,
		Provider: r.Provider,
		Model:    r.Model,
		Duration: time.Since(start),

		Retried:    got.retried,
		Incomplete: got.incomplete,
		Cost:       new(float64),
	}
	s.failure = got.err
	if got.err != nil {
		failure := asEvent(got.err)
		failure.Item = s.refused(r, got.err)
		spent, complete := llm.Spent(got.err)
		end.Error = &failure
		end.Partial = got.partial
		end.Usage = spent
		end.Incomplete = end.Incomplete || !complete
	} else {
		end.Usage = got.resp.Usage
		end.Finish = got.resp.Finish.Reason
		end.Detail = got.resp.Finish.Detail
		end.Dropped = got.resp.Dropped
		s.recordAnswer(call, a.Purpose, got.resp, &end)
	}
	end.Cost = s.price(r, end.Usage.Add(end.Retried))
	s.record(end)
	if got.err != nil {
		return nil
	}
	return s.describeIfOld(ctx)
}

// recordAnswer records an answer's message, without truncated calls.
func (s *Session) recordAnswer(call int, purpose event.Purpose, resp *llm.Response, end *event.ModelCallEnd) {
	switch purpose {
	case event.PurposeSummary:
		end.Summary = step.SummaryOf(resp)
		return
	case event.PurposeCompaction:
		end.Summary, end.Signed = step.SignedOf(resp)
		return
	}
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.note(event.TextEnd{Call: call, ID: resp.ID, Message: s.state.Distinct(step.Whole(resp))})
}

// startCall records the start of a call, and whether it breaks the cache.
func (s *Session) startCall(r *llm.Request, purpose event.Purpose, tools string) int {
	shape := s.shape(r)
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	d := event.ModelCallStart{
		Call:     s.state.Called() + 1,
		Provider: r.Provider,
		Model:    r.Model,
		Effort:   r.Effort,
		Messages: len(r.Messages),

		Tools:   tools,
		Choice:  r.ToolChoice,
		Shape:   shape,
		Object:  r.Output != nil,
		Purpose: purpose,
	}
	if purpose == "" {
		if reason := s.state.Breaks(d, r.Messages, s.sent); reason != "" {
			s.note(event.CacheBroken{Reason: reason})
		}
		if s.config.TransformContext != nil || len(s.config.BeforeModel) > 0 {
			s.sent = r.Messages
		}
	}
	s.note(d)
	return d.Call
}

// request returns a request and a digest of its tools.
func (s *Session) request(ctx context.Context, a step.CallModel) (*llm.Request, string, error) {
	s.tree.mu.Lock()
	set := s.state.Effective()
	k := s.kit
	c := s.now
	r := &llm.Request{
		Provider:       set.Provider,
		Model:          set.Model,
		Effort:         set.Effort,
		ThinkingBudget: set.ThinkingBudget,

		Messages:   a.Messages[:len(a.Messages):len(a.Messages)],
		Tools:      k.definitions,
		ToolChoice: a.Choice,
		Output:     a.Output,

		MaxTokens: c.MaxOutput,
		Options:   c.Options,
		CacheKey:  strings.TrimSuffix(s.id+"/"+s.path, "/"),
		Cache:     s.cache,
		Unary:     c.Unary,

		CacheTTL: c.CacheTTL,
		Tier:     c.Tier,
		Display:  c.Display,
		Compact:  a.Compact,
	}
	if s.state.Alternative() != "" {
		r.Attempts = fallbackAttempts
	}
	if set.Provider != s.config.Provider || set.Model != s.config.Model {
		s.onlyAccepted(r)
	}
	s.tree.mu.Unlock()
	tools := k.digest
	if base, ok := llm.BaseTools(r); ok && set.InlineTools && len(base) != len(r.Tools) {
		tools = digest(base)
	}
	if t := c.TransformContext; t != nil {
		err := guarded("TransformContext", func() error { r.Messages = t(r.Messages); return nil })
		if err != nil {
			return nil, "", err
		}
	}
	for _, hook := range c.BeforeModel {
		if err := guarded("a BeforeModel hook", func() error { return hook(ctx, r) }); err != nil {
			return nil, "", err
		}
		tools = digest(r.Tools)
	}
	return r, tools, nil
}

// onlyAccepted removes settings that were chosen for another model, unless this model accepts them too.
func (s *Session) onlyAccepted(r *llm.Request) {
	m, _ := s.config.Catalogue.Like(r.Provider, r.Model)
	if !slices.Contains(m.Rules.CacheTTLs, r.CacheTTL) {
		r.CacheTTL = ""
	}
	if m.Price == nil || m.Price.Tiers[r.Tier] == 0 {
		r.Tier = ""
	}
	if m.Rules.Budget == llm.RefusedAlways {
		r.ThinkingBudget = nil
	}
}

// fallbackAttempts is how often a call is tried before another model takes over.
const fallbackAttempts = 3

// shape returns a request's shape, if the client is an llm.Shaper.
func (s *Session) shape(r *llm.Request) (shape string) {
	if c, ok := s.config.Client.(llm.Shaper); ok {
		_ = guarded("the provider", func() error { shape = c.Shape(r); return nil })
	}
	return shape
}

// digest returns a short hash over the tools.
func digest(tools []llm.ToolDef) string {
	b, err := json.Marshal(tools)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// callResult is the result of a request.
type callResult struct {
	resp       *llm.Response
	partial    string // text received before a failure
	retried    llm.Usage
	incomplete bool // failed attempts may have used more
	err        error
}

// maxPartial limits the recorded text of a failed answer, approximately, in bytes.
const maxPartial = 1 << 20

// stream makes the call and records its progress.
func (s *Session) stream(ctx context.Context, r *llm.Request, call int, purpose event.Purpose) (got callResult) {
	var text strings.Builder
	show := progress{s, call, purpose, llm.ToolCallStart{}}
	got.err = guarded("the provider", func() error {
		for ev, err := range s.config.Client.Stream(ctx, r) {
			if err != nil {
				return err
			}
			switch ev := ev.(type) {
			case llm.Finish:
				got.resp = ev.Response
				return nil
			case llm.TextDelta:
				if text.Len() < maxPartial {
					text.WriteString(ev.Text)
				}
			case llm.Retry:
				u, complete := llm.Spent(ev.Err)
				got.retried = got.retried.Add(u)
				got.incomplete = got.incomplete || !complete
				if ev.Discard {
					text.Reset()
				}
			}
			show.show(ev)
		}
		return &llm.Error{Kind: llm.ErrIncomplete, Provider: r.Provider, Message: "the stream ended without a finish"}
	})
	got.partial = text.String()
	return got
}

// progress records an answer's progress.
type progress struct {
	*Session
	call    int
	purpose event.Purpose
	writing llm.ToolCallStart // tool call being written
}

func (s *progress) show(ev llm.StreamEvent) {
	if _, retry := ev.(llm.Retry); s.purpose != "" && !retry {
		return
	}
	switch ev := ev.(type) {
	case llm.TextStart:
		s.record(event.TextStart{Call: s.call})
	case llm.TextDelta:
		s.record(event.TextDelta{Call: s.call, Text: ev.Text})
	case llm.ThinkingStart:
		s.record(event.ReasoningStart{Call: s.call})
	case llm.ThinkingDelta:
		s.record(event.ReasoningDelta{Call: s.call, Text: ev.Text})
	case llm.ThinkingProgress:
		s.record(event.ReasoningDelta{Call: s.call, Tokens: ev.Tokens})
	case llm.ThinkingEnd:
		s.record(event.ReasoningEnd{Call: s.call, Text: ev.Thinking.Text})
	case llm.ToolCallStart:
		s.writing = ev
	case llm.ToolCallDelta:
		s.record(event.ArgumentsDelta{Call: s.call, ID: s.writing.ID, Name: s.writing.Name, Text: ev.Arguments})
	case llm.Retry:
		failure := asEvent(ev.Err)
		failure.Retryable = true
		s.record(event.ModelRetry{
			Call:     s.call,
			Attempt:  ev.Attempt,
			Max:      ev.Max,
			Delay:    ev.Delay,
			Discard:  ev.Discard,
			Fallback: s.alternative(),
			Error:    failure,
		})
	}
}

// alternative returns the model that takes over if a call fails, or "".
func (s *Session) alternative() string {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.state.Alternative()
}

// refused returns the conversation item that a provider refused, or nil if a hook added it.
func (s *Session) refused(r *llm.Request, err error) *llm.Item {
	var e *llm.Error
	if !errors.As(err, &e) || e.Item == nil {
		return nil
	}
	messages, at := s.Messages(), e.Item.Message
	if at < 0 || at >= min(len(r.Messages), len(messages)) || !step.Same(r.Messages[at], messages[at]) {
		return nil
	}
	return e.Item
}

// price returns a call's cost, or nil if that is unknown.
func (s *Session) price(r *llm.Request, u llm.Usage) *float64 {
	m, _ := s.config.Catalogue.Lookup(r.Provider, r.Model)
	dollars, known := m.Price.At(time.Now()).Cost(u)
	if !known {
		return nil
	}
	return &dollars
}
