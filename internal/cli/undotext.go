package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

// printUndone prints the prompt that was undone or redone, or another title, and the files that changed.
func printUndone(h Host, done session.Undone, title string) error {
	out := bufio.NewWriter(h.Stdout)
	colour := h.colours(h.Stdout)
	title = cmp.Or(title, fmt.Sprintf("@%d %s", done.Input, brief(h, done.Prompt)))
	fmt.Fprintf(out, "%s (%s)\n", paint(colour, show.Cyan, title), whatChanged(done))
	for _, c := range done.Changed {
		mark, shade := changeMark(c.Kind)
		fmt.Fprintln(out, paint(colour, shade, mark+" "+show.OneLine(c.Path)))
	}
	if done.Files && !done.Partly && len(done.Changed) == 0 {
		notef(h, "no files changed")
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(done.Kept) > 0 {
		notef(h, "kept what others changed: %s", show.OneLine(show.Names(done.Kept)))
	}
	return nil
}

// whatChanged names what was undone or redone.
func whatChanged(done session.Undone) string {
	var what []string
	if done.Chat {
		what = append(what, "conversation")
	}
	switch {
	case done.Partly:
		what = append(what, "some files")
	case done.Files:
		what = append(what, "files")
	}
	return strings.Join(what, " and ")
}

// changeMark returns the mark and the colour of a change.
func changeMark(k checkpoint.ChangeKind) (mark, colour string) {
	switch k {
	case checkpoint.Added:
		return "+", show.Green
	case checkpoint.Deleted:
		return "-", show.Red
	}
	return "~", ""
}
