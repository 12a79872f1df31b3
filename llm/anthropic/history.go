package anthropic

import (
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// history encodes a conversation's messages. Consecutive messages with the same role are a run, which is one API
// message. A run is closed when another follows: it does not change and is encoded only once. The last run may still
// grow and is encoded with every request.
type history struct {
	seen   wire.History
	buf    []byte // the closed runs, append-only
	closed int    // number of messages in closed runs
	mark   int    // breakpoint position in the last closed user run, or 0
	manual bool   // a block has its own breakpoint
	prefix prefix // after the closed runs
}

// run is a range of messages of one role. A user run may contain system messages, which follow it.
type run struct {
	role     string
	from, to int
	user     bool // it has user parts
	system   bool // it has parts of system messages
}

// lateRole is the role of a system message that keeps its place in the conversation.
const lateRole = "system"

// add appends the messages and the end of the body, and returns the prefix before the answer. With mark set it places
// breakpoints, unless a block has its own, and reports whether it did.
func (h *history) add(body llm.Body, r *llm.Request, p plan, mark bool) (llm.Body, prefix, bool, error) {
	if h.seen.Pending(r.Model+" "+p.prefix.head, r.Messages) == 0 {
		*h = history{seen: h.seen, prefix: p.prefix}
	}
	open, err := h.advance(r, p)
	if err != nil {
		return nil, prefix{}, false, h.fail(err)
	}
	last := p.blocks(r, h.prefix)
	if open.role != "" {
		if len(h.buf) > 0 {
			last.Buf = append(last.Buf, ',')
		}
		if err := last.run(open, r.Messages); err != nil {
			return nil, prefix{}, false, h.fail(err)
		}
	}
	last.Buf = append(last.Buf, closing...)
	if h.manual || last.manual || !mark {
		return append(body, h.buf, last.Buf), last.prefix, false, nil
	}
	body = withBreakpoint(body, h.buf, h.mark, p.breakpoint)
	return withBreakpoint(body, last.Buf, last.mark, p.breakpoint), last.prefix, true, nil
}

// blocks returns an encoder for messages after a prefix.
func (p *plan) blocks(r *llm.Request, before prefix) blocks {
	return blocks{model: r.Model, prefix: before, late: p.late, inline: p.inline}
}

// withBreakpoint appends a piece of JSON with a breakpoint at mark, unless mark is 0.
func withBreakpoint(body llm.Body, piece []byte, mark int, breakpoint []byte) llm.Body {
	if mark == 0 {
		return append(body, piece)
	}
	return append(body, piece[:mark:mark], breakpoint, piece[mark:])
}

// advance encodes the runs that were closed since the last request and returns the open one.
func (h *history) advance(r *llm.Request, p plan) (open run, err error) {
	for i := h.closed; i < len(r.Messages); i++ {
		role := p.roleOf(r, i)
		if role == "" {
			continue
		}
		late := role == lateRole
		if late {
			role = "user"
		}
		if role != open.role {
			if open.role != "" {
				if err := h.close(open, r, p); err != nil {
					return open, err
				}
			}
			open = run{role: role, from: i}
		}
		open.to = i + 1
		open.system = open.system || late
		open.user = open.user || !late
	}
	return open, nil
}

func (h *history) close(rn run, r *llm.Request, p plan) error {
	b := p.blocks(r, h.prefix)
	b.Buf = h.buf
	if err := b.run(rn, r.Messages); err != nil {
		return err
	}
	h.buf = b.Buf
	h.closed = rn.to
	h.prefix = b.prefix
	h.manual = h.manual || b.manual
	if rn.role == "user" && b.mark > 0 {
		h.mark = b.mark
	}
	return nil
}

// fail resets the history, because it has recorded messages that are not encoded.
func (h *history) fail(err error) error {
	*h = history{}
	return err
}

// roleOf returns the API's role of message i, or "" if it is not sent among the messages.
func (p *plan) roleOf(r *llm.Request, i int) string {
	m := &r.Messages[i]
	switch m.Role {
	case llm.RoleSystem, llm.RoleDeveloper:
		if p.stays(r, i) && p.instructive(m, r.Model) {
			return lateRole
		}
		return ""
	case llm.RoleAssistant:
		if sendable(m.Parts, "assistant", r.Model) {
			return "assistant"
		}
		return ""
	}
	if _, ok := compaction(m, r.Model); ok {
		return "assistant"
	}
	if sendable(m.Parts, "user", r.Model) {
		return "user"
	}
	return ""
}

// stays reports whether system message i stays among the other messages. The others become the system blocks.
func (p *plan) stays(r *llm.Request, i int) bool {
	return (p.late || inPlace(&r.Messages[i], r.Model)) && begunBefore(r.Messages[:i])
}

// instructive reports whether any part in a system message becomes a block.
func (p *plan) instructive(m *llm.Message, model string) bool {
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text:
			if part.Text != "" {
				return true
			}
		case llm.ToolChange:
			if p.inline && len(part.Add)+len(part.Remove) > 0 {
				return true
			}
		case llm.Opaque:
			if _, ok := usable(part.State, model); ok {
				return true
			}
		}
	}
	return false
}

// inPlace reports whether a system message was parsed from among a request's messages: then all its parts have state.
func inPlace(m *llm.Message, model string) bool {
	for _, p := range m.Parts {
		var s llm.State
		switch p := p.(type) {
		case llm.Text:
			s = p.State
		case llm.Opaque:
			s = p.State
		}
		if !s.For(Name, model) {
			return false
		}
	}
	return len(m.Parts) > 0
}

func begunBefore(messages []llm.Message) bool {
	for _, m := range messages {
		if m.Role != llm.RoleSystem && m.Role != llm.RoleDeveloper {
			return true
		}
	}
	return false
}

// sendable reports whether any part becomes a block.
func sendable(parts []llm.Part, role, model string) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				return true
			}
		case llm.ToolCall:
			if role == "assistant" {
				return true
			}
		case llm.ToolResult:
			if role == "user" {
				return true
			}
		case llm.Image, llm.Audio, llm.Document:
			return true
		case llm.Thinking:
			if _, ok := usable(p.State, model); ok && role == "assistant" {
				return true
			}
		case llm.Opaque:
			if _, ok := usable(p.State, model); ok && p.Kind != containerKind {
				return true
			}
		}
	}
	return false
}
