package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/tool"
)

// pageRows is how many rows are shown at once.
const pageRows = 400

// answerUnseen approves a call without viewing all of it.
const answerUnseen = "yes all"

// callQuestion asks on the terminal for a call's approval.
type callQuestion struct {
	rows    []string     // what the user decides on, without the pages that were shown
	choices []ask.Choice // the answers after the last page; the last one refuses
}

// newCallQuestion lays out a question: who asks, what for, and why.
func newCallQuestion(q ask.Question, width int, colour bool) *callQuestion {
	head := q.Who + " asks: " + q.Title
	if q.Kind == ask.Plan {
		head = q.Who + " has a plan:"
	}
	s := &sheet{width: width}
	s.describe(q, colour)
	return &callQuestion{rows: append([]string{"", head}, s.rows...), choices: q.Choices}
}

// sheet collects a question's rows.
type sheet struct {
	rows  []string
	width int // in columns; 0 means no limit
}

// describe adds what is decided: what the tool says, the diff, and everything else.
func (s *sheet) describe(q ask.Question, colour bool) {
	for _, r := range q.Rows {
		if r.Kind == ask.RowText {
			s.add("  ", r.Text)
		}
	}
	if q.Diff != "" {
		s.indent("  ", show.DiffRows(q.Diff, s.room("  "), colour))
	}
	for _, r := range q.Rows {
		if indent, label := rowLabel(r.Kind); r.Kind != ask.RowText {
			s.add(indent, label+r.Text)
		}
	}
}

// rowLabel returns how a row is indented, and what it begins with.
func rowLabel(k ask.RowKind) (indent, label string) {
	switch k {
	case ask.RowCommand:
		return "  ", "runs: "
	case ask.RowDir:
		return "    ", "in "
	case ask.RowPart:
		return "    ", "part: "
	case ask.RowArguments:
		return "  ", "arguments: "
	case ask.RowWhy:
		return "  ", "why: "
	}
	return "  ", ""
}

// add adds untrusted text.
func (s *sheet) add(indent, text string) {
	s.indent(indent, show.Rows(text, s.room(indent)))
}

// room returns the width for text that is indented.
func (s *sheet) room(indent string) int {
	if s.width == 0 {
		return 0
	}
	const minimum = 10
	return max(s.width-len(indent)-1, minimum)
}

func (s *sheet) indent(indent string, rows []string) {
	for _, row := range rows {
		s.rows = append(s.rows, indent+row)
	}
}

// offer is an answer that is possible now.
type offer struct {
	key, text string
	answer    ask.Answer
	more      bool // shows the next page
}

// offered returns the answers that are possible now. A call that was not shown completely can be approved only with
// answerUnseen.
func (q *callQuestion) offered() (list []offer) {
	for _, c := range q.choices {
		list = append(list, offer{key: c.Key, text: c.Text, answer: ask.Answer{Choice: c.Key}})
	}
	if len(q.rows) == 0 {
		return list
	}
	return []offer{
		{key: "v", text: fmt.Sprintf("view the next part; %s are not shown yet", show.Plural(len(q.rows), "line")), more: true},
		{key: answerUnseen, text: "yes, once, without viewing the rest", answer: list[0].answer},
		list[len(list)-1],
	}
}

// page returns the next rows, and the answers that are possible after them.
func (q *callQuestion) page() string {
	n := min(len(q.rows), pageRows)
	rows := q.rows[:n]
	q.rows = q.rows[n:]
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(row + "\n")
	}
	return b.String() + q.answers()
}

// answers lists the answers that are possible now.
func (q *callQuestion) answers() string {
	var b strings.Builder
	width := 0
	for _, c := range q.offered() {
		width = max(width, len(c.key))
	}
	b.WriteString("\n")
	for _, c := range q.offered() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, c.key, show.Visible(c.text))
	}
	return b.String()
}

func (q *callQuestion) prompt() string { return "Allow? " }

// parse returns what an answer means. Text that is not one of the choices refuses the call and is sent to the model. If
// there is a problem, the question must be answered again.
func (q *callQuestion) parse(answer string) (o offer, problem string) {
	text := strings.ToLower(strings.TrimSpace(answer))
	key := map[string]string{"yes": "y", "no": "n", "": "n"}[text]
	if key == "" {
		key = text
	}
	offered := q.offered()
	if i := slices.IndexFunc(offered, func(c offer) bool { return c.key == key }); i >= 0 {
		return offered[i], ""
	}
	switch {
	case len(q.rows) > 0 && slices.ContainsFunc(q.choices, func(c ask.Choice) bool { return c.Key == key }):
		return offer{}, fmt.Sprintf("not everything was shown: type v to view the rest, or %q", answerUnseen)
	case key == answerUnseen:
		return offered[0], ""
	case len([]rune(key)) == 1:
		return offer{}, fmt.Sprintf("%q is not one of the answers", show.Visible(key))
	}
	return offer{answer: ask.Answer{Text: answer}}, ""
}

// rulesOf returns the rules that would have allowed a call.
func rulesOf(q ask.Question) []string {
	for _, c := range q.Choices {
		if c.Scope == tool.ForSession && len(c.Rules) > 0 {
			return c.Rules
		}
	}
	return nil
}
