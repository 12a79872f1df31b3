package anthropic

import (
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// history encodes the messages of a conversation. Messages that follow each other in one role make
// a run, which is one message to the API. Runs that another one follows are closed: they stay as
// they are and are kept encoded. The last run may still grow and is encoded with every request.
type history struct {
	seen   wire.History
	buf    []byte // the closed runs; what is behind its length may be appended to, nothing changed
	closed int    // so many messages are in closed runs
	mark   int    // where the last closed run of the user takes a breakpoint; 0 if nowhere
	manual bool   // a block brings a breakpoint of its own
}

// run is a stretch of messages of one role.
type run struct {
	role     string
	from, to int
}

// add adds the messages and the end of the body. With mark set it places breakpoints, unless a
// block brings one of its own, and reports whether it did.
func (h *history) add(body wire.Body, r *llm.Request, mark bool) (wire.Body, bool, error) {
	if h.seen.Pending(r.Model, r.Messages) == 0 {
		*h = history{seen: h.seen}
	}
	open, err := h.advance(r)
	if err != nil {
		return nil, false, h.fail(err)
	}
	last := blocks{model: r.Model}
	if open.role != "" {
		if len(h.buf) > 0 {
			last.Buf = append(last.Buf, ',')
		}
		if err := last.run(open, r.Messages); err != nil {
			return nil, false, h.fail(err)
		}
	}
	last.Buf = append(last.Buf, closing...)
	if h.manual || last.manual || !mark {
		return append(body, h.buf, last.Buf), false, nil
	}
	body = withBreakpoint(body, h.buf, h.mark)
	return withBreakpoint(body, last.Buf, last.mark), true, nil
}

// withBreakpoint adds a piece of JSON with a breakpoint at mark, if that is not 0.
func withBreakpoint(body wire.Body, piece []byte, mark int) wire.Body {
	if mark == 0 {
		return append(body, piece)
	}
	return append(body, piece[:mark:mark], breakpoint, piece[mark:])
}

// advance encodes the runs that were closed since the last request and returns the open one.
func (h *history) advance(r *llm.Request) (open run, err error) {
	for i := h.closed; i < len(r.Messages); i++ {
		role := roleOf(r, i)
		if role == "" {
			continue
		}
		if role != open.role {
			if open.role != "" {
				if err := h.close(open, r); err != nil {
					return open, err
				}
			}
			open = run{role: role, from: i}
		}
		open.to = i + 1
	}
	return open, nil
}

func (h *history) close(rn run, r *llm.Request) error {
	b := blocks{model: r.Model}
	b.Buf = h.buf
	if err := b.run(rn, r.Messages); err != nil {
		return err
	}
	h.buf, h.closed = b.Buf, rn.to
	h.manual = h.manual || b.manual
	if rn.role == "user" && b.mark > 0 {
		h.mark = b.mark
	}
	return nil
}

// fail forgets everything, since the messages at hand count as seen but are not encoded.
func (h *history) fail(err error) error {
	*h = history{}
	return err
}

// roleOf is the API's role of message i, or "" if nothing of it is sent among the messages.
func roleOf(r *llm.Request, i int) string {
	m := &r.Messages[i]
	switch m.Role {
	case llm.RoleSystem, llm.RoleDeveloper:
		if inPlace(m, r.Model) && begunBefore(r.Messages[:i]) {
			return "system"
		}
		return ""
	case llm.RoleAssistant:
		if sendable(m.Parts, "assistant", r.Model) {
			return "assistant"
		}
		return ""
	}
	if sendable(m.Parts, "user", r.Model) {
		return "user"
	}
	return ""
}

// inPlace reports whether a system message came from a request that had it among its messages: all
// its parts bring state then.
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

// sendable reports whether any of the parts makes a block.
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
