package anthropic

import (
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// Kinds of blocks.
const (
	opaqueBlock = iota
	textBlock
	thinkingBlock
	callBlock
	outputBlock // an output tool call, which becomes text
)

// block is the state of one content block.
type block struct {
	index     int64
	kind      int
	typ, id   string
	part      int    // assembler part, except for an opaque block
	input     string // tool call input in its start
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

// takes reports whether deltas with this type contain the block's text.
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

// unseen removes from a delta the text that repeats the block's start.
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

// state returns the block members except its text, as an object.
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
