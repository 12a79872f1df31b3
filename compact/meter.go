package compact

import (
	"math"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Meter estimates the number of tokens in a conversation: the provider's last count, plus an estimate
// for later messages that is calibrated by the provider's counts. The zero value is ready to use, and a
// Meter may be copied.
type Meter struct {
	ratio    float64 // bytes of text per token; 0 is not known yet
	counted  int64   // by the provider, if exact
	exact    bool
	since    load  // messages after the count
	all      load  // the whole conversation
	overhead int64 // what the provider counts besides the messages, such as tools
}

const (
	defaultRatio       = 4.0
	minRatio, maxRatio = 1.5, 8.0

	// minSample is the minimum number of bytes between two counts to learn from them.
	minSample = 400
	// fullSample is the number of bytes that would give an observation the weight 1; the maximum is 0.5.
	fullSample = 8000

	// surprising is the factor above which an observation may have other causes than the text:
	// providers stop counting old thinking, and another model counts differently.
	surprising = 1.6
	minWeight  = 0.1

	maxTokens = 1 << 40 // above any sensible count
)

// Add adds a message to the conversation.
func (m *Meter) Add(msg llm.Message) {
	l := messageLoad(msg)
	m.since, m.all = m.since.add(l), m.all.add(l)
}

// Reported records the provider's count for the conversation, after its answer was added. It ignores a usage without
// input tokens.
func (m *Meter) Reported(u llm.Usage) {
	if u.Input <= 0 {
		return
	}
	total := min(u.Input, maxTokens) + min(max(u.Output, 0), maxTokens)
	if m.exact {
		m.learn(total - m.counted)
	} else if text := total - m.all.tokens; text > 0 && m.tokens(m.all) > total {
		// The count is below the estimate for the messages alone, so the ratio must be wrong.
		m.ratio = bounded(float64(m.all.bytes) / float64(text))
	}
	m.counted = total
	m.exact = true
	m.since = load{}
	m.overhead = max(0, total-m.tokens(m.all))
}

// learn moves the ratio towards the ratio measured for the messages between two counts, which differ by tokens. Both
// counts include the overhead. It ignores messages with media.
func (m *Meter) learn(tokens int64) {
	if tokens <= 0 || m.since.bytes < minSample || m.since.tokens > 0 {
		return
	}
	seen := bounded(float64(m.since.bytes) / float64(tokens))
	ratio := m.bytesPerToken()
	weight := min(0.5, max(minWeight, float64(m.since.bytes)/fullSample))
	if seen > surprising*ratio || ratio > surprising*seen {
		weight = minWeight
	}
	m.ratio = bounded(ratio + weight*(seen-ratio))
}

// Estimate returns the approximate number of tokens in the conversation, including the overhead as far
// as it is known.
func (m Meter) Estimate() int64 {
	if m.exact {
		return m.counted + m.tokens(m.since)
	}
	return m.overhead + m.tokens(m.all)
}

// Least returns a lower bound for any provider's token count of the conversation's text, without thinking, and whether
// the conversation has thinking, which providers drop from earlier turns.
func (m Meter) Least() (tokens int64, thinking bool) {
	return int64(float64(m.all.bytes-m.all.thought) / maxRatio), m.all.thought > 0
}

// Weigh returns the approximate number of tokens in messages.
func (m Meter) Weigh(msgs ...llm.Message) int64 {
	var sum load
	for _, msg := range msgs {
		sum = sum.add(messageLoad(msg))
	}
	return m.tokens(sum)
}

// Overhead returns the approximate number of tokens that the provider counts besides the messages; 0 if
// it has not counted yet.
func (m Meter) Overhead() int64 { return m.overhead }

// Reset replaces the whole conversation. The calibration stays.
func (m *Meter) Reset(msgs []llm.Message) {
	m.counted = 0
	m.exact = false
	m.since = load{}
	m.all = load{}
	for _, msg := range msgs {
		m.all = m.all.add(messageLoad(msg))
	}
}

func (m Meter) tokens(l load) int64 {
	return l.tokens + int64(math.Ceil(float64(l.bytes)/m.bytesPerToken()))
}

// bytes returns the number of bytes in a number of tokens of text.
func (m Meter) bytes(tokens int64) int {
	return int(float64(max(0, min(tokens, maxTokens))) * m.bytesPerToken())
}

func (m Meter) bytesPerToken() float64 {
	if m.ratio == 0 {
		return defaultRatio
	}
	return m.ratio
}

func bounded(ratio float64) float64 { return min(maxRatio, max(minRatio, ratio)) }

// load is the size of messages: bytes of text, which the ratio converts to tokens, and tokens of media,
// which do not depend on it. thought is the part of bytes that providers may drop.
type load struct{ bytes, tokens, thought int64 }

func (l load) add(o load) load {
	return load{l.bytes + o.bytes, l.tokens + o.tokens, l.thought + o.thought}
}

// frameBytes is the overhead of each message, call and result.
const frameBytes = 12

// mediaTokens is the minimum for an image, a recording or a document.
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
		n := int64(len(p.Text))
		if p.Text == "" {
			n = int64(len(p.State.Data) / 2) // encrypted: about two bytes for one of text
		}
		return load{bytes: n, thought: n}
	case llm.ToolCall:
		return load{bytes: frameBytes + int64(len(p.Name)+len(p.Arguments))}
	case llm.ToolResult:
		return partsLoad(p.Parts).add(load{bytes: frameBytes})
	case llm.ToolChange:
		n := 0
		for _, t := range p.Add {
			n += len(t.Name) + len(t.Description) + len(t.Parameters)
		}
		return load{bytes: int64(n)}
	case llm.Opaque:
		return load{bytes: int64(len(p.State.Data)), thought: int64(len(p.State.Data))}
	case llm.Audio:
		return mediaLoad(p.Media, 500)
	case llm.Document:
		return mediaLoad(p.Media, 25)
	}
	return load{tokens: mediaTokens}
}

// mediaLoad returns a file's load with perToken bytes per token.
func mediaLoad(m llm.Media, perToken int64) load {
	if strings.HasPrefix(m.MIME, "text/") {
		return load{bytes: int64(len(m.Data)), tokens: mediaTokens / 10}
	}
	return load{tokens: max(mediaTokens, int64(len(m.Data))/perToken)}
}

// mediaName returns a media part's name, or "" for any other part.
func mediaName(p llm.Part) string {
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
