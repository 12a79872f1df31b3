package agent

import (
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// settings are what can change between two calls of the model.
type settings struct {
	provider, model, effort string
	budget                  *int
	timeouts                tool.Timeouts // of commands; zero fields are the tools' own
}

// current are the settings of the moment.
func (s *Session) current() settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

func (s *Session) change(f func(*settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.settings
	f(&s.settings)
	set := s.settings
	if set == before || s.state == Closed {
		return
	}
	s.record(set.event())
}

func (set settings) event() event.Settings {
	return event.Settings{Provider: set.provider, Model: set.model, Effort: set.effort, ThinkingBudget: set.budget, Timeouts: set.timeouts}
}

// SetModel changes the model, and the provider if one is given, from the next call on.
func (s *Session) SetModel(provider, model string) {
	s.change(func(set *settings) {
		if provider != "" {
			set.provider = provider
		}
		if model != "" {
			set.model = model
		}
	})
}

// SetEffort changes how hard the model thinks, from the next call on; "" is the provider's default.
func (s *Session) SetEffort(effort string) {
	s.change(func(set *settings) { set.effort = effort })
}

// SetThinkingBudget changes how many tokens the model thinks, where the provider takes that; nil
// is the provider's default.
func (s *Session) SetThinkingBudget(tokens *int) {
	if tokens != nil {
		tokens = new(*tokens) // the caller's may change
	}
	s.change(func(set *settings) { set.budget = tokens })
}

// SetTimeouts changes how long commands may run, from the next tool call on: those that ask for no
// time of their own, and the most that one can ask for. Zero leaves it to the tools.
func (s *Session) SetTimeouts(standard, most time.Duration) {
	s.change(func(set *settings) { set.timeouts = tool.Timeouts{Default: standard, Max: most} })
}
