package cli

import (
	"cmp"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/memory"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
)

func newMemory(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "memory", Short: "List, show, edit and clear the notes of agents", Long: memoryHelp},
		newMemoryList(h), newMemoryShow(h), newMemoryEdit(h), newMemoryClear(h))
}

const memoryHelp = `List, show, edit and clear the notes that agents keep between sessions: one file
for you and one for each project. The newest notes are added to the prompt of a
session. An agent adds notes with the update_memory tool.`

// notes returns the memory of the user and of the project of the current directory.
func (h Host) notes() (memory.Store, error) {
	state, err := stateDir(h)
	if err != nil {
		return memory.Store{}, err
	}
	dir, err := realpath.Dir(".")
	return memory.Open(state.Memory(), dir), err
}

// scopeFlag adds --user, and returns the scope that it selects.
func scopeFlag(cmd *cobra.Command) func() memory.Scope {
	user := cmd.Flags().Bool("user", false, "use your own notes instead of the project's")
	return func() memory.Scope {
		if *user {
			return memory.User
		}
		return memory.Project
	}
}

// noteJSON is a note as JSON.
type noteJSON struct {
	Scope memory.Scope `json:"scope"`
	memory.Note
}

func newMemoryList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your notes and those of the project, oldest first",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			t := &show.Table{Columns: []show.Column{{Title: "SCOPE"}, {Title: "ID", Colour: show.Cyan}, {Title: "TITLE"}}}
			err := h.eachNote(func(scope memory.Scope, n memory.Note) error {
				if asJSON {
					return printJSON(h.Stdout, noteJSON{scope, n})
				}
				t.Add(string(scope), n.ID, n.Title)
				return nil
			})
			if err != nil || asJSON {
				return err
			}
			return printList(h, t, "no notes")
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// eachNote calls f for each note.
func (h Host) eachNote(f func(memory.Scope, memory.Note) error) error {
	s, err := h.notes()
	if err != nil {
		return err
	}
	for _, scope := range []memory.Scope{memory.User, memory.Project} {
		notes, err := s.Notes(scope)
		if err != nil {
			return err
		}
		for _, n := range notes {
			if err := f(scope, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func newMemoryShow(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "show [ID]",
		Short: "Print all notes, or those with an ID",
		Args:  wantArgs(0, 1, "at most one ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			found := len(args) == 0
			err := h.eachNote(func(scope memory.Scope, n memory.Note) error {
				if len(args) > 0 && n.ID != args[0] {
					return nil
				}
				found = true
				_, err := fmt.Fprintf(h.Stdout, "## %s (%s)\n\n%s\n\n", show.OneLine(n.Title), scope, show.Visible(n.Text))
				return err
			})
			if err == nil && !found {
				err = usagef("unknown note %q; \"reins memory list\" lists them", args[0])
			}
			return err
		},
	}
}

func newMemoryEdit(h Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Edit project notes or your own notes with $VISUAL or $EDITOR",
		Args:  wantArgs(0, 0, "no arguments"),
	}
	scope := scopeFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := h.notes()
		if err != nil {
			return err
		}
		editor := strings.Fields(cmp.Or(h.Getenv("VISUAL"), h.Getenv("EDITOR")))
		if len(editor) == 0 {
			return usagef("no editor: set EDITOR, or edit %s", s.Path(scope()))
		}
		if err := s.Create(cmd.Context(), scope()); err != nil {
			return err
		}
		e := exec.CommandContext(cmd.Context(), editor[0], append(editor[1:], s.Path(scope()))...)
		e.Stdin, e.Stdout, e.Stderr = h.Stdin, h.Stdout, h.Stderr
		if err := e.Run(); err != nil {
			return fmt.Errorf("the editor %s failed: %w", editor[0], err)
		}
		return nil
	}
	return cmd
}

func newMemoryClear(h Host) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove all notes of the project, or your own",
		Args:  wantArgs(0, 0, "no arguments"),
	}
	scope := scopeFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := h.notes()
		if err != nil {
			return err
		}
		if !yes {
			if err := confirm(cmd.Context(), h, "remove "+s.Path(scope()), "nothing was removed"); err != nil {
				return err
			}
		}
		found, err := s.Clear(cmd.Context(), scope())
		if err == nil && !found {
			notef(h, "there are no notes")
		}
		return err
	}
	return cmd
}
