// Package cli implements the reins command. Each command reads its flags, calls the library and
// prints the result. Programs that embed Reins do not need this package.
//
// Results go to standard output, everything else to standard error. A failure is one line on
// standard error and an exit code for its kind.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/chatgpt"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Version is set at build time. If it is empty, the module's version is used.
var Version string

// Host is the process that commands run in. Tests replace it.
type Host struct {
	Args   []string // without the program name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string

	quit      <-chan struct{}        // closed by the second interrupt; set by Main
	systemDir string                 // the directory of the system configuration; "" means the default
	search    connect.Search         // where to look for local servers
	chatgpt   chatgpt.Service        // where to sign in with ChatGPT; zero means OpenAI
	openURL   func(url string) error // opens the browser; nil means the user's
	now       func() time.Time       // the clock for dates of models; nil means time.Now
}

// Process returns the Host for the current process.
func Process() Host {
	return Host{
		Args:   os.Args[1:],
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
	}
}

// Exit codes, as documented in docs/cli.md.
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
	root.SetArgs(joinHosts(h.Args))
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

// lostDir reports whether an error means that the working directory was removed.
func lostDir(err error) bool {
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "getwd"
}

// usageError reports a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// quietError sets the exit code for a failure that was already reported.
type quietError struct{ code int }

func (e quietError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// failIf returns an error with exit code 1 for a problem that was already reported.
func failIf(problem bool) error {
	if problem {
		return quietError{exitFailed}
	}
	return nil
}

func exitCode(ctx context.Context, err error) int {
	var quiet quietError
	switch {
	case errors.As(err, &quiet):
		return quiet.code
	case isUsage(err):
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

// oneLine returns an error as one line that is safe to print.
func oneLine(err error) string {
	text := err.Error()
	if lostDir(err) {
		text = "the working directory no longer exists; change to another directory"
	}
	if llm.KindOf(err) == llm.ErrConfiguration {
		text = strings.Replace(text, "configuration: ", "", 1)
	}
	return show.OneLine(strings.ReplaceAll(hostSecrets().Text(text), "\n", "; "))
}

// errInterrupted is the cause of a context that was cancelled by a signal.
var errInterrupted = errors.New("interrupted")

// watchSignals returns a context that the first interrupt cancels, so that work can stop cleanly. The
// second interrupt closes quit, for callers that should not wait. The third has its default effect.
func watchSignals(parent context.Context) (ctx context.Context, quit <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	quitting, done := make(chan struct{}), make(chan struct{})
	go func() {
		for _, react := range []func(){func() { cancel(errInterrupted) }, func() { close(quitting) }} {
			select {
			case <-signals:
				react()
			case <-done:
				return
			}
		}
		signal.Stop(signals)
	}()
	return ctx, quitting, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// surviveBrokenPipe makes writes to a closed pipe fail instead of killing the process, so that it can
// clean up. The returned function restores the default.
func surviveBrokenPipe() (undo func()) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

func newRoot(h Host) *cobra.Command {
	var f interactive
	root := group(&cobra.Command{
		Use:   "reins [flags] [PROMPT]",
		Short: "Run coding agents in the terminal",
		Long: `Run coding agents in the terminal.

Without a command, Reins opens a session on the terminal. Type what to do,
watch, answer questions, and add to the work while it runs. A prompt of one
word needs "--" before it.

To try Reins without an API key, run "reins demo".

Otherwise set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY. For an
OpenAI-compatible server, set REINS_CHAT_BASE_URL and REINS_CHAT_API_KEY.
"reins providers list" shows many more providers and their variables.`,
		Example: `  reins
  reins "Find out why TestParse fails and fix it"
  reins --continue
  reins run "Find out why TestParse fails and fix it"
  reins diff
  reins undo`,
		SilenceUsage:  true,
		SilenceErrors: true,
	})
	addCommands(
		root,
		"Work",
		newRun(h),
		newWatch(h),
		newCommit(h),
		newReview(h),
		newUndo(h),
		newRedo(h),
		newDiff(h),
		newAsk(h),
		newCoder(h),
		newDemo(h),
	)
	addCommands(
		root,
		"Sessions",
		newSessions(h),
		newAttach(h),
		newApprove(h),
		newCost(h),
		newCompact(h),
		newAudit(h),
		newWorktrees(h),
		newMemory(h),
	)
	addCommands(root, "Setup", newInit(h), newConfig(h), newPolicy(h), newTrust(h), newUntrust(h), newMCP(h), newSkills(h), newHooks(h),
		newModels(h), newProviders(h), newLogin(h), newLogout(h), newDoctor(h))
	addCommands(root, "Development", newTool(h), newWire(h))
	root.AddCommand(newVersion(h))
	f.flags(h, root)
	root.RunE = func(cmd *cobra.Command, args []string) error { return f.start(cmd, h, args) }
	addVersion(root)
	root.SetUsageFunc(printUsage)
	root.SetHelpCommand(newHelp())
	root.SetIn(h.Stdin)
	root.SetOut(h.Stdout)
	root.SetErr(h.Stderr)
	root.SetFlagErrorFunc(flagError)
	addCompletion(root)
	return root
}

// addVersion adds the --version flag. Cobra's own flag uses a template, which would make the program larger; see
// docs/performance.md.
func addVersion(root *cobra.Command) {
	show := root.Flags().BoolP("version", "v", false, "print the version")
	run := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*show {
			return run(cmd, args)
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
		return err
	}
}

// group completes a command that only has subcommands. Without a subcommand, it prints its help.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

func newHelp() *cobra.Command {
	var man string
	cmd := &cobra.Command{
		Use:   "help [flags] [COMMAND]",
		Short: "Show help for a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			of, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range of.Commands() {
				if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), prefix) {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if man != "" && len(args) == 0 {
				return reportManPages(cmd, man)
			}
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 || man != "" {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
	cmd.Flags().StringVar(&man, "man", "", "write a manual page for each command into directory `DIR`")
	return cmd
}

func newVersion(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(h.Stdout, versionText())
			return err
		},
	}
}

func versionText() string {
	return fmt.Sprintf("reins %s %s %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// anyNumber is a maximum for [wantArgs] that allows any number of arguments.
const anyNumber = -1

// wantArgs requires a number of arguments between minimum and maximum. The description completes the error
// `"reins X" takes …`.
func wantArgs(minimum, maximum int, description string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < minimum || maximum != anyNumber && len(args) > maximum {
			return usagef("\"%s\" takes %s; see \"%s --help\"", cmd.CommandPath(), description, cmd.CommandPath())
		}
		return nil
	}
}

// emptyFlag returns an error if one of these flags was set to "". An unset variable in a script must
// not start a new session.
func emptyFlag(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty: give a session ID", name)
		}
	}
	return nil
}

// splitAtDash splits arguments at "--".
func splitAtDash(cmd *cobra.Command, args []string) (before, after []string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}
