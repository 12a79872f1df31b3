// Package cli is the command line of reins: each command is a small file that reads flags, calls
// the library and prints. Nothing here is needed to embed Reins in another program.
//
// Results go to standard output, everything else to standard error. A failure is one line there
// and an exit code that says what kind of failure it was.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/llm"
)

// Host is what the commands know of the process they run in, so that tests can stand in for it.
type Host struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string

	quit <-chan struct{} // closed by the second interruption; Main sets it
}

// Process is the host that this process is.
func Process() Host {
	return Host{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}

// Exit codes. docs/cli.md explains them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitLimit       = 3
	exitNeedsInput  = 4
	exitAuth        = 5
	exitDeadline    = 124
	exitInterrupted = 130
)

// Main runs the command line and returns the exit code.
func Main(h Host) int {
	ctx, quit, stop := watchSignals(context.Background())
	defer stop()
	h.quit = quit
	root := newRoot(h)
	root.SetArgs(h.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var quiet quietError
	if !errors.As(err, &quiet) {
		fmt.Fprintln(h.Stderr, "reins: "+oneLine(err))
	}
	return exitCode(ctx, err)
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// quietError sets an exit code where everything was said already.
type quietError struct{ code int }

func (e quietError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func exitCode(ctx context.Context, err error) int {
	var usage usageError
	var quiet quietError
	switch {
	case errors.As(err, &quiet):
		return quiet.code
	case errors.As(err, &usage):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case llm.KindOf(err) == llm.ErrAuthentication:
		return exitAuth
	case llm.KindOf(err) == llm.ErrConfiguration:
		return exitUsage
	}
	return exitFailed
}

// oneLine returns an error as one line without control characters, which could come from anywhere. A
// mistake in the configuration is described by its message alone.
func oneLine(err error) string {
	text := err.Error()
	if llm.KindOf(err) == llm.ErrConfiguration {
		text = strings.TrimPrefix(text, "configuration: ")
	}
	return show.OneLine(text)
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			of, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range of.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begun) {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

func newRoot(h Host) *cobra.Command {
	root := &cobra.Command{
		Use:   "reins",
		Short: "The coding-agent loop, with the reins in your hands",
		Long: `Reins is the coding-agent loop as a Go library; this program is built on it.

No key at hand? "reins demo" shows the main job offline, against a scripted model.
Keys are read from OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, or, for any
OpenAI-compatible server, REINS_CHAT_BASE_URL and REINS_CHAT_API_KEY.

"reins completion SHELL --help" says how a shell completes commands, flags and session ids.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionText(),
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(newHelp())
	root.SetIn(h.Stdin)
	root.SetOut(h.Stdout)
	root.SetErr(h.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newRun(h), newDemo(h), newAsk(h), newTool(h), newModels(h), newSessions(h),
		newUndo(h), newRedo(h), newDiff(h), newCost(h), newCompact(h), newWire(h), newVersion(h),
	)
	return root
}

// emptyFlag is an error if one of these flags was given without a value: a variable of a script that
// is not set must not stand for a new session.
func emptyFlag(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s names no session: its value is empty", name)
		}
	}
	return nil
}

// exactArgs is cobra.ExactArgs with an error of ours.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("\"%s\" takes %s; see \"%s --help\"", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}
