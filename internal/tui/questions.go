package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/session"
)

// waits reports whether a question waits.
func (q *questions) waits() bool { return q.dialog != nil }

// hide takes the question from the screen, until it may be shown again.
func (q *questions) hide() {
	q.shown, q.painted = false, false
	q.guard.Hidden()
}

// resetQuestions forgets the questions of another session.
func (a *app) resetQuestions() {
	guard := a.questions.guard
	guard.Hidden()
	a.questions = questions{guard: guard}
	a.waiting()
}

// readQuestions reads the session's questions.
func (a *app) readQuestions() {
	l := a.live
	a.do(func(ctx context.Context) func() {
		list, err := l.Questions(ctx)
		return func() {
			if a.live != l {
				return
			}
			if err != nil {
				a.sayError(err)
				return
			}
			a.setQuestions(list)
		}
	})
}

// setQuestions applies what waits now. A question that is shown stays, unless it is not open any more or was asked again,
// because the call would now access something else.
func (a *app) setQuestions(list []ask.Question) {
	q := &a.questions
	news := len(list) > len(q.list)
	q.list = list
	if q.local != nil {
		return
	}
	if q.dialog != nil {
		shown := q.dialog.Question()
		if same, open := ask.Find(list, shown.ID); open && same.Asked.Equal(shown.Asked) {
			return
		}
	}
	a.nextQuestion()
	if news && q.dialog != nil {
		a.notify("needs your decision: " + q.dialog.Question().Title)
	}
}

// nextQuestion chooses the question to show.
func (a *app) nextQuestion() {
	q := &a.questions
	q.hide()
	q.dialog = nil
	switch {
	case q.local != nil:
		q.dialog = a.newDialog(q.local.q)
	case len(q.list) > 0:
		q.dialog = a.newDialog(q.list[0])
	}
}

func (a *app) newDialog(q ask.Question) *dialog.Dialog {
	return dialog.New(q, dialog.Options{Keys: a.keys, Rule: a.rule})
}

// ask asks a local question, guarded like the session's questions.
func (a *app) ask(q ask.Question, then func(ask.Answer)) {
	q.ID, q.Asked = "local", time.Now()
	a.questions.local = &local{q: q, then: then}
	a.nextQuestion()
}

// settle shows a question once no key has arrived for a while.
func (a *app) settle() {
	q := &a.questions
	now := time.Now()
	if q.dialog == nil || q.shown || a.panel != nil || !q.guard.MayShow(now) {
		return
	}
	q.shown, a.dirty = true, true
}

// questionKey gives a key to the question that is shown, if it takes keys. It reports whether the key was used.
func (a *app) questionKey(k keys.Key) bool {
	q := &a.questions
	if action, _ := a.keys.Find(k, keys.Question); action == keys.QuestionOther && len(q.list) > 1 && q.local == nil {
		q.list = append(slices.Clone(q.list[1:]), q.list[0])
		a.nextQuestion()
		q.shown = true
		return true
	}
	if action, ok := a.keys.Find(k, keys.Global); ok && (action == keys.Cancel || action == keys.Quit || action == keys.Suspend) {
		return false
	}
	out := q.dialog.Handle(k)
	if out.Typed != "" {
		q.guard.Yield()
		a.insert(out.Typed)
	}
	if out.Answer != nil {
		a.answer(*out.Answer)
	}
	return out.Handled
}

// answer answers the question that is shown.
func (a *app) answer(answer ask.Answer) {
	q := &a.questions
	asked := q.dialog.Question()
	if l := q.local; l != nil {
		q.local = nil
		a.nextQuestion()
		l.then(answer)
		return
	}
	q.list = slices.DeleteFunc(slices.Clone(q.list), func(o ask.Question) bool { return o.ID == asked.ID })
	a.nextQuestion()
	answer.Asked = asked.Asked
	l := a.live
	a.do(func(ctx context.Context) func() {
		err := l.Answer(ctx, asked.ID, answer)
		return func() {
			switch {
			case a.live != l || err == nil:
			case errors.Is(err, session.ErrAnswered):
				a.say("This question was answered elsewhere.")
			default:
				a.sayError(err)
				a.readQuestions()
			}
		}
	})
}
