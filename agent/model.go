package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// callModel makes one call of the model and takes its answer in.
func (s *Session) callModel(ctx context.Context) error {
	r, err := s.request(ctx)
	if err != nil {
		return err
	}
	if err := s.tree.admit(s, r); err != nil {
		return err
	}
	s.calls++
	s.record(event.ModelCallStart{Call: s.calls, Provider: r.Provider, Model: r.Model, Effort: r.Effort, Messages: len(r.Messages)})
	start := time.Now()
	resp, err := s.stream(ctx, r)
	end := event.ModelCallEnd{Call: s.calls, Model: r.Model, Duration: time.Since(start)}
	if err != nil {
		end.Error = &event.Error{Class: string(llm.KindOf(err)), Message: err.Error()}
		s.record(end)
		return err
	}
	s.record(event.TextEnd{Call: s.calls, ID: resp.ID, Message: resp.Message})
	end.Usage, end.Finish = resp.Usage, string(resp.Finish.Reason)
	end.Cost = s.account(r, resp)
	s.record(end)
	s.turns.Add(1)
	if nudge := s.m.answered(resp); nudge != "" {
		s.inject(llm.UserText(nudge), string(resp.Finish.Reason))
	}
	s.checkContext(resp.Usage)
	return nil
}

// request builds the request from the conversation and the settings of the moment.
func (s *Session) request(ctx context.Context) (*llm.Request, error) {
	s.mu.Lock()
	set := s.settings
	s.mu.Unlock()
	r := &llm.Request{
		Provider: set.provider, Model: set.model, Effort: set.effort, ThinkingBudget: set.budget,
		Messages: s.m.messages, Tools: s.tools.Definitions(), MaxTokens: s.config.MaxOutput,
		Options: s.config.Options, CacheKey: s.id, Cache: s.cache,
	}
	if t := s.config.TransformContext; t != nil {
		r.Messages = t(r.Messages)
	}
	for _, hook := range s.config.BeforeModel {
		if err := guarded("a BeforeModel hook", func() error { return hook(ctx, r) }); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// stream makes the call and records what it shows on the way.
func (s *Session) stream(ctx context.Context, r *llm.Request) (resp *llm.Response, err error) {
	err = guarded("the provider", func() error {
		for ev, err := range s.config.Client.Stream(ctx, r) {
			if err != nil {
				return err
			}
			if f, ok := ev.(llm.Finish); ok {
				resp = f.Response
				return nil
			}
			s.show(ev)
		}
		return &llm.Error{Kind: llm.ErrIncomplete, Message: "the stream ended without a finish"}
	})
	return resp, err
}

// show records a step of an answer.
func (s *Session) show(ev llm.StreamEvent) {
	switch ev := ev.(type) {
	case llm.TextStart:
		s.record(event.TextStart{Call: s.calls})
	case llm.TextDelta:
		s.record(event.TextDelta{Call: s.calls, Text: ev.Text})
	case llm.ThinkingStart:
		s.record(event.ReasoningStart{Call: s.calls})
	case llm.ThinkingDelta:
		s.record(event.ReasoningDelta{Call: s.calls, Text: ev.Text})
	case llm.ThinkingEnd:
		s.record(event.ReasoningEnd{Call: s.calls, Text: ev.Thinking.Text})
	case llm.Retry:
		s.record(event.ModelRetry{Call: s.calls, Attempt: ev.Attempt, Delay: ev.Delay, Discard: ev.Discard,
			Error: event.Error{Class: string(llm.KindOf(ev.Err)), Message: ev.Err.Error(), Retryable: true}})
	}
}

// account adds up what a call used and what that costs; nil if that is not known.
func (s *Session) account(r *llm.Request, resp *llm.Response) *float64 {
	s.used = s.used.Add(resp.Usage)
	m, _ := s.config.Catalogue.Lookup(catalogueName(r.Provider), r.Model)
	dollars, known := m.Price.Cost(resp.Usage)
	s.cost = s.cost.add(dollars, known)
	s.tree.spend(resp.Usage, dollars)
	if !known {
		return nil
	}
	return &dollars
}

// catalogueName is the provider as the catalogue knows it; other names may serve any model.
func catalogueName(provider string) string {
	switch provider {
	case "openai", "anthropic", "gemini":
		return provider
	}
	return ""
}

// checkContext warns once when the conversation fills most of the model's window.
func (s *Session) checkContext(u llm.Usage) {
	window := s.config.ContextWindow
	if window == 0 {
		m, _ := s.config.Catalogue.Lookup(catalogueName(s.settings.provider), s.settings.model)
		window = m.ContextWindow
	}
	if window == 0 {
		return
	}
	share := float64(u.Input+u.Output) / float64(window)
	if share < 0.8 {
		s.warned = false
		return
	}
	if !s.warned {
		s.warned = true
		s.record(event.Warning{Message: fmt.Sprintf("Context usage at ~%.0f%% of context window", share*100)})
	}
}

// guarded turns a panic of code that is not ours into an error.
func guarded(who string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", who, v, debug.Stack())
		}
	}()
	return f()
}
