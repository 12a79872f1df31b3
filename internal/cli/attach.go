package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
	"github.com/reins-agent/reins/view"
)

func newAttach(h Host) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "attach [flags] [SESSION]",
		Short: "Show and steer a session that runs in another process",
		Long: `Show a session that runs in another process, such as "reins run" in another
terminal, and take part in it. Questions and approvals can be answered here or
there; the first answer counts. A line that you type is sent to the agent, or is
a command if it begins with "/", such as /help.

Without SESSION, it shows the last running session of this directory. The
session continues when you leave with Ctrl-C or /exit.`,
		Example: `  reins attach
  reins attach 4TKZ
  reins attach 4TKZ --output stream-json < /dev/null`,
		Args:              wantArgs(0, 1, "at most one SESSION"),
		ValidArgsFunction: completeSessions(h, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "stream-json" {
				return usagef("invalid --output %q: use text or stream-json", output)
			}
			return attach(cmd.Context(), h, args, output)
		},
	}
	cmd.Flags().StringVar(&output, "output", "text", "output format: text or stream-json (every event, from the first)")
	completeWords(cmd, "output", "text", "stream-json")
	return cmd
}

func attach(ctx context.Context, h Host, args []string, output string) error {
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	c, err := attachTo(ctx, h, sessions, args)
	if err != nil {
		return err
	}
	defer c.Close()
	if output == "text" && hasScreen(h) && h.Getenv("TERM") != "dumb" {
		return showHandle(ctx, h, c)
	}
	v, err := newView(h, output)
	if err != nil {
		return err
	}
	a := &asker{host: h, view: v, keys: newKeyboard(h), inputs: true}
	return (&attached{
		host:   h,
		handle: c,
		view:   v,
		asker:  a,
		store:  sessions.Store,
	}).run(ctx)
}

// attachTo connects to the session that the arguments name, or to the last running session in this directory.
func attachTo(ctx context.Context, h Host, sessions *session.Manager, args []string) (session.Handle, error) {
	if len(args) == 0 {
		if c := attachHere(ctx, sessions); c != nil {
			return c, nil
		}
	}
	m, err := chooseSession(ctx, h, sessions, args, "reins attach")
	if err != nil {
		return nil, err
	}
	c, err := remote.Attach(ctx, sessions.Home, m.ID)
	if errors.Is(err, remote.ErrNotRunning) {
		return nil, fmt.Errorf("session %s is not running; to continue it, run: reins run --resume %[1]s", m.ID)
	}
	return c, err
}

// attachHere connects to the last running session in this directory. It returns nil if none is running.
func attachHere(ctx context.Context, sessions *session.Manager) session.Handle {
	here, err := realpath.Dir(".")
	if err != nil {
		return nil
	}
	for m, err := range sessions.Store.List(ctx) {
		if err != nil || m.Dir == "" || m.Foreign() {
			continue
		}
		if dir, err := realpath.Dir(m.Dir); err != nil || dir != here {
			continue
		}
		if c, err := remote.Attach(ctx, sessions.Home, m.ID); err == nil {
			return c
		}
	}
	return nil
}

// attached shows a session and answers it line by line.
type attached struct {
	host   Host
	handle session.Handle
	view   face
	asker  *asker
	store  event.Store
	last   event.Seq // the last record that was shown
}

// run shows the session until it is closed or the user leaves.
func (a *attached) run(ctx context.Context) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	info, err := a.handle.Info(ctx)
	if err != nil {
		return err
	}
	what := strings.TrimSuffix(info.Model+" · "+show.Summary(info.Title), " · ")
	notef(a.host, "attached to session %s in %s · %s", info.ID, shortDir(a.host, info.Dir), what)
	if !a.asker.unattended() {
		a.asker.keys.Listen(func(line string) { a.typed(ctx, leave, line) })
		defer a.asker.keys.Flush()
	}
	if v, lines := a.view.(*textView); lines {
		v.inputs = true
		defer v.leave()
	}
	err = a.watch(ctx, info.Last)
	switch {
	case errors.Is(context.Cause(ctx), errLeft), errors.Is(context.Cause(ctx), errInterrupted):
		notef(a.host, "left the session, which continues")
		return nil
	case err == nil, errors.Is(err, session.ErrClosed), errors.Is(err, remote.ErrUnreachable):
		what := "the session was closed"
		if errors.Is(err, remote.ErrUnreachable) {
			what += ": " + err.Error()
		}
		if err := a.showRest(ctx, info.ID); err != nil {
			return err
		}
		notef(a.host, "%s; to continue it, run: reins run --resume %s", what, info.ID)
		return nil
	}
	return err
}

// errLeft means that the user leaves the session.
var errLeft = errors.New("left")

// watch shows a session's events. Events up to record before are old.
func (a *attached) watch(ctx context.Context, before event.Seq) error {
	posed := false
	for r, err := range a.handle.Events(ctx, 0) {
		if err != nil {
			return err
		}
		old := 0 < r.Seq && r.Seq <= before
		a.last = max(a.last, r.Seq)
		if _, all := a.view.(*jsonView); old && !all {
			a.view.replay(r)
		} else if err := a.view.show(r); err != nil {
			return err
		}
		switch {
		case old && r.Seq < before:
		case !posed:
			posed = true
			if err := a.catchUp(ctx); err != nil {
				return err
			}
		default:
			a.asker.note(ctx, a.handle, r)
		}
	}
	return nil
}

// showRest shows what was saved after the connection was lost: another process may have continued the session for a moment.
func (a *attached) showRest(ctx context.Context, id string) error {
	for r, err := range a.store.Load(ctx, id, a.last) {
		if err != nil {
			return err
		}
		if err := a.view.show(r); err != nil {
			return err
		}
	}
	return nil
}

// catchUp shows the conversation since the last input, and asks waiting questions.
func (a *attached) catchUp(ctx context.Context) error {
	if v, lines := a.view.(*textView); lines {
		state, err := a.handle.Snapshot(ctx)
		if err != nil {
			return err
		}
		t := newTranscript(a.host.Stdout, v.itemText)
		t.state = *state
		for i := lastInput(state); i < state.Len(); i++ {
			if item := state.Item(i); !item.Live() {
				t.item(item)
			}
		}
	}
	list, err := a.handle.Questions(ctx)
	for _, q := range list {
		a.asker.pose(ctx, a.handle, q.ID, event.ApprovalRequested{})
	}
	return err
}

// lastInput returns the index of the last user input, or 0.
func lastInput(s *view.State) int {
	for i := s.Len() - 1; i >= 0; i-- {
		if item := s.Item(i); item.Kind == view.KindInput && item.Agent == "" && !item.Steered {
			return i
		}
	}
	return 0
}

// typed handles a typed line that answers no question.
func (a *attached) typed(ctx context.Context, leave context.CancelCauseFunc, line string) {
	a.view.typed()
	if line == "" {
		return
	}
	if err := a.send(ctx, leave, line); err != nil {
		notef(a.host, "%v", err)
	}
}

// send runs a command, or sends a message to the agent: to its current work, or as a new input.
func (a *attached) send(ctx context.Context, leave context.CancelCauseFunc, line string) error {
	in := session.Input{Text: line}
	if strings.HasPrefix(line, "/") {
		res, err := a.handle.Run(ctx, line)
		if err != nil {
			return err
		}
		a.showResult(res)
		switch {
		case res.Action == session.ActionClose:
			leave(errLeft)
			return nil
		case res.Submit == nil:
			return nil
		}
		in = *res.Submit
	}
	err := a.handle.Submit(ctx, in)
	if errors.Is(err, session.ErrBusy) {
		return a.handle.Steer(ctx, in)
	}
	return err
}

// showResult prints a command's result.
func (a *attached) showResult(r session.Result) {
	out := a.host.Stderr
	if r.Text != "" {
		fmt.Fprintln(out, strings.Join(show.Rows(r.Text, screenWidth(out)), "\n"))
	}
	for _, t := range r.Tables {
		if t.Title != "" {
			fmt.Fprintln(out, show.OneLine(t.Title))
		}
		table := &show.Table{}
		for _, c := range t.Columns {
			table.Columns = append(table.Columns, show.Column{Title: show.OneLine(c)})
		}
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = show.OneLine(cell)
			}
			table.Add(cells...)
		}
		_ = table.Print(out, screenWidth(out), a.host.colours(out))
	}
	if r.Diff != "" {
		const maxLines = 200
		fmt.Fprint(out, show.Diff(r.Diff, "", maxLines, a.host.colours(out)))
	}
}
