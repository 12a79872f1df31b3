package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/trust"
	"github.com/reins-agent/reins/project"
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
	servers, err := h.machine().ReadServers(root, project.ServersFile, config.LayerProject)
	if err != nil {
		list = append(list, err.Error())
	}
	for _, f := range servers {
		if f.Unconfined() {
			list = append(list, fmt.Sprintf("%s: MCP server %s is unconfined: it asks to run %s outside the sandbox; "+
				"it is used only if mcp.unconfined in your configuration names it", project.ServersFile,
				show.OneLine(f.Name), show.OneLine(target(f))))
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
	o := h.options(dir)
	o.Trust, o.Note = project.TrustYes, nil
	p, err := project.Load(context.Background(), o)
	if err != nil {
		return nil // reported by whatever needs the configuration
	}
	src, err := p.Sources(dir)
	if err != nil {
		return nil
	}
	for _, n := range p.Settings.Notes {
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
