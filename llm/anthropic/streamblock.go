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

// block is a content block that is being read.
type block struct {
	index     int64
	kind      int
	typ, id   string
	part      int    // of the assembler; of an opaque block there is none yet
	input     string // of a tool call, as its start gives it
	signature []byte
	citations []byte
	extra     []byte
	opaque    *opaque
	repeated  string // what the deltas to come may say again
	touched   bool   // there were deltas
	filled    bool   // message_start held it already
	closed    bool
	hollow    bool // a call that is closed and has no arguments yet
}

// takes reports whether deltas of this kind bring the block's text.
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

// add takes up a delta that brings something else, and reports whether the block has such things.
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

// unseen is what of a delta is not a repetition of what the block held from the start.
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

// state is what the block holds beside its text, as an object.
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
		writeMember(&e, m.Key, m.Value)
	}
	e.Close('}')
	return e.Buf
}
