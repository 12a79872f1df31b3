package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/trust"
)

type trustCommand struct{ yes, list, asJSON bool }

func newTrust(h Host) *cobra.Command {
	var o trustCommand
	cmd := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Trust the configuration of a project",
		Long: `Trust the project of a directory (default: the current one). In an untrusted
project, files that can run a program or widen what an agent may do are ignored,
and instruction files are marked as untrusted for the model.

Reins lists these files, asks, and remembers their content. If one of them
changes, the project is untrusted until you trust it again. Trust covers a whole
repository, but not repositories nested in it.

Trust covers the listed files, not the programs that they run.`,
		Example: `  reins trust
  reins trust --yes ~/src/project
  reins trust --list`,
		Args: wantArgs(0, 1, "at most one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := stateDir(h)
			if err != nil {
				return err
			}
			store := trust.Open(state.Trust())
			switch {
			case o.asJSON && !o.list:
				return usagef("--json needs --list")
			case o.list && len(args) > 0:
				return usagef("--list takes no DIR")
			case o.list:
				return o.printList(h, store)
			}
			return o.run(cmd.Context(), h, store, cmp.Or(strings.Join(args, ""), "."))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	f.BoolVar(&o.list, "list", false, "list the trusted projects")
	f.BoolVar(&o.asJSON, "json", false, "print the list as JSON, one object per line; needs --list")
	return cmd
}

func newUntrust(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "untrust [DIR]",
		Short: "Stop trusting a project",
		Args:  wantArgs(0, 1, "at most one DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			state, err := stateDir(h)
			if err != nil {
				return err
			}
			root, was, err := trust.Open(state.Trust()).Untrust(cmp.Or(strings.Join(args, ""), "."))
			switch {
			case err != nil:
				return err
			case !was:
				return fmt.Errorf("%s was not trusted", root)
			}
			_, err = fmt.Fprintf(h.Stdout, "untrusted %s\n", show.OneLine(root))
			return err
		},
	}
}

// run shows what would be trusted, asks, and saves the answer.
func (o trustCommand) run(ctx context.Context, h Host, store *trust.Store, dir string) error {
	st, err := store.State(dir)
	if err != nil {
		return err
	}
	if !st.Trusted {
		if err := showProject(h, st); err != nil {
			return err
		}
		if !o.yes {
			if err := confirm(ctx, h, "trust "+st.Root, "not trusted"); err != nil {
				return err
			}
		}
		if err := store.Trust(st.Project); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(h.Stdout, "trusted %s\n", show.OneLine(st.Root))
	return err
}

// showProject lists the files that trusting the project would enable.
func showProject(h Host, st trust.State) error {
	if len(st.Files) == 0 {
		notef(h, "%s has no configuration, hooks, skills or MCP servers; if any are added, you must trust it again", st.Root)
		return nil
	}
	t := &show.Table{Columns: []show.Column{{Title: "FILE", Colour: show.Cyan}, {Title: "CONTAINS"}, {Title: "STATE"}}}
	for _, f := range st.Files {
		state := "new"
		switch {
		case slices.Contains(st.Changed, f.Path):
			state = "new or changed"
		case len(st.Changed) > 0:
			state = "unchanged"
		}
		t.Add(f.Path, f.What, state)
	}
	side := h
	side.Stdout = h.Stderr
	if err := printTable(side, t); err != nil {
		return err
	}
	for _, problem := range h.projectProblems(st.Root) {
		notef(h, "%s", problem)
	}
	return nil
}

// projectProblems describes what the user should know about the files of a project besides their names: servers that
// ask to leave the sandbox, and settings of Claude Code that have no effect even if the project is trusted.
func (h Host) projectProblems(root string) (list []string) {
	servers, err := h.readServers(root, projectServers, config.LayerProject)
	if err != nil {
		list = append(list, err.Error())
	}
	for _, f := range servers {
		if f.unconfined() {
			list = append(list, fmt.Sprintf("%s: MCP server %s is unconfined: it asks to run %s outside the sandbox; "+
				"it is used only if mcp.unconfined in your configuration names it", projectServers, show.OneLine(f.name), show.OneLine(f.target())))
		}
	}
	for _, n := range h.claudeNotes(root) {
		if n.Origin.Layer != config.LayerUser {
			list = append(list, n.String())
		}
	}
	return list
}

// claudeNotes returns the notes about the settings of Claude Code for a directory, as if its project was trusted.
func (h Host) claudeNotes(dir string) (notes []config.Note) {
	src, err := h.sources(dir, nil)
	if err != nil {
		return nil
	}
	s, err := h.quietSettings(dir, true, nil)
	if err != nil {
		return nil // reported by whatever needs the configuration
	}
	for _, n := range s.Notes {
		if slices.ContainsFunc(src.ClaudeFiles(), func(f config.File) bool { return f.Path == n.Origin.Name }) {
			n.Origin.Name = shortDir(h, n.Origin.Name)
			notes = append(notes, n)
		}
	}
	return notes
}

// trustJSON is a trusted project as JSON.
type trustJSON struct {
	Root    string    `json:"root"`
	Time    time.Time `json:"time"`
	Trusted bool      `json:"trusted"`
	Changed []string  `json:"changed"`
	Error   string    `json:"error,omitempty"`
}

func (o trustCommand) printList(h Host, store *trust.Store) error {
	list, err := store.List()
	t := &show.Table{Columns: []show.Column{{Title: "PROJECT", Colour: show.Cyan}, {Title: "SINCE"}, {Title: "STATE"}}}
	for _, e := range list {
		st, problem := store.State(e.Root)
		j := trustJSON{Root: e.Root, Time: e.Time, Trusted: st.Trusted, Changed: orEmpty(st.Changed)}
		state := "trusted"
		switch {
		case problem != nil:
			j.Error = problem.Error()
			state = "untrusted: " + j.Error
		case !st.Trusted:
			state = "changed: " + strings.Join(st.Changed, ", ")
		}
		t.Add(e.Root, shortTime(h, e.Time), state)
		if o.asJSON {
			if err := printJSON(h.Stdout, j); err != nil {
				return err
			}
		}
	}
	if o.asJSON || err != nil {
		return err
	}
	return printList(h, t, "no trusted projects")
}

// trusts reports whether the user trusts a directory. If not, it tells them what is ignored.
func trusts(h Host, dir string) bool {
	st, err := h.trustState(dir)
	if why := h.distrust(st, err); why != "" {
		notef(h, "%s", why)
	}
	return st.Trusted
}

// trustsAgain is like trusts for a run, of which there are many in a project: it names the files of a project that was never
// trusted once, until one of them changes. isNew reports whether there is more to say about these files now.
func trustsAgain(h Host, dir string) (trusted, isNew bool) {
	st, err := h.trustState(dir)
	isNew = true
	if state, errState := stateDir(h); err == nil && errState == nil {
		isNew, err = trust.Open(state.Trust()).Notice(st.Project)
		isNew = isNew || err != nil
		err = nil
	}
	if why := h.distrust(st, err); why != "" && (isNew || len(st.Changed) > 0) {
		notef(h, "%s", why)
	}
	return st.Trusted, isNew
}

// distrust returns which files of a project are ignored because it is not trusted, or "".
func (h Host) distrust(st trust.State, err error) string {
	switch {
	case errors.Is(err, home.ErrNone), lostDir(err): // reported by what needs the directory
	case err != nil:
		return fmt.Sprintf("untrusted project: %v", err)
	case len(st.Changed) > 0:
		return nameFiles(st.Changed) + ` changed since you trusted the project; it is untrusted until you run "reins trust" again`
	case !st.Trusted && len(st.Files) > 0:
		var names []string
		for _, f := range st.Files {
			if !h.ownFile(st.Root, f) {
				names = append(names, f.Path)
			}
		}
		if len(names) > 0 {
			return fmt.Sprintf(`untrusted project, ignoring %s; run "reins trust" to review it`, nameFiles(names))
		}
	}
	return ""
}

// ownFile reports whether a file of a project is one of another agent that belongs to the user, because the project is
// the home directory. It is used as such, whether or not the project is trusted.
func (h Host) ownFile(root string, f trust.File) bool {
	top, _, _ := strings.Cut(f.Path, "/")
	home := h.Getenv("HOME")
	return home != "" && realpath.Same(home, root) && slices.Contains([]string{".claude", ".codex", ".gemini", ".agents"}, top)
}

// trusted reports whether the user trusts a directory.
func (h Host) trusted(dir string) bool {
	st, err := h.trustState(dir)
	return err == nil && st.Trusted
}

func (h Host) trustState(dir string) (trust.State, error) {
	state, err := stateDir(h)
	if err != nil {
		return trust.State{}, err
	}
	return trust.Open(state.Trust()).State(dir)
}

// nameFiles lists the first few files of a list.
func nameFiles(names []string) string {
	const maximum = 5
	if n := len(names) - maximum; n > 0 {
		names = append(slices.Clone(names[:maximum]), show.Plural(n, "other file"))
	}
	return strings.Join(names, ", ")
}
