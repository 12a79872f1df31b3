package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// boundKey is the member of a part's state that says what the part is bound to. It is not sent.
const boundKey = "_bound"

// prefix is a digest of what a request has before a place in its messages. On models with a prefix check, thinking is
// sent only if everything before it is as it was when the model wrote it. The API's own rule is the same: the system
// prompt, the tools and the content of messages count, cache breakpoints do not, and earlier thinking counts only as
// the block that came before.
type prefix struct {
	on   bool
	head string // of the system prompt and the tools
	sum  string
	last string // of the last thinking that was sent; "" if none was
}

// digest returns a short hash of pieces of text.
func digest(pieces ...[]byte) string {
	h := sha256.New()
	for _, p := range pieces {
		h.Write(p)
		h.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// newPrefix returns the prefix of the first message.
func newPrefix(system, tools []byte) prefix {
	head := digest(system, tools)
	return prefix{on: true, head: head, sum: head}
}

// add adds a block of a message.
func (p *prefix) add(role string, block []byte) {
	if !p.on || len(block) == 0 {
		return
	}
	if bytes.Contains(block, []byte(`"cache_control"`)) {
		block = wire.Rest(block, func(key string, _ wire.Value) bool { return key == "cache_control" })
	}
	p.sum = digest([]byte(p.sum), []byte(role), block)
}

// bind returns state with what thinking here is bound to.
func (p *prefix) bind(state wire.Value) []byte { return withBound(state, p.sum+" "+p.last) }

// think records thinking that is sent, and reports whether it may be.
func (p *prefix) think(state wire.Value) bool {
	if !p.on {
		return true
	}
	sum, last, _ := strings.Cut(state.Get(boundKey).Str(), " ")
	if sum != p.sum || p.last != "" && p.last != last {
		return false
	}
	p.last = thought(state)
	return true
}

// thought returns a digest of thinking by its signature, or by its data if it is redacted.
func thought(state wire.Value) string {
	return digest([]byte(state.Get("signature").Str()), []byte(state.Get("data").Str()))
}

// compacted continues after the block of a compaction. If system prompt and tools are as they were when the server wrote
// it, what comes next is bound to what the block replaces.
func (p *prefix) compacted(state wire.Value, block []byte) {
	head, sum, _ := strings.Cut(state.Get(boundKey).Str(), " ")
	if p.on && sum != "" && head == p.head {
		p.sum, p.last = sum, ""
		return
	}
	p.add("assistant", block)
}

// withBound returns an object with the member boundKey.
func withBound(state wire.Value, bound string) []byte {
	var e wire.Encoder
	e.Open('{')
	for m := state.Members(); m.Next(); {
		if string(m.Key) != boundKey {
			e.Member(m.Key, m.Value)
		}
	}
	e.Field(boundKey, bound)
	e.Close('}')
	return e.Buf
}

// seal binds the thinking of an answer to the request that p is the prefix of, and turns the block of a compaction
// into the text of its summary.
func (p prefix) seal(model string, m *llm.Message) {
	b := blocks{model: model, prefix: p}
	for i, part := range m.Parts {
		switch part := part.(type) {
		case llm.Thinking:
			state, ok := usable(part.State, model)
			if !ok || !p.on {
				break
			}
			part.State.Data = b.prefix.bind(state)
			m.Parts[i] = part
		case llm.Opaque:
			if part.Kind == compactionKind {
				m.Parts[i] = p.summary(part)
			}
		}
		_ = b.answer(&llm.Message{Role: llm.RoleAssistant, Parts: m.Parts[i : i+1]})
	}
}

// summary returns the block of a compaction as a text. Other models get the text, this one the block.
func (p prefix) summary(o llm.Opaque) llm.Part {
	block := wire.Value(o.State.Data)
	o.State.Data = withBound(block, p.head+" "+p.sum)
	return llm.Text{Text: block.Get("content").Str(), State: o.State}
}
