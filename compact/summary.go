package compact

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// heading is the first part of every summary message, by which it is known. Sessions on disk have
// it, so it must not change.
const heading = "# The conversation so far, compacted\n\n" +
	"The conversation had grown too long. The user's messages above are as they were written, or say where they are cut; what was said and done " +
	"between them is replaced by what follows. It is a record, not a new request: go on with the work from where it stands."

// The other parts begin with one of these.
const (
	bodyTitle  = "## What happened\n\n"
	planTitle  = "## Plan\n\n"
	filesTitle = "## Files touched\n\n"
	leftTitle  = "## Left out\n\n"
)

// IsSummary reports whether the message is one that an [Edit] put in to stand for what it replaced.
func IsSummary(msg llm.Message) bool {
	if msg.Role != llm.RoleUser || len(msg.Parts) == 0 {
		return false
	}
	t, ok := msg.Parts[0].(llm.Text)
	return ok && t.Text == heading
}

// record is what a summary message says.
type record struct {
	body  string
	facts Facts
	left  string // what was left out of the user's messages
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
	if r.left != "" {
		parts = append(parts, llm.Text{Text: leftTitle + r.left})
	}
	return llm.Message{Role: llm.RoleUser, Parts: parts}
}

// readRecord takes a summary message apart.
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

// under is what the facts are together with those of an earlier summary.
func (f Facts) under(old Facts) Facts {
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

// remembered is what earlier summaries in the units up to n say.
func (c *conversation) remembered(n int) (r record) {
	for _, u := range c.units[:n] {
		if u.kind != earlier {
			continue
		}
		old := readRecord(c.messages[u.from])
		if r.body != "" {
			old.body = r.body + "\n\n" + old.body
		}
		r = record{body: old.body, facts: old.facts.under(r.facts)}
	}
	return r
}
