package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

func newSessions(h Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Inspect and manage saved sessions",
		Long: `Inspect and manage saved sessions. They are in REINS_HOME if that
is set, and else where programs keep their state on this system.

An ID may be cut short as long as it stays clear which session is meant; "latest" is the one
that was used last. With --json each command prints JSON, one object per line.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(
		newSessionsList(h), newSessionsShow(h), newSessionsSearch(h), newSessionsRename(h), newSessionsTag(h),
		newSessionsFork(h), newSessionsExport(h), newSessionsImport(h), newSessionsRemove(h), newSessionsVerify(h),
	)
	return cmd
}

// jsonFlag adds the flag that all the commands have.
func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON, one object per line")
}

// minArgs wants at least so many arguments.
func minArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("\"%s\" takes %s; see \"%s --help\"", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// printJSON prints a value on one line.
func printJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	_, err := w.Write(append(show.EscapeJSON(line), '\n'))
	return err
}

// aside says something that is not the result.
func aside(h Host, format string, args ...any) {
	fmt.Fprintln(h.Stderr, "reins: "+show.OneLine(fmt.Sprintf(format, args...)))
}

// explain says what an error of the store means to the user.
func explain(id string, err error) error {
	switch {
	case errors.Is(err, event.ErrLocked):
		return fmt.Errorf("session %s is open elsewhere; end what uses it, or try again later", id)
	case errors.Is(err, event.ErrExists):
		return usagef("there is a session %s already; choose another id with --id", id)
	case errors.Is(err, event.ErrBadID):
		return usageError{err}
	}
	return err
}

// called is what a session is called: its title, or else how it began.
func called(h Host, m event.Meta) string {
	if title := show.OneLine(m.Title); title != "" {
		return title
	}
	return oneLiner(h, m.Prompt)
}

// oneLiner is a text on one line: how it begins on a terminal, all of it elsewhere.
func oneLiner(h Host, text string) string {
	if isTerminal(h.Stdout) {
		return show.Summary(text)
	}
	return show.OneLine(text)
}

// thereAre begins a sentence about so many things.
func thereAre(n int) string {
	if n == 1 {
		return "there is 1"
	}
	return fmt.Sprintf("there are %d", n)
}

// tagText is the tags as they are shown.
func tagText(m event.Meta) string { return show.OneLine(strings.Join(m.Tags, ", ")) }
