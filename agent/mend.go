package agent

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// attempts are what was tried for one answer.
type attempts struct {
	compacted, quarantined bool
}

// mend does what can be done about a call that failed, and reports whether it is worth another try.
func (s *Session) mend(ctx context.Context, r *llm.Request, failure error, tried *attempts) bool {
	var e *llm.Error
	if !errors.As(failure, &e) {
		return false
	}
	switch {
	case e.Kind == llm.ErrContextLength && s.config.Compaction.At > 0 && !tried.compacted:
		tried.compacted = true
		_, err := s.shrink(ctx, byOverflow)
		return err == nil
	case e.Kind == llm.ErrInvalidRequest && !tried.quarantined:
		tried.quarantined = true
		return s.quarantine(r, e)
	case e.Retryable() || e.Kind == llm.ErrQuota:
		return s.fallBack(r, failure)
	}
	return false
}

// effective are the settings of the moment, with the model that stands in for one that could not be
// reached.
func (s *Session) effective() settings {
	set := s.current()
	if s.fallback > 0 {
		m := s.config.Fallback[s.fallback-1]
		set.provider, set.model = first(m.Provider, set.provider), m.Name
	}
	return set
}

// standIn brings the model back that stood in when the session was cut off, unless it is to go on
// with another one than it had.
func (s *Session) standIn(p *replay) {
	d := p.standsIn
	if s.settings.provider != p.set.provider || s.settings.model != p.set.model {
		return
	}
	for i, m := range s.config.Fallback {
		if m.Name == d.To && first(m.Provider, s.settings.provider) == d.Provider {
			s.fallback = i + 1
		}
	}
}

// fallBack lets the next model stand in for one that could not be reached, to the end of the input.
func (s *Session) fallBack(r *llm.Request, failure error) bool {
	for s.fallback < len(s.config.Fallback) {
		s.fallback++
		if set := s.effective(); set.provider != r.Provider || set.model != r.Model {
			s.record(event.ModelFallback{From: r.Model, To: set.model, Provider: set.provider, Error: asEvent(failure)})
			return true
		}
	}
	return false
}
