package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// Speaker tells what a model says from what it thinks. The zero value is ready to use.
type Speaker struct{ aloud bool }

// Note applies a record of the agent whose words are shown: the start of a call names the model of the answer.
func (s *Speaker) Note(data event.Data) {
	if d, ok := data.(event.ModelCallStart); ok {
		m, known := llm.DefaultCatalogue().Like(d.Provider, d.Model)
		s.aloud = known && m.Rules.Hides
	}
}

// ThinksAloud reports whether the model writes what it says between tool calls as thinking. Such models hide their
// thinking, and show summaries of it.
func (s *Speaker) ThinksAloud() bool { return s.aloud }

// Words returns what the model says in an answer: its text or, if there is none beside tool calls, the thinking of a
// model that thinks aloud. The result is not safe to print.
func (s *Speaker) Words(m llm.Message) string {
	if text := m.Text(); text != "" || !s.aloud || len(m.ToolCalls()) == 0 {
		return text
	}
	return m.Thinking()
}

// Interrupted reports whether a model call ended only because the work was interrupted.
func Interrupted(e event.Error) bool { return e.Class == string(llm.ErrCancelled) }

// Refusal formats the refusal of a model to answer, with its category; "" for other ends of a call.
func Refusal(d event.ModelCallEnd) string {
	switch {
	case d.Error != nil || d.Finish != llm.FinishContentFilter:
		return ""
	case d.Detail == "":
		return "the model refused to answer"
	}
	return fmt.Sprintf("the model refused to answer (%s)", Summary(d.Detail))
}

// Dropped formats what the server did not show to the model; "" if it showed everything.
func Dropped(d event.ModelCallEnd) string {
	n, reasons := 0, []string{}
	for _, b := range d.Dropped {
		if b.Allowed {
			continue
		}
		n++
		if b.Reason != "" && !slices.Contains(reasons, b.Reason) {
			reasons = append(reasons, b.Reason)
		}
	}
	if n == 0 {
		return ""
	}
	text := "the server left out " + Plural(n, "thinking block")
	return strings.TrimSuffix(text+": "+Summary(strings.Join(reasons, ", ")), ": ")
}

// Method formats how a conversation was compacted.
func Method(m event.CompactionMethod) string {
	if m == event.CompactionServer {
		return "by the provider"
	}
	return OneLine(string(m))
}
