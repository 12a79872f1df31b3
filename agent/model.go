package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// callModel makes one call of the model and takes its answer in.
func (s *Session) callModel(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.compactIfFull(ctx)
	s.checkContext()
	s.endPause()
	resp, err := s.answer(ctx, func(*llm.Request) {})
	if err != nil {
		return err
	}
	if nudge := s.m.answered(resp.Message, resp.Finish.Reason, resp.Usage); nudge != "" {
		s.inject(llm.UserText(nudge), string(resp.Finish.Reason))
	}
	s.checkContext()
	return s.describeIfOld(ctx)
}

// answer calls the model until there is an answer, or nothing more that can be done about a failure.
// What the request asks for beside the conversation is up to form.
func (s *Session) answer(ctx context.Context, form func(*llm.Request)) (*llm.Response, error) {
	var tried attempts
	for {
		r, err := s.request(ctx, s.m.messages)
		if err != nil {
			return nil, err
		}
		form(r)
		resp, err := s.invoke(ctx, r, forConversation)
		if err == nil {
			s.answerer = r.Model
			return resp, nil
		}
		if ctx.Err() != nil || !s.mend(ctx, r, err, &tried) {
			return nil, err
		}
	}
}

// endPause makes it the user's turn to have spoken, if the model paused and another one goes on: only
// the model that paused takes its own unfinished turn back.
func (s *Session) endPause() {
	last := s.m.messages[len(s.m.messages)-1]
	if last.Role == llm.RoleAssistant && s.effective().model != s.answerer {
		s.inject(llm.UserText("Go on."), string(llm.FinishPause))
	}
}

// purpose is what an answer is for.
type purpose string

const (
	forConversation purpose = ""
	forSummary      purpose = "summary"
)

// invoke makes a request, counts what it uses and records its course. The message of the answer
// holds no call that was cut off.
func (s *Session) invoke(ctx context.Context, r *llm.Request, why purpose) (*llm.Response, error) {
	if err := s.tree.admit(s.config.Catalogue, r); err != nil {
		return nil, err
	}
	if why == forConversation {
		s.watchCache(r)
	}
	s.calls++
	s.record(event.ModelCallStart{
		Call: s.calls, Provider: r.Provider, Model: r.Model, Effort: r.Effort, Messages: len(r.Messages), Tools: s.sent.tools, Purpose: string(why),
	})
	start := time.Now()
	resp, partial, err := s.stream(ctx, r, why)
	end := event.ModelCallEnd{Call: s.calls, Provider: r.Provider, Model: r.Model, Duration: time.Since(start)}
	if err != nil {
		failure := asEvent(err)
		end.Error, end.Partial = &failure, partial
		s.record(end)
		return nil, err
	}
	resp.Message = s.m.distinct(whole(resp))
	if why == forConversation {
		s.record(event.TextEnd{Call: s.calls, ID: resp.ID, Message: resp.Message})
		s.turns.Add(1)
	}
	end.Usage, end.Finish = resp.Usage, string(resp.Finish.Reason)
	end.Cost = s.account(r, resp)
	s.record(end)
	return resp, nil
}

// request builds the request for messages and the settings of the moment.
func (s *Session) request(ctx context.Context, messages []llm.Message) (*llm.Request, error) {
	set := s.effective()
	r := &llm.Request{
		Provider: set.provider, Model: set.model, Effort: set.effort, ThinkingBudget: set.budget,
		Messages: slices.Clip(messages), Tools: s.tools.Definitions(), MaxTokens: s.config.MaxOutput,
		Options: s.config.Options, CacheKey: s.cacheKey(), Cache: s.cache, Unary: s.config.Unary,
	}
	if t := s.config.TransformContext; t != nil {
		err := guarded("TransformContext", func() error { r.Messages = t(r.Messages); return nil })
		if err != nil {
			return nil, err
		}
	}
	for _, hook := range s.config.BeforeModel {
		if err := guarded("a BeforeModel hook", func() error { return hook(ctx, r) }); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (s *Session) cacheKey() string {
	if s.path == "" {
		return s.id
	}
	return s.id + "/" + s.path
}

// stream makes the call and records what it shows on the way. Partial is the text that had come if
// the call fails.
func (s *Session) stream(ctx context.Context, r *llm.Request, why purpose) (resp *llm.Response, partial string, err error) {
	var text strings.Builder
	err = guarded("the provider", func() error {
		for ev, err := range s.config.Client.Stream(ctx, r) {
			if err != nil {
				return err
			}
			switch ev := ev.(type) {
			case llm.Finish:
				resp = ev.Response
			case llm.TextDelta:
				text.WriteString(ev.Text)
			case llm.Retry:
				if ev.Discard {
					text.Reset()
				}
			}
			if resp != nil {
				return nil
			}
			s.show(ev, why)
		}
		return &llm.Error{Kind: llm.ErrIncomplete, Provider: r.Provider, Message: "the stream ended without a finish"}
	})
	return resp, text.String(), err
}

// show records a step of an answer.
func (s *Session) show(ev llm.StreamEvent, why purpose) {
	if _, retry := ev.(llm.Retry); why != forConversation && !retry {
		return
	}
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
		failure := asEvent(ev.Err)
		failure.Retryable = true
		s.record(event.ModelRetry{Call: s.calls, Attempt: ev.Attempt, Max: ev.Max, Delay: ev.Delay, Discard: ev.Discard, Error: failure})
	}
}

// account adds up what a call used and what that costs; nil if that is not known.
func (s *Session) account(r *llm.Request, resp *llm.Response) *float64 {
	s.used = s.used.Add(resp.Usage)
	m, _ := s.config.Catalogue.Lookup(catalogueName(r.Provider), r.Model)
	dollars, known := m.Price.Cost(resp.Usage)
	s.cost = s.cost.add(dollars, known)
	s.tree.spend(r, resp.Usage, dollars, known)
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
