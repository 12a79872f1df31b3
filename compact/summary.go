package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Summary is a summary to be written by a model.
type Summary struct {
	// Messages is the request: the conversation to summarise, and a prompt as its last message. Sent
	// with the same tools and settings as the conversation, it continues a prefix that the provider
	// has cached, unless it had to be shortened.
	Messages []llm.Message

	c *conversation
	l layout
}

// minBody is a summary's minimum size, in tokens.
const minBody = 300

// Prepare decides what to summarise and returns the request. It reports false if the conversation has nothing to
// summarise, if that would save too little, or if no request would fit.
func Prepare(m Meter, messages []llm.Message, g Goal) (Summary, bool) {
	c := divide(m, messages)
	target := g.target(m)
	room := c.room(target)
	chosen, found := c.choose(sharesWithRound(room), target, worthIt(c.weight))
	if !found {
		chosen, found = c.choose(shares(room), target, c.weight)
	}
	if !found {
		return Summary{}, false
	}
	prompt := llm.UserText(instructions(chosen.share.body))
	request, ok := c.request(chosen.n, g.Request, prompt)
	return Summary{Messages: request, c: c, l: chosen}, ok
}

// choose returns the layout for the first share that meets the target with a summary, or else for the last share that
// does not exceed maximum.
func (c *conversation) choose(shares []share, target, maximum int64) (chosen layout, found bool) {
	for _, s := range shares {
		if s.facts >= 0 {
			break // a summary never truncates facts
		}
		s.body = max(s.body, minBody)
		l := c.lay(s)
		after, ok := c.smaller(c.edit(l, "", Facts{}))
		if !ok || !c.summable(l.n) || after+minBody > maximum {
			continue
		}
		chosen, found = l, true
		if after+s.body <= target {
			break
		}
	}
	return chosen, found
}

// summable reports whether the first n units contain anything but user messages.
func (c *conversation) summable(n int) bool {
	return slices.ContainsFunc(c.units[:n], func(u unit) bool { return u.kind == round || u.kind == earlier })
}

// Finish returns the edit that inserts the model's answer as the summary. It fails if the answer is
// truncated, filtered, empty or calls a tool, or if the conversation would not become smaller.
func (s Summary) Finish(answer llm.Message, reason llm.FinishReason, f Facts) (Edit, error) {
	if s.c == nil {
		return Edit{}, rejected("it was not prepared")
	}
	text, why := summaryText(answer, reason)
	if why != "" {
		return Edit{}, rejected(why)
	}
	e := s.c.edit(s.l, text, f)
	if after, ok := s.c.smaller(e); !ok {
		return Edit{}, rejected(fmt.Sprintf("it would not make the conversation smaller (%d tokens before, %d after)", s.c.weight, after))
	}
	return e, nil
}

func rejected(why string) error { return fmt.Errorf("compact: summary rejected: %s", why) }

// summaryText returns the summary in an answer, or why it has none. A summary replaces the only record of
// the earlier messages, so the model must have ended the answer itself.
func summaryText(answer llm.Message, reason llm.FinishReason) (text, why string) {
	text = strings.TrimSpace(strings.ToValidUTF8(answer.Text(), "\ufffd"))
	switch {
	case reason == llm.FinishContentFilter:
		return "", "the model or its provider refused to write it"
	case reason == llm.FinishLength:
		return "", "it is truncated"
	case len(answer.ToolCalls()) > 0 || reason == llm.FinishToolCalls:
		return "", "the model called a tool instead of writing it"
	case reason != llm.FinishStop && reason != llm.FinishOther:
		return "", fmt.Sprintf("unexpected finish reason %q", reason)
	case text == "":
		return "", "it is empty"
	}
	return text, ""
}

// instructions returns the prompt for a summary.
func instructions(tokens int64) string {
	return fmt.Sprintf(
		`This conversation is about to be compacted. Write a summary to replace it. Whoever continues the work will see only the user's messages and your summary. Do not continue the work, do not call tools and do not answer questions now; write the summary and nothing else.

Use these headings:

Goal: what the user wants in the end, with every requirement and preference that still applies.
Decisions: what was decided and why, including what was tried and given up, so that it is not tried again.
State: what is done and verified, what is done but not verified, and what is half done. Describe the code as it is now where it matters.
Problems: what is broken, failing or unclear, with the exact error messages.
Next: the next steps in order, starting with the one in progress.
Details: everything that is needed word for word: names, paths, line numbers, commands that work, signatures, values, URLs.

If the conversation already contains a summary, keep what still applies; yours replaces it. Be exact and complete. Leave out what can be read from the files again, and do not invent anything. Use at most %d words.`,
		max(150, tokens*2/3),
	)
}

// trimmedNote replaces the messages that do not fit into a summary request.
const trimmedNote = "[Part of the conversation does not fit here and is omitted. What is known about it:]\n\n"

// request returns the messages that ask for a summary of the first n units. If they do not fit the limit, it clears old
// results and then drops the oldest units. It reports false if that is not enough.
func (c *conversation) request(n int, limit int64, prompt llm.Message) ([]llm.Message, bool) {
	prefix := c.messages[:c.at(n)]
	whole := c.m.Weigh(prefix...) + c.m.Weigh(prompt)
	if limit <= 0 || whole <= limit-c.m.overhead {
		return append(slices.Clone(prefix), prompt), true
	}
	limit = max(0, limit-c.m.overhead)
	cleared, err := Edit{Cleared: c.clear(n, whole-limit)}.Apply(prefix)
	if err != nil {
		return nil, false
	}
	if c.m.Weigh(cleared...)+c.m.Weigh(prompt) > limit {
		cleared = c.dropOldest(cleared, n, limit-c.m.Weigh(prompt))
	}
	messages := append(cleared, prompt)
	return messages, c.m.Weigh(messages...) <= limit
}

// dropOldest replaces the oldest units among the first n with a digest, to fit the limit. The units' messages are given with
// their results cleared.
func (c *conversation) dropOldest(cleared []llm.Message, n int, limit int64) []llm.Message {
	room := max(0, limit-c.m.Weigh(cleared[:c.head]...))
	k, rest := n, room/2
	for k > 0 {
		if rest -= c.m.Weigh(cleared[c.at(k-1):c.at(k)]...); rest < 0 {
			break
		}
		k--
	}
	for k < n && cleared[c.at(k)].Role == llm.RoleTool {
		k++
	}
	pins, _ := c.pins(k, share{pins: room / 4}, false)
	note := llm.UserText(trimmedNote + c.digest(k, room/8))
	return slices.Concat(cleared[:c.head], pins, []llm.Message{note}, cleared[c.at(k):])
}

// heading is the first part of every summary message and identifies it, also in saved sessions.
const heading = "# Summary of the conversation so far\n\n" +
	"The conversation was too long and has been compacted. The user's messages above are unchanged, or say where they are truncated. " +
	"This summary replaces everything else. It is a record, not a new request: continue the work from here."

// Each of the other parts starts with one of these headings.
const (
	bodyTitle    = "## What happened\n\n"
	planTitle    = "## Plan\n\n"
	filesTitle   = "## Changed files\n\n"
	omittedTitle = "## Omitted\n\n"
)

// isSummary reports whether a message is the summary that an [Edit] inserted.
func isSummary(msg llm.Message) bool {
	if msg.Role != llm.RoleUser || len(msg.Parts) == 0 {
		return false
	}
	t, ok := msg.Parts[0].(llm.Text)
	return ok && t.Text == heading
}

// record is a summary message's content.
type record struct {
	body    string
	facts   Facts
	omitted int // user messages
}

func (r record) message() llm.Message {
	parts := []llm.Part{llm.Text{Text: heading}}
	if r.body != "" {
		parts = append(parts, llm.Text{Text: bodyTitle + r.body})
	}
	if r.facts.Plan != "" {
		parts = append(parts, llm.Text{Text: planTitle + r.facts.Plan})
	}
	if len(r.facts.Files) > 0 {
		parts = append(parts, llm.Text{Text: filesTitle + "- " + strings.Join(r.facts.Files, "\n- ")})
	}
	if r.omitted > 0 {
		parts = append(parts, llm.Text{Text: omittedTitle + fmt.Sprintf("%d earlier user messages.", r.omitted)})
	}
	return llm.Message{Role: llm.RoleUser, Parts: parts}
}

// readRecord parses a summary message.
func readRecord(msg llm.Message) (r record) {
	for _, p := range msg.Parts[1:] {
		t, _ := p.(llm.Text)
		if body, ok := strings.CutPrefix(t.Text, bodyTitle); ok {
			r.body = body
		} else if plan, ok := strings.CutPrefix(t.Text, planTitle); ok {
			r.facts.Plan = plan
		} else if files, ok := strings.CutPrefix(t.Text, filesTitle+"- "); ok {
			r.facts.Files = strings.Split(files, "\n- ")
		}
	}
	return r
}

// merge adds an earlier summary's facts.
func (f Facts) merge(old Facts) Facts {
	if f.Plan == "" {
		f.Plan = old.Plan
	}
	seen := make(map[string]bool, len(f.Files)+len(old.Files))
	var files []string
	for _, name := range slices.Concat(old.Files, f.Files) {
		if name != "" && !seen[name] {
			seen[name] = true
			files = append(files, name)
		}
	}
	f.Files = files
	return f
}

// remembered returns the content of earlier summaries in the first n units.
func (c *conversation) remembered(n int) (r record) {
	for _, u := range c.units[:n] {
		if u.kind != earlier {
			continue
		}
		old := readRecord(c.messages[u.from])
		if r.body != "" {
			old.body = r.body + "\n\n" + old.body
		}
		r = record{body: old.body, facts: old.facts.merge(r.facts)}
	}
	return r
}
