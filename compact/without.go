package compact

import (
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Without returns the message without what was refused, and what that is; "" if nothing can be taken out.
// Calls and results stay, because they belong together.
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
	p, what := harmlessPart(msg.Parts[at.Part], at.Inner)
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
func harmlessPart(p llm.Part, inner int) (llm.Part, string) {
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
