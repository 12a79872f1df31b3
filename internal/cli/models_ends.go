package cli

import (
	"fmt"
	"time"

	"github.com/reins-agent/reins/llm"
)

// endsSoon is how long before its end a model is reported.
const endsSoon = 60 * 24 * time.Hour

// time returns the current time.
func (h Host) time() time.Time {
	if h.now != nil {
		return h.now()
	}
	return time.Now()
}

// noteModel reports what an alias means, and the end of a model.
func noteModel(h Host, known *llm.Catalogue, provider, alias, model string) {
	if alias != "" {
		notef(h, "%s is %s", alias, model)
	}
	if m, ok := known.Exact(provider, model); ok {
		if note := endNote(known, m, h.time()); note != "" {
			notef(h, "%s", note)
		}
	}
}

// endNote returns a warning about a model that has ended or ends soon, or "".
func endNote(known *llm.Catalogue, m llm.Model, now time.Time) string {
	note := ""
	switch {
	case m.Ended(now) && m.Ends != "":
		note = fmt.Sprintf("%s ended on %s and may not answer", m.ID, m.Ends)
	case m.Ended(now):
		note = fmt.Sprintf("%s is retired and may not answer", m.ID)
	case m.Ended(now.Add(endsSoon)):
		note = fmt.Sprintf("%s ends on %s", m.ID, m.Ends)
	default:
		return ""
	}
	if next, ok := known.Successor(m); ok {
		note += "; use " + next.ID
	}
	return note
}

// modelStatus returns what the list of models shows about the end of a model.
func modelStatus(m llm.Model, now time.Time) string {
	switch {
	case m.Ended(now):
		return "retired"
	case m.Ends != "":
		return "ends " + m.Ends
	}
	return "-"
}
