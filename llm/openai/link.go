package openai

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// The API links an answer's items: it refuses reasoning without the item that followed it, and an item with an ID
// without the reasoning that it followed. It accepts items without IDs.

// afterKey is the State member with the link.
const afterKey = "_after"

// link is the reasoning that an item followed in its answer.
type link struct {
	id    string // reasoning item ID
	place int    // position after the reasoning; the reasoning requires item 0
	sum   string // digest of the item's text or arguments
}

// linkable reports whether a link can hold a reasoning item's ID.
func linkable(id string) bool { return id != "" && !strings.ContainsAny(id, " \t\r\n") }

// String returns the link as a State stores it, or "" if no reasoning came before.
func (l link) String() string {
	if l.id == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", l.id, l.place, l.sum)
}

// linkOf returns a part's link for this model, and its current content's digest.
func linkOf(p llm.Part, model string) (l link, sum string, ok bool) {
	var state llm.State
	var content string
	switch p := p.(type) {
	case llm.Text:
		state, content = p.State, p.Text
	case llm.ToolCall:
		state, content = p.State, p.Arguments
	case llm.Thinking:
		state = p.State
	case llm.Opaque:
		state = p.State
	}
	if !state.For(Name, model) {
		return link{}, "", false
	}
	v, err := wire.ParseJSON(state.Data)
	if err != nil {
		return link{}, "", false
	}
	fields := strings.Fields(v.Get(afterKey).Str())
	if len(fields) != 3 {
		return link{}, "", false
	}
	place, err := strconv.Atoi(fields[1])
	return link{fields[0], place, fields[2]}, wire.Digest(content), err == nil
}

// linked returns an item with a link, which [unlinked] removes.
func linked(item wire.Value, l link) []byte {
	if l.id == "" {
		return item
	}
	b := append([]byte(nil), bytes.TrimSuffix(item, []byte("}"))...)
	b = append(b, afterMember...)
	return append(wire.AppendString(b, l.String()), '}')
}

// unlinked returns an item as the server sent it.
func unlinked(state []byte) []byte {
	i := bytes.LastIndex(state, []byte(afterMember))
	if i < 0 || bytes.ContainsAny(state[i+len(afterMember):], `,\{[`) {
		return state
	}
	return append(state[:i:i], '}')
}

const afterMember = `,"` + afterKey + `":`

// fate is what happens to a part.
type fate uint8

const (
	whole   fate = iota // it is sent as it was
	bare                // it is sent without its id
	omitted             // it is not sent
)

// decide sets the fates of a message's parts.
func (e *itemEncoder) decide(parts []llm.Part) {
	e.fates = append(e.fates[:0], make([]fate, len(parts))...)
	next := -1 // the next item
	for i := len(parts) - 1; i >= 0; i-- {
		switch p := parts[i].(type) {
		case llm.Thinking:
			if next < 0 || !e.replays(p) || !e.follows(parts[next], p) {
				e.fates[i] = omitted
				continue
			}
		case llm.Opaque:
			if !p.State.For(Name, e.model) {
				continue
			}
		case llm.ToolChange:
			continue
		default:
			if silent(p) && len(parts) > 1 {
				continue
			}
		}
		next = i
	}
	e.unlink(parts)
}

// follows reports whether a part can be the item that followed this reasoning. If the reasoning has no link, because it
// is not from an answer or from an older version, any item can.
func (e *itemEncoder) follows(p llm.Part, reasoning llm.Thinking) bool {
	if _, _, ok := linkOf(reasoning, e.model); !ok {
		return true
	}
	l, sum, ok := linkOf(p, e.model)
	return ok && l.id == reasoningID(reasoning) && l.place == 0 && l.sum == sum
}

// unlink makes items bare whose reasoning is not sent or which were changed. It omits such opaque items, which need their
// ids.
func (e *itemEncoder) unlink(parts []llm.Part) {
	sent := "" // the last reasoning
	for i, p := range parts {
		if t, ok := p.(llm.Thinking); ok {
			if e.fates[i] == whole {
				sent = reasoningID(t)
			}
			continue
		}
		l, sum, ok := linkOf(p, e.model)
		if !ok || l.id == sent && l.sum == sum {
			continue
		}
		e.fates[i] = bare
		if _, ok := p.(llm.Opaque); ok {
			e.fates[i] = omitted
		}
	}
}

func reasoningID(t llm.Thinking) string { return wire.Value(t.State.Data).Get("id").Str() }
