package anthropic

import (
	"strings"

	"github.com/reins-agent/reins/llm/wire"
)

// Kinds of blocks.
const (
	opaqueBlock = iota
	textBlock
	thinkingBlock
	callBlock
	outputBlock // a call of the output tool, which becomes text
)

// block is the state of a content block.
type block struct {
	index     int64
	kind      int
	typ, id   string
	part      int    // of the assembler, except for an opaque block
	input     string // of a tool call, from its start
	signature []byte
	citations []byte
	extra     []byte
	opaque    *opaque
	repeated  string // text that the next deltas may repeat
	tokens    int64  // of thinking, as the server estimates them
	touched   bool   // there were deltas
	filled    bool   // it was in message_start
	closed    bool
	hollow    bool // a closed call without arguments
}

// takes reports whether deltas of this kind contain the block's text.
func (b *block) takes(kind wire.Value) bool {
	switch b.kind {
	case textBlock:
		return kind.Is("text_delta")
	case thinkingBlock:
		return kind.Is("thinking_delta")
	case callBlock, outputBlock:
		return kind.Is("input_json_delta")
	}
	return false
}

// add applies a delta without text, and reports whether it fits the block.
func (b *block) add(kind, value, delta wire.Value) bool {
	switch {
	case b.kind == opaqueBlock:
		b.opaque.add(delta)
	case b.kind == thinkingBlock && kind.Is("signature_delta"):
		if s := value.Str(); s != string(b.signature) {
			b.signature = append(b.signature, s...)
		}
	case b.kind == textBlock && kind.Is("citations_delta"):
		b.cite(value)
	default:
		return false
	}
	return true
}

// unseen returns the text of a delta without what repeats the start of the block.
func (b *block) unseen(s string) string {
	if b.repeated == "" {
		return s
	}
	if rest, ok := strings.CutPrefix(b.repeated, s); ok {
		b.repeated = rest
		return ""
	}
	rest, _ := strings.CutPrefix(s, b.repeated)
	b.repeated = ""
	return rest
}

func (b *block) cite(citation wire.Value) {
	if len(b.citations) > 0 {
		b.citations = append(b.citations, ',')
	}
	b.citations = append(b.citations, citation...)
}

// state returns the members of the block except its text, as an object.
func (b *block) state() []byte {
	if len(b.signature) == 0 && len(b.citations) == 0 {
		return b.extra
	}
	var e wire.Encoder
	e.Open('{')
	e.StrField("signature", string(b.signature))
	if len(b.citations) > 0 {
		e.Key("citations")
		e.Open('[')
		e.Raw(b.citations)
		e.Close(']')
	}
	for m := wire.Value(b.extra).Members(); m.Next(); {
		e.Member(m.Key, m.Value)
	}
	e.Close('}')
	return e.Buf
}
