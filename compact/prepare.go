package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Summary is a summary that is to be written by a model.
type Summary struct {
	// Messages is the conversation to send for it: that which is to be summarised, and a prompt as
	// its last message. Sent with the same tools and settings as the conversation, it continues a
	// prefix that the provider has cached, unless it is Trimmed.
	Messages []llm.Message
	// Trimmed says that the conversation did not fit and a shortened copy is in Messages.
	Trimmed bool

	c *conversation
	l layout
}

// RejectedError says why a summary was not taken.
type RejectedError struct {
	Reason        string
	Before, After int64 // what the conversation weighs, in tokens; 0 if it did not come to that
}

func (e *RejectedError) Error() string {
	if e.After == 0 {
		return "compact: the summary was rejected: " + e.Reason
	}
	return fmt.Sprintf("compact: the summary was rejected: %s (%d tokens before, %d after)", e.Reason, e.Before, e.After)
}

// leastBody is what a summary must be allowed to take, in tokens, to be of any use.
const leastBody = 300

// Prepare decides what a summary is to stand for and makes the request for it. It reports false if
// there is nothing to summarise, if too little would be won, or if no request would fit.
func Prepare(m Meter, messages []llm.Message, g Goal) (Summary, bool) {
	c := divide(m, messages)
	target := g.target(m)
	room := c.room(target)
	chosen, found := c.choose(g.keeping(room), target, worthIt(c.weight))
	if !found {
		chosen, found = c.choose(g.shares(room), target, c.weight)
	}
	if !found {
		return Summary{}, false
	}
	prompt := llm.UserText(instructions(chosen.share.body))
	request, trimmed, ok := c.request(chosen.n, g.Request, prompt)
	return Summary{Messages: request, Trimmed: trimmed, c: c, l: chosen}, ok
}

// choose finds the first of the shares with which a summary would meet the target, or else the last
// one that leaves at most so much, the summary included.
func (c *conversation) choose(shares []share, target, most int64) (chosen layout, found bool) {
	for _, s := range shares {
		if s.plan >= 0 {
			break // there facts are cut short, which is for emergencies
		}
		s.body = max(s.body, leastBody)
		l := c.lay(s)
		after, ok := c.smaller(c.edit(l, "", Facts{}))
		if !ok || !c.summable(l.n) || after+leastBody > most {
			continue
		}
		chosen, found = l, true
		if after+s.body <= target {
			break
		}
	}
	return chosen, found
}

// summable reports whether the first n units hold anything but messages of the user.
func (c *conversation) summable(n int) bool {
	return slices.ContainsFunc(c.units[:n], func(u unit) bool { return u.kind == round || u.kind == earlier })
}

// Finish makes the edit that puts the model's answer in place as the summary. An answer that is no
// whole summary is refused with a [RejectedError]: one that was cut off or filtered, that calls a
// tool or says nothing. So is a summary that makes the conversation no smaller.
func (s Summary) Finish(answer llm.Message, reason llm.FinishReason, f Facts) (Edit, error) {
	if s.c == nil {
		return Edit{}, &RejectedError{Reason: "none was asked for"}
	}
	text, why := summaryText(answer, reason)
	if why != "" {
		return Edit{}, &RejectedError{Reason: why}
	}
	e := s.c.edit(s.l, text, f)
	after, ok := s.c.smaller(e)
	if !ok {
		return Edit{}, &RejectedError{Reason: "the conversation would not be smaller", Before: s.c.weight, After: after}
	}
	return e, nil
}

// summaryText is the summary in an answer, or what is wrong with it. It would be the only record of
// what it replaces, so anything but an answer that the model itself ended is refused.
func summaryText(answer llm.Message, reason llm.FinishReason) (text, wrong string) {
	text = strings.TrimSpace(strings.ToValidUTF8(answer.Text(), "\ufffd"))
	switch {
	case reason == llm.FinishContentFilter:
		return "", "the model or its provider refused to write it"
	case reason == llm.FinishLength:
		return "", "it was cut off"
	case len(answer.ToolCalls()) > 0 || reason == llm.FinishToolCalls:
		return "", "the model called a tool instead of writing it"
	case reason != llm.FinishStop && reason != llm.FinishOther:
		return "", fmt.Sprintf("the answer ended with %q", reason)
	case text == "":
		return "", "it is empty"
	}
	return text, ""
}
