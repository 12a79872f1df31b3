package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/event"
)

// rewindJSON is what an undo or redo did, as JSON.
type rewindJSON struct {
	Session string       `json:"session"`
	Input   event.Seq    `json:"input"` // the number of the prompt's record
	Prompt  string       `json:"prompt"`
	Chat    bool         `json:"chat"`
	Files   bool         `json:"files"`
	Partly  bool         `json:"partly,omitempty"` // not all of the files, which is an error
	Changed []changeJSON `json:"changed"`
}

// changeJSON is a change of a file.
type changeJSON struct {
	Path   string                `json:"path"`
	Change checkpoint.ChangeKind `json:"change"`
}

// show prints what was done: the prompt, and the files that changed by that.
func (p *pastSession) show(h Host, done agent.Undone, asJSON bool) error {
	if asJSON {
		j := rewindJSON{p.session.ID(), done.Input, done.Prompt, done.Chat, done.Files, done.Partly, []changeJSON{}}
		for _, c := range p.changes {
			j.Changed = append(j.Changed, changeJSON{c.Path, c.Kind})
		}
		return printJSON(h.Stdout, j)
	}
	out := bufio.NewWriter(h.Stdout)
	colour := h.colours(h.Stdout)
	title := cmp.Or(p.title, fmt.Sprintf("@%d %s", done.Input, oneLiner(h, done.Prompt)))
	if colour {
		title = paint(cyan, title)
	}
	fmt.Fprintf(out, "%s (%s)\n", title, whatOf(done))
	for _, c := range p.changes {
		mark, shade := changeMark(c.Kind)
		line := mark + " " + inLine(c.Path)
		if colour {
			line = paint(shade, line)
		}
		fmt.Fprintln(out, line)
	}
	if done.Files && !done.Partly && len(p.changes) == 0 {
		aside(h, "no file had to be changed for that")
	}
	return out.Flush()
}

// whatOf says what was set back.
func whatOf(done agent.Undone) string {
	var what []string
	if done.Chat {
		what = append(what, "conversation")
	}
	switch {
	case done.Partly:
		what = append(what, "some of the files")
	case done.Files:
		what = append(what, "files")
	}
	return strings.Join(what, " and ")
}

// changeMark is the sign of a change, and its colour.
func changeMark(k checkpoint.ChangeKind) (mark, colour string) {
	switch k {
	case checkpoint.Added:
		return "+", green
	case checkpoint.Deleted:
		return "-", red
	}
	return "~", ""
}
