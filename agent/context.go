package agent

import (
	"fmt"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// fill estimates how many tokens the conversation takes: what the provider counted last, and four
// characters to a token for what came since.
type fill struct {
	tokens int64
	chars  int
}

// mediaChars is what an image or a file counts for.
const mediaChars = 4000

func (f *fill) add(msg llm.Message) { f.addParts(msg.Parts) }

func (f *fill) addParts(parts []llm.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			f.chars += len(p.Text)
		case llm.Thinking:
			f.chars += len(p.Text)
		case llm.ToolCall:
			f.chars += len(p.Name) + len(p.Arguments)
		case llm.ToolResult:
			f.addParts(p.Parts)
		case llm.Opaque:
			f.chars += len(p.State.Data)
		default:
			f.chars += mediaChars
		}
	}
}

// reported takes the provider's count of the conversation up to here, if it gave one.
func (f *fill) reported(u llm.Usage) {
	if u.Input > 0 {
		f.tokens, f.chars = u.Input+u.Output, 0
	}
}

// reset begins anew with another conversation.
func (f *fill) reset(messages []llm.Message) {
	*f = fill{}
	for _, msg := range messages {
		f.add(msg)
	}
}

func (f fill) estimate() int64 { return f.tokens + int64(f.chars/4) }

// window is the context window of the model in use, 0 if it is not known. The configured one is
// that of the configured model.
func (s *Session) window(set settings) int64 {
	if s.config.ContextWindow > 0 && set.provider == s.config.Provider && set.model == s.config.Model {
		return s.config.ContextWindow
	}
	m, _ := s.config.Catalogue.Lookup(catalogueName(set.provider), set.model)
	return m.ContextWindow
}

// checkContext warns when the conversation comes to fill most of the model's window, and again
// only after it was smaller in between.
func (s *Session) checkContext() {
	window := s.window(s.effective())
	if window <= 0 {
		return
	}
	share := float64(s.m.fill.estimate()) / float64(window)
	if share <= 0.8 {
		s.warned = false
		return
	}
	if !s.warned {
		s.warned = true
		s.record(event.Warning{Message: fmt.Sprintf("Context usage at ~%.0f%% of context window", share*100)})
	}
}
