package step

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// attempts are what was tried for one answer.
type attempts struct{ compacted, quarantined bool }

// recover does what can be done about a model call that failed: another try with a smaller conversation,
// without what was refused, or with another model. Otherwise the work fails.
func (s *State) recover() Action {
	e := s.failure
	kind := llm.ErrorKind(e.Class)
	switch {
	case kind == llm.ErrContextLength && s.setup.Rules.CompactAt > 0 && !s.tried.compacted:
		if a, _ := s.shrink(byOverflow); a != nil {
			return a
		}
	case kind == llm.ErrInvalidRequest && !s.tried.quarantined:
		if d, ok := s.quarantine(e); ok {
			return Append{d}
		}
	case e.Retryable || kind == llm.ErrQuota:
		if d, ok := s.fallback(e); ok {
			return Append{d}
		}
	}
	if kind == llm.ErrContextLength && !s.warned {
		return Append{event.Warning{Code: warningContext, Message: "The conversation no longer fits into the model's context window; the session ends here."}}
	}
	return Append{*e}
}

// Effective is the setup with the model that stands in for one that could not be reached.
func (s *State) Effective() event.Setup {
	set := s.setup
	if i := s.standing(); i >= 0 {
		set.ModelSetup = s.stand(i)
	}
	return set
}

// standing is the index of the fallback model in use, or -1.
func (s *State) standing() int {
	if s.standIn == nil {
		return -1
	}
	for i := range s.setup.Rules.Fallback {
		if m := s.stand(i); m.Model == s.standIn.To && m.Provider == s.standIn.Provider {
			return i
		}
	}
	return -1
}

func (s *State) stand(i int) event.ModelSetup {
	m := s.setup.Rules.Fallback[i]
	m.Provider = cmp.Or(m.Provider, s.setup.Provider)
	return m
}

// fallback chooses the next model to stand in for one that could not be reached, until the next input.
func (s *State) fallback(e *event.Error) (event.ModelFallback, bool) {
	now := s.Effective()
	for i := s.standing() + 1; i < len(s.setup.Rules.Fallback); i++ {
		if m := s.stand(i); m.Provider != now.Provider || m.Model != now.Model {
			return event.ModelFallback{From: now.Model, To: m.Model, Provider: m.Provider, Error: *e}, true
		}
	}
	return event.ModelFallback{}, false
}

// quarantine takes out of the conversation what the provider refused, if it can.
func (s *State) quarantine(e *event.Error) (event.Quarantine, bool) {
	at := e.Item
	if at == nil || at.Message < 0 || at.Message >= len(s.messages) {
		return event.Quarantine{}, false
	}
	msg, what := tame(s.messages[at.Message], *at)
	return event.Quarantine{Position: at.Message, What: what, Reason: e.Message, Message: msg}, what != ""
}

// quarantined replaces one message. If it is not there, because records are lost, nothing is replaced.
func (s *State) quarantined(d event.Quarantine) {
	s.failure, s.tried.quarantined = nil, true
	if d.Position < 0 || d.Position >= len(s.messages) || skeleton(s.messages[d.Position]) != skeleton(d.Message) {
		return
	}
	messages := slices.Clone(s.messages)
	messages[d.Position] = d.Message
	s.rewrite(messages, "content that the provider refused was removed")
}

// skeleton is what must stay of a message when its content changes: its role, calls and results.
func skeleton(msg llm.Message) string {
	s := string(msg.Role)
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.ToolCall:
			s += "\x00call " + p.ID
		case llm.ToolResult:
			s += "\x00result " + p.ID
		}
	}
	return s
}

// tame returns the message without what was refused, and what that is; "" if nothing can be taken out.
// Calls and results stay, because they belong together.
func tame(msg llm.Message, at llm.Item) (llm.Message, string) {
	if msg.Role == llm.RoleSystem || msg.Role == llm.RoleDeveloper {
		return msg, ""
	}
	if at.Part < 0 || at.Part >= len(msg.Parts) {
		at.Part, at.Inner = suspect(msg.Parts), -1
	}
	if at.Part < 0 {
		return msg, ""
	}
	p, what := harmless(msg.Parts[at.Part], at.Inner)
	if what == "" {
		return msg, ""
	}
	msg.Parts = slices.Clone(msg.Parts)
	if p != nil {
		msg.Parts[at.Part] = p
	} else if msg.Parts = slices.Delete(msg.Parts, at.Part, at.Part+1); len(msg.Parts) == 0 {
		msg.Parts = []llm.Part{llm.Text{Text: removed(what)}}
	}
	return msg, what
}

// suspect returns the part that is most likely to be refused, or -1: files first, then what only the
// provider can read, then results, calls and text.
func suspect(parts []llm.Part) int {
	best, rank := -1, 0
	for i, p := range parts {
		r := 0
		switch p := p.(type) {
		case llm.Image, llm.Audio, llm.Document:
			r = 5
		case llm.Thinking, llm.Opaque:
			r = 4
		case llm.ToolResult:
			r = 3
			if mediaIn(p.Parts) >= 0 {
				r = 5
			}
		case llm.ToolCall:
			r = 2
		case llm.Text:
			r = 1
		}
		if r >= rank { // the newest of several
			best, rank = i, r
		}
	}
	return best
}

func mediaIn(parts []llm.Part) int {
	return slices.IndexFunc(parts, func(p llm.Part) bool { return mediaWord(p) != "" })
}

func mediaWord(p llm.Part) string {
	switch p.(type) {
	case llm.Image:
		return "an image"
	case llm.Audio:
		return "a recording"
	case llm.Document:
		return "a document"
	}
	return ""
}

func removed(what string) string {
	return fmt.Sprintf("[%s was here, which the provider refused]", what)
}

// harmless returns what to put in the place of a part, nil for nothing, and the word for what is gone.
func harmless(p llm.Part, inner int) (llm.Part, string) {
	switch p := p.(type) {
	case llm.Thinking:
		return nil, "a block of thinking"
	case llm.Opaque:
		return nil, "an item of kind " + p.Kind
	case llm.ToolResult:
		return harmlessResult(p, inner)
	case llm.ToolCall:
		if p.Arguments == "{}" && p.State.Data == nil {
			return nil, ""
		}
		p.State = llm.State{}
		if !p.Custom {
			p.Arguments = "{}"
		}
		return p, "the arguments of a tool call"
	case llm.Text:
		what := "a text"
		if p.Text == removed(what) {
			return nil, ""
		}
		return llm.Text{Text: removed(what)}, what
	}
	what := mediaWord(p)
	return llm.Text{Text: removed(what)}, what
}

func harmlessResult(r llm.ToolResult, inner int) (llm.Part, string) {
	if inner < 0 || inner >= len(r.Parts) {
		inner = mediaIn(r.Parts)
	}
	r.Parts = slices.Clone(r.Parts)
	if inner >= 0 {
		if what := mediaWord(r.Parts[inner]); what != "" {
			r.Parts[inner] = llm.Text{Text: removed(what)}
			return r, what
		}
	}
	what := "the result of a tool"
	if r.Text() == removed(what) {
		return nil, ""
	}
	r.Parts = []llm.Part{llm.Text{Text: removed(what)}}
	return r, what
}
