package agent

import (
	"fmt"

	"github.com/reins-agent/reins/event"
)

// window is the context window of the model in use, 0 if it is not known. The configured one is
// that of the configured model.
func (s *Session) window(set settings) int64 {
	if s.config.ContextWindow > 0 && set.provider == s.config.Provider && set.model == s.config.Model {
		return s.config.ContextWindow
	}
	m, _ := s.config.Catalogue.Lookup(catalogueName(set.provider), set.model)
	return m.ContextWindow
}

// filled is the share of the model's window that the conversation takes, 0 if that is not known.
func (s *Session) filled() float64 {
	window := s.window(s.effective())
	if window <= 0 {
		return 0
	}
	return float64(s.m.meter.Estimate()) / float64(window)
}

// checkContext warns when the conversation comes to fill most of the model's window, and again
// only after it was smaller in between.
func (s *Session) checkContext() {
	share := s.filled()
	if share <= 0.8 {
		s.warned = false
		return
	}
	if !s.warned {
		s.warned = true
		s.record(event.Warning{Message: fmt.Sprintf("Context usage at ~%.0f%% of context window", share*100)})
	}
}
