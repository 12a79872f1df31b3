package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/trust"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/session"
)

// maxNamed is how many files the question about trust names.
const maxNamed = 20

// decision is a question about the project that the session asks. Until the user has answered, the session works without
// the files or the server in question. The answer takes effect when a session is opened after it.
type decision struct {
	question event.QuestionAsked
	save     func(yes bool) error
}

// decisions returns what the user has to decide about the project of a session that was opened. The servers of a project
// come after its trust.
func (r *opener) decisions() []decision {
	if d, ok := r.trust(); ok {
		return []decision{d}
	}
	return r.leaving
}

// trust returns the question whether to trust the project, unless the user has answered it.
func (r *opener) trust() (d decision, ok bool) {
	p := r.flags.project
	state, err := p.State()
	if p.Trusted || err != nil {
		return d, false
	}
	store := trust.Open(state.Trust())
	st, err := store.State(p.Dir)
	_, why := p.Distrust(p.Dir)
	if err != nil && why != "" {
		notef(r.host, "%s", why)
	}
	if err != nil || st.Trusted || why == "" || store.Declined(st.Project) {
		return d, false
	}
	if err := store.Allowed(st.Project); err != nil {
		notef(r.host, "%s", oneLine(err))
		return d, false
	}
	d.question = event.QuestionAsked{
		Type:    event.QuestionTrust,
		From:    "Reins",
		Text:    "trust the files of " + shortDir(r.host, st.Root),
		Options: []event.Option{{Label: "y", Description: "yes, until one of these files changes"}},
	}
	d.question.Rows = []string{"They can run programs and widen what the agent may do.", "They are ignored until you trust them:"}
	d.question.Rows = append(d.question.Rows, namedFiles(st)...)
	d.question.Rows = append(d.question.Rows, r.host.projectProblems(st.Root)...)
	d.save = func(yes bool) error {
		if yes {
			return store.Trust(st.Project)
		}
		notef(r.host, "%s", why)
		return store.Decline(st.Project)
	}
	return d, true
}

// namedFiles names a project's files: first those that are new or changed since the user trusted the project.
func namedFiles(st trust.State) (rows []string) {
	var known []string
	for _, f := range st.Files {
		row := show.OneLine(f.Path) + ": " + f.What
		if slices.Contains(st.Changed, f.Path) {
			rows = append(rows, row+", new or changed")
		} else {
			known = append(known, row)
		}
	}
	rows = append(rows, known...)
	if more := len(rows) - maxNamed; more > 0 {
		rows = append(rows[:maxNamed], fmt.Sprintf("and %d more; \"reins trust\" lists all of them", more))
	}
	return rows
}

// launcher returns a function that asks whether a server may leave the sandbox: at once, or later in the session. It
// returns nil if there is nobody to ask.
func (r *opener) launcher(ctx context.Context) project.AskToLeave {
	if !r.flags.asksLater {
		return r.asker.launcher(ctx)
	}
	return func(s project.Server, program string) (bool, error) {
		q := event.QuestionAsked{
			Type: event.QuestionServer,
			From: "Reins",
			Text: "run the MCP server " + show.OneLine(s.Name) + " outside the sandbox",
			Rows: []string{
				s.Command(),
				program + " does not work in the sandbox.",
				"The server is configured in " + shortDir(r.host, s.Origin.Name) + ".",
			},
			Options: []event.Option{{Label: "y", Description: "yes, in this project, until its command changes"}},
		}
		r.leaving = append(r.leaving, decision{q, func(yes bool) error { return r.flags.project.AllowServer(s, yes) }})
		return false, project.ErrUndecided
	}
}

// decide asks the questions in the session, and returns once they are asked. The returned function withdraws those that are
// not answered, and waits until the answers to the others are saved.
func (r *opener) decide(ctx context.Context, s *session.Local) (settle func()) {
	list := r.decisions()
	if len(list) == 0 {
		return func() {}
	}
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var answers sync.WaitGroup
	asked, before := map[string]bool{}, s.Agent().Last()
	for _, d := range list {
		d.question.ID = rand.Text()
		asked[d.question.ID] = true
		answers.Go(func() {
			a, err := s.Ask(asking, d.question)
			withdrawn := err != nil && asking.Err() != nil
			if err == nil {
				err = d.save(a.Accepted)
			}
			if err != nil && !withdrawn {
				notef(r.host, "%s", oneLine(err))
			}
		})
	}
	for r, err := range s.Events(ctx, before) {
		if q, ok := r.Data.(event.QuestionAsked); ok {
			delete(asked, q.ID)
		}
		if err != nil || len(asked) == 0 {
			break
		}
	}
	return func() {
		cancel()
		answers.Wait()
	}
}
