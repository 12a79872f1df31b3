package compact

import (
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Without returns a message without the item that a provider refused, and the name of the removed item; "" if nothing
// can be removed. Calls and results stay, because each needs the other.
func Without(msg llm.Message, at llm.Item) (llm.Message, string) {
	if msg.Role == llm.RoleSystem || msg.Role == llm.RoleDeveloper {
		return msg, ""
	}
	if at.Part < 0 || at.Part >= len(msg.Parts) {
		at.Part, at.Inner = suspect(msg.Parts), -1
	}
	if at.Part < 0 {
		return msg, ""
	}
	p, what := replacement(msg.Parts[at.Part], at.Inner)
	if what == "" {
		return msg, ""
	}
	msg.Parts = slices.Clone(msg.Parts)
	if p != nil {
		msg.Parts[at.Part] = p
	} else if msg.Parts = slices.Delete(msg.Parts, at.Part, at.Part+1); len(msg.Parts) == 0 {
		msg.Parts = []llm.Part{removed(what)}
	}
	return msg, what
}

// suspect returns the part that was most likely refused, or -1: media, then provider state, then
// results, calls and text.
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
	return slices.IndexFunc(parts, func(p llm.Part) bool { return mediaName(p) != "" })
}

func removed(what string) llm.Text {
	return llm.Text{Text: fmt.Sprintf("[%s was removed because the provider refused it]", what)}
}

// replacement returns the replacement for a part, nil for nothing, and the name of the removed item.
func replacement(p llm.Part, inner int) (llm.Part, string) {
	switch p := p.(type) {
	case llm.Thinking:
		return nil, "a thinking block"
	case llm.Opaque:
		return nil, "an item of kind " + p.Kind
	case llm.ToolResult:
		return resultReplacement(p, inner)
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
		if p.Text == removed(what).Text {
			return nil, ""
		}
		return removed(what), what
	}
	what := mediaName(p)
	return removed(what), what
}

func resultReplacement(r llm.ToolResult, inner int) (llm.Part, string) {
	if inner < 0 || inner >= len(r.Parts) {
		inner = mediaIn(r.Parts)
	}
	r.Parts = slices.Clone(r.Parts)
	if inner >= 0 {
		if what := mediaName(r.Parts[inner]); what != "" {
			r.Parts[inner] = removed(what)
			return r, what
		}
	}
	what := "a tool result"
	if r.Text() == removed(what).Text {
		return nil, ""
	}
	r.Parts = []llm.Part{removed(what)}
	return r, what
}
