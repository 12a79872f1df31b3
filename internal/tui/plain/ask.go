package plain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
)

// asking is the question that waits for its answer.
type asking struct {
	id     string
	asked  time.Time // a call whose accesses have changed is asked about again
	cancel context.CancelFunc
}

// ask shows a question and waits for its answer in the background.
func (f *face) ask(q ask.Question, more int) {
	ctx, cancel := context.WithCancel(f.ctx)
	f.asking = &asking{q.ID, q.Asked, cancel}
	f.resting = false
	f.out.line(f.out.ring() + questionText(q, more))
	go func() {
		a, err := f.answer(ctx, q)
		f.tell(ctx, func() error { return f.answered(q, a, err) })
	}()
}

// unask ends the current question.
func (f *face) unask() {
	if f.asking != nil {
		f.asking.cancel()
		f.asking = nil
	}
}

// answered passes the answer on.
func (f *face) answered(q ask.Question, a ask.Answer, err error) error {
	if f.asking == nil || f.asking.id != q.ID || !f.asking.asked.Equal(q.Asked) {
		return nil
	}
	f.unask()
	if err == nil {
		a.Asked = q.Asked
		if a.Text != "" {
			f.sent = append(f.sent, a.Text)
		}
		if err = f.handle.Answer(f.ctx, q.ID, a); err == nil || errors.Is(err, session.ErrAnswered) {
			f.decided[q.ID] = q.Asked
		}
		if err := f.report(err, ""); err != nil {
			return err
		}
		return f.acted()
	}
	if !errors.Is(err, keyboard.ErrNoAnswer) {
		return f.report(err, "")
	}
	return f.settle() // ctrl-d: it is asked again
}

// questionText describes a question and its choices.
func questionText(q ask.Question, more int) string {
	var b strings.Builder
	b.WriteString(text.Clean(q.Who) + " asks: " + text.Clean(q.Title) + "\n")
	if q.URL != "" {
		b.WriteString("  " + text.Clean(q.URL) + "\n")
	}
	for _, row := range q.Rows {
		label := map[ask.RowKind]string{
			ask.RowCommand:   "command: ",
			ask.RowDir:       "in: ",
			ask.RowPart:      "needs approval: ",
			ask.RowArguments: "arguments: ",
			ask.RowWhy:       "why: ",
		}[row.Kind]
		for i, line := range dialog.VisibleLines(row.Text) {
			if i > 0 {
				label = "  "
			}
			b.WriteString("  " + label + line + "\n")
		}
	}
	if q.Diff != "" {
		b.WriteString(show.Diff(q.Diff, "  ", -1, false))
	}
	for i, c := range q.Choices {
		if len(q.Schema) == 0 {
			fmt.Fprintf(&b, "%d. %s\n", i+1, choiceText(c))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "%s after this one.\n", show.Plural(more, "more question"))
	}
	return b.String()
}

func choiceText(c ask.Choice) string {
	if len([]rune(c.Key)) == 1 {
		return text.Clean(c.Text)
	}
	return text.Clean(strings.TrimSuffix(c.Key+": "+c.Text, ": "))
}

// answer waits for the answer to a question.
func (f *face) answer(ctx context.Context, q ask.Question) (ask.Answer, error) {
	switch {
	case q.Kind == ask.Input:
		return f.replies(ctx, q)
	case len(q.Schema) > 0:
		return f.form(ctx, q)
	}
	approves := q.Kind == ask.Approval || q.Kind == ask.Plan
	prompt := fmt.Sprintf("Answer with a number from 1 to %d: ", len(q.Choices))
	if approves {
		prompt = fmt.Sprintf("%s Answer with a number from 1 to %d, or refuse with words: ", Allow, len(q.Choices))
	}
	var a ask.Answer
	return a, f.until(ctx, prompt, func(line string) (problem string) {
		a, problem = choice(q, line, approves)
		return problem
	})
}

// choice returns the answer that a line gives. Words refuse an approval.
func choice(q ask.Question, line string, approves bool) (a ask.Answer, problem string) {
	if n, err := strconv.Atoi(line); err == nil {
		if n < 1 || n > len(q.Choices) {
			return a, fmt.Sprintf("%d is not one of the numbers.", n)
		}
		return ask.Answer{Choice: q.Choices[n-1].Key}, ""
	}
	key := map[string]string{"yes": "y", "no": "n"}[strings.ToLower(line)]
	if key == "" {
		key = line
	}
	if slices.ContainsFunc(q.Choices, func(c ask.Choice) bool { return c.Key == key }) {
		return ask.Answer{Choice: key}, ""
	}
	if approves && len([]rune(line)) > 1 {
		return ask.Answer{Text: line}, ""
	}
	return a, fmt.Sprintf("%q is not one of the answers.", text.Clean(line))
}

// until asks until take accepts a line. Blank lines are no answers, and commands are run.
func (f *face) until(ctx context.Context, prompt string, take func(line string) (problem string)) error {
	for {
		line, err := f.keys.Ask(ctx, prompt, f.out.prompt)
		if err != nil {
			return err
		}
		f.out.answered()
		if f.o.Echo {
			f.out.line("You: " + text.Clean(line))
		}
		if _, _, ok := command.Parse(line); ok {
			f.send(typed{text: line})
			continue
		}
		if line == "" {
			continue
		}
		problem := take(line)
		if problem == "" {
			return nil
		}
		f.out.line(problem)
	}
}

// replies asks the model's questions one by one.
func (f *face) replies(ctx context.Context, q ask.Question) (ask.Answer, error) {
	if len(q.Items) == 0 {
		var a ask.Answer
		return a, f.until(ctx, "Answer in your words: ", func(line string) string { a.Text = line; return "" })
	}
	var a ask.Answer
	for i, item := range q.Items {
		f.out.line(itemQuestion(item, i+1, len(q.Items)))
		prompt := "Answer in your words: "
		switch {
		case item.Multiple && len(item.Options) > 0:
			prompt = "Answer with numbers, such as 1 3, or in your words: "
		case len(item.Options) > 0:
			prompt = "Answer with a number, or in your words: "
		}
		var r ask.Reply
		err := f.until(ctx, prompt, func(line string) (problem string) {
			r, problem = reply(item, line)
			return problem
		})
		if err != nil {
			return a, err
		}
		a.Replies = append(a.Replies, r)
	}
	return a, nil
}

// itemQuestion words one of the model's questions.
func itemQuestion(item event.Question, n, all int) string {
	var b strings.Builder
	if all > 1 {
		fmt.Fprintf(&b, "Question %d of %d: ", n, all)
	}
	b.WriteString(strings.Join(dialog.VisibleLines(item.Question), "\n") + "\n")
	for i, o := range item.Options {
		s := text.Clean(o.Label)
		if o.Description != "" {
			s += ": " + text.Clean(o.Description)
		}
		fmt.Fprintf(&b, "%d. %s\n", i+1, s)
	}
	return b.String()
}

// reply parses an answer: option numbers or text.
func reply(item event.Question, line string) (r ask.Reply, problem string) {
	words := strings.FieldsFunc(line, func(c rune) bool { return c == ' ' || c == ',' })
	for _, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil || len(item.Options) == 0 {
			return ask.Reply{Text: line}, ""
		}
		if n < 1 || n > len(item.Options) {
			return r, fmt.Sprintf("%d is not one of the numbers.", n)
		}
		if label := item.Options[n-1].Label; !slices.Contains(r.Chosen, label) {
			r.Chosen = append(r.Chosen, label)
		}
	}
	if len(r.Chosen) > 1 && !item.Multiple {
		return r, "Only one of them can be chosen."
	}
	return r, ""
}

// form asks for a form's values, one after the other.
func (f *face) form(ctx context.Context, q ask.Question) (ask.Answer, error) {
	fields, err := dialog.Fields(q.Schema)
	if err != nil {
		f.out.line(text.Clean(err.Error()))
	}
	for {
		a, err := f.values(ctx, fields)
		if err != nil || a.Choice != "" {
			return a, err
		}
		if _, err = q.Inquire(a); err == nil {
			return a, nil
		}
		f.out.line("Error: " + text.Clean(err.Error()))
	}
}

// values asks for a form's values, and whether to send them.
func (f *face) values(ctx context.Context, fields []dialog.Field) (a ask.Answer, err error) {
	object := map[string]json.RawMessage{}
	for _, field := range fields {
		f.out.line(text.Clean(field.Describe()))
		err := f.until(ctx, "Type a value, or a dash for none: ", func(line string) string {
			if line == "-" {
				return ""
			}
			v, err := field.Value(line)
			if err != nil {
				return text.Clean(err.Error()) + "."
			}
			object[field.Name()] = v
			return ""
		})
		if err != nil {
			return a, err
		}
	}
	if a.Values, err = json.Marshal(object); err != nil {
		return a, err
	}
	return a, f.until(ctx, "Send the form? Answer yes or no: ", func(line string) string {
		switch strings.ToLower(line) {
		case "yes", "y":
		case "no", "n":
			a = ask.Answer{Choice: "n"}
		default:
			return "Answer yes or no."
		}
		return ""
	})
}
