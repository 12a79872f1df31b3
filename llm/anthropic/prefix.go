package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// boundKey is the member in a part's state that names the prefix to which the part is bound. It is not sent.
const boundKey = "_bound"

// prefix is a digest of everything before a place in a request's messages. On models with a prefix check, thinking is
// sent only if everything before it is unchanged since the model wrote it. The API has the same rule: the system
// prompt, the tools and message contents count, cache breakpoints do not, and earlier thinking counts only as the
// preceding block.
type prefix struct {
	on   bool
	head string // system prompt and tools
	sum  string
	last string // last thinking sent, or ""
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

// newPrefix returns the prefix before the first message.
func newPrefix(system, tools []byte) prefix {
	head := digest(system, tools)
	return prefix{on: true, head: head, sum: head}
}

// add adds one message block.
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

// compacted continues after a compaction block. If system prompt and tools are unchanged since the server wrote it,
// later blocks are bound to the messages that it replaces.
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

// seal binds an answer's thinking to the request with prefix p, and turns a compaction block into its summary text.
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

// summary returns a compaction block as text. Other models get the text, this model gets the block.
func (p prefix) summary(o llm.Opaque) llm.Part {
	block := wire.Value(o.State.Data)
	o.State.Data = withBound(block, p.head+" "+p.sum)
	return llm.Text{Text: block.Get("content").Str(), State: o.State}
}
