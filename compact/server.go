package compact

import (
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// ServerSummary is a summary to be written by the provider itself, in place of the older part of the conversation. The
// kept thinking stays valid on models that bind it to everything before it.
type ServerSummary struct {
	Messages     []llm.Message // the request: a prefix of the conversation
	Instructions string        // for Request.Compact

	c    *conversation
	n    int
	pins int64
}

// PrepareServer decides what the provider summarises. It reports false if that would save too little, if the request
// would not fit, or if something in the older part would lose its effect: a system message or a tool change.
func PrepareServer(m Meter, messages []llm.Message, g Goal, f Facts) (ServerSummary, bool) {
	c := divide(m, messages)
	room := c.room(g.target(m))
	s := ServerSummary{c: c, n: c.cut(room / 2), pins: min(20_000, room/4)}
	s.Messages = c.messages[:c.at(s.n):c.at(s.n)]
	whole := m.Weigh(s.Messages...) + m.overhead
	late := slices.ContainsFunc(c.units[:s.n], func(u unit) bool { return u.kind == instruction })
	if c.open >= 0 || late || !c.summable(s.n) || g.Request > 0 && whole > g.Request {
		return ServerSummary{}, false
	}
	after := c.m.Weigh(c.messages[c.at(s.n):]...) + minBody
	if after+c.m.Weigh(c.messages[:c.head]...) > worthIt(c.weight) {
		return ServerSummary{}, false
	}
	s.Instructions = instructions(min(6000, max(minBody, room/8))) + factsPrompt(f.merge(c.remembered(s.n).facts))
	return s, true
}

// Signed returns the summary that the provider has written for the first messages, so that Finish can insert it. It
// reports false if the conversation cannot be divided there.
func Signed(m Meter, messages []llm.Message, covers int, g Goal) (ServerSummary, bool) {
	c := divide(m, messages)
	for n := range len(c.units) + 1 {
		if c.at(n) == covers {
			pins := min(20_000, c.room(g.target(m))/4)
			return ServerSummary{Messages: messages[:covers:covers], c: c, n: n, pins: pins}, c.open < 0 || n <= c.open
		}
	}
	return ServerSummary{}, false
}

// factsPrompt asks for facts that the summary must contain.
func factsPrompt(f Facts) (text string) {
	if f.Plan != "" {
		text += "\n\nEnd the summary with this plan, unchanged:\n" + f.Plan
	}
	return text
}

// cut returns the number of units to summarise, so that the rest takes at most tail tokens. Providers accept thinking
// after a cut only if it is between a user message and an answer, or the reverse.
func (c *conversation) cut(tail int64) int {
	must := c.mandatory()
	n, kept := must, 0
	for n > 0 {
		u := c.units[n-1]
		if u.kind == earlier || u.weight > tail || u.kind == round && kept == keptRounds {
			break
		}
		if u.kind == round {
			kept++
		}
		tail -= u.weight
		n--
	}
	for n < must && !c.separates(n) {
		n++
	}
	return n
}

// separates reports whether the roles before and after unit n differ.
func (c *conversation) separates(n int) bool {
	if n == 0 || c.units[n].kind == round {
		return true
	}
	before := c.units[n-1]
	return c.units[n].kind == spoken && before.kind == round && before.to == before.from+1
}

// Finish returns the edit that inserts the provider's summary. The user's messages in the replaced part are appended to
// the conversation, unchanged as far as their budget allows, because nothing may stand between the summary and the kept
// part. It fails without a summary, or if the conversation would not become smaller.
func (s ServerSummary) Finish(summary llm.Text, f Facts) (Edit, error) {
	if s.c == nil || summary.Text == "" {
		return Edit{}, rejected("the provider returned none")
	}
	r := record{body: summary.Text, facts: f.merge(s.c.remembered(s.n).facts)}
	msg := r.message()
	msg.Parts[0] = llm.Text{Text: heading, State: summary.State}
	e := Edit{Replaced: s.c.at(s.n) - s.c.head, Messages: []llm.Message{msg}}
	if words, ok := s.c.words(s.n, s.pins); ok && s.c.open < 0 {
		e.Appended = []llm.Message{words}
	}
	if after, ok := s.c.smaller(e); !ok {
		return Edit{}, rejected(fmt.Sprintf("it would not make the conversation smaller (%d tokens before, %d after)", s.c.weight, after))
	}
	return e, nil
}

// wordsHeading begins a message that repeats user messages.
const wordsHeading = "# The user's messages before the summary\n\nThey are repeated here word for word, or say where they are " +
	"truncated. They are not new requests."

// words returns a message that repeats the user's messages in the first n units, and whether there are any.
func (c *conversation) words(n int, budget int64) (llm.Message, bool) {
	pins, omitted := c.pins(n, share{pins: budget, minFirst: 200}, true)
	parts := []llm.Part{llm.Text{Text: wordsHeading}}
	for _, msg := range pins {
		if repeats(msg) {
			parts = append(parts, msg.Parts[1:]...)
		} else {
			parts = append(parts, llm.Text{Text: plain(msg.Parts)})
		}
	}
	if omitted > 0 {
		parts = append(parts, llm.Text{Text: fmt.Sprintf("(%d more messages are omitted.)", omitted)})
	}
	return llm.Message{Role: llm.RoleUser, Parts: parts}, len(pins) > 0
}

// repeats reports whether a message repeats user messages.
func repeats(msg llm.Message) bool {
	if len(msg.Parts) < 2 {
		return false
	}
	t, ok := msg.Parts[0].(llm.Text)
	return ok && t.Text == wordsHeading
}
