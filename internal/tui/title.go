package tui

import (
	"cmp"
	"path"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/view"
)

// setTitle sets the window's title.
func (a *app) setTitle() {
	s := cmp.Or(show.Summary(a.info.Title), path.Base(strings.ReplaceAll(a.info.Dir, `\`, "/")))
	if a.working() {
		s = "● " + s
	}
	if s += " – reins"; s != a.title {
		a.title = s
		a.term.Title(s)
	}
}

// finished tells that the work is over.
func (a *app) finished() {
	if len(a.questions.list) > 0 {
		return
	}
	stop := a.live.state.Stop()
	if stop.Error != "" {
		a.notify("failed: " + show.FirstLine(stop.Error))
		return
	}
	a.notify("is done: " + show.Summary(a.lastAnswer()))
}

// lastAnswer returns the model's last answer.
func (a *app) lastAnswer() string {
	for i := a.live.state.Len() - 1; i >= 0; i-- {
		if item := a.live.state.Item(i); item.Kind == view.KindText && item.Agent == "" {
			return item.Text
		}
	}
	return ""
}

// notify tells something to a user who looks at another window.
func (a *app) notify(s string) {
	if a.unfocused {
		a.term.Notify("Reins", "Reins "+s)
	}
}
