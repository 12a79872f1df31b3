package compact

import (
	"strings"

	"github.com/reins-agent/reins/llm"
)

// load is what messages weigh: bytes of text, which the ratio turns into tokens, and tokens of
// media, which do not depend on it.
type load struct{ bytes, tokens int64 }

func (l load) add(o load) load { return load{l.bytes + o.bytes, l.tokens + o.tokens} }

// frameBytes is what it takes to wrap a message, a call or a result, whatever is in it.
const frameBytes = 12

// mediaTokens is the least that an image, a recording or a document counts for.
const mediaTokens = 1500

func messageLoad(msg llm.Message) load {
	return partsLoad(msg.Parts).add(load{bytes: frameBytes})
}

func partsLoad(parts []llm.Part) (sum load) {
	for _, p := range parts {
		sum = sum.add(partLoad(p))
	}
	return sum
}

func partLoad(p llm.Part) load {
	switch p := p.(type) {
	case llm.Text:
		return load{bytes: int64(len(p.Text))}
	case llm.Thinking:
		if p.Text == "" {
			// Encrypted: what stands for a byte of text takes about two.
			return load{bytes: int64(len(p.State.Data) / 2)}
		}
		return load{bytes: int64(len(p.Text))}
	case llm.ToolCall:
		return load{bytes: frameBytes + int64(len(p.Name)+len(p.Arguments))}
	case llm.ToolResult:
		return partsLoad(p.Parts).add(load{bytes: frameBytes})
	case llm.Opaque:
		return load{bytes: int64(len(p.State.Data))}
	case llm.Audio:
		return mediaLoad(p.Media, 500)
	case llm.Document:
		return mediaLoad(p.Media, 25)
	}
	return load{tokens: mediaTokens}
}

// mediaLoad weighs a file of which so many bytes make a token.
func mediaLoad(m llm.Media, perToken int64) load {
	if strings.HasPrefix(m.MIME, "text/") {
		return load{bytes: int64(len(m.Data)), tokens: mediaTokens / 10}
	}
	return load{tokens: max(mediaTokens, int64(len(m.Data))/perToken)}
}

// mediaName is the word for a part that is a file, or "".
func mediaName(p llm.Part) string {
	switch p.(type) {
	case llm.Image:
		return "image"
	case llm.Audio:
		return "audio"
	case llm.Document:
		return "document"
	}
	return ""
}
