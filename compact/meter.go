package compact

import (
	"math"

	"github.com/reins-agent/reins/llm"
)

// Meter estimates how many tokens a conversation takes: what the provider counted last, and for
// what came since an estimate that the provider's counts have calibrated. The zero value is ready
// and a Meter may be copied.
type Meter struct {
	ratio    float64 // bytes of text to a token; 0 is not known yet
	counted  int64   // by the provider, if exact
	exact    bool
	since    load  // what came after the count
	all      load  // the whole conversation
	overhead int64 // what the provider counts beside the messages, such as tools
}

const (
	standardRatio      = 4.0
	minRatio, maxRatio = 1.5, 8.0

	// minSample is how much text must have come between two counts to learn from them.
	minSample = 400
	// fullSample is how much text gives the most weight that one observation can have.
	fullSample = 8000

	// surprising is by what factor an observation is off that may not be of text at all: providers
	// drop old thinking from what they count, and another model counts everything anew.
	surprising  = 1.6
	leastWeight = 0.1

	maxTokens = 1 << 40 // more than any count that makes sense
)

// Add takes a message that was put at the end of the conversation.
func (m *Meter) Add(msg llm.Message) {
	l := messageLoad(msg)
	m.since, m.all = m.since.add(l), m.all.add(l)
}

// Reported takes the provider's count of the conversation up to here, after its answer was added.
// A usage without input tokens says nothing.
func (m *Meter) Reported(u llm.Usage) {
	if u.Input <= 0 {
		return
	}
	total := min(u.Input, maxTokens) + min(max(u.Output, 0), maxTokens)
	if m.exact {
		m.learn(total - m.counted)
	} else if text := total - m.all.tokens; text > 0 && m.tokens(m.all) > total {
		// Less than the messages alone were thought to take: only the ratio can be wrong.
		m.ratio = bounded(float64(m.all.bytes) / float64(text))
	}
	m.counted, m.exact, m.since = total, true, load{}
	m.overhead = max(0, total-m.tokens(m.all))
}

// learn moves the ratio towards what the last stretch of the conversation shows. What comes beside
// the messages is in both counts, and so not in their difference. Media would blur the picture.
func (m *Meter) learn(tokens int64) {
	if tokens <= 0 || m.since.bytes < minSample || m.since.tokens > 0 {
		return
	}
	seen := bounded(float64(m.since.bytes) / float64(tokens))
	ratio := m.bytesPerToken()
	weight := min(0.5, max(leastWeight, float64(m.since.bytes)/fullSample))
	if seen > surprising*ratio || ratio > surprising*seen {
		weight = leastWeight
	}
	m.ratio = bounded(ratio + weight*(seen-ratio))
}

// Estimate is about how many tokens the conversation takes, with everything that the provider
// counts beside the messages, as far as that is known.
func (m Meter) Estimate() int64 {
	if m.exact {
		return m.counted + m.tokens(m.since)
	}
	return m.overhead + m.tokens(m.all)
}

// Weigh is about how many tokens the messages take by themselves.
func (m Meter) Weigh(msgs ...llm.Message) int64 {
	var sum load
	for _, msg := range msgs {
		sum = sum.add(messageLoad(msg))
	}
	return m.tokens(sum)
}

// Overhead is about how many tokens the provider counts beside the messages; 0 if it has not
// counted yet.
func (m Meter) Overhead() int64 { return m.overhead }

// Reset takes the messages for the whole conversation from now on. What was learned stays.
func (m *Meter) Reset(msgs []llm.Message) {
	m.counted, m.exact, m.since, m.all = 0, false, load{}, load{}
	for _, msg := range msgs {
		m.all = m.all.add(messageLoad(msg))
	}
}

func (m Meter) tokens(l load) int64 {
	return l.tokens + int64(math.Ceil(float64(l.bytes)/m.bytesPerToken()))
}

// bytes is how much text makes so many tokens.
func (m Meter) bytes(tokens int64) int {
	return int(float64(max(0, min(tokens, maxTokens))) * m.bytesPerToken())
}

func (m Meter) bytesPerToken() float64 {
	if m.ratio == 0 {
		return standardRatio
	}
	return m.ratio
}

func bounded(ratio float64) float64 { return min(maxRatio, max(minRatio, ratio)) }
