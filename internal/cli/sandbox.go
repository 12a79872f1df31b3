package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/hostproxy"
	"github.com/reins-agent/reins/internal/trust"
	"github.com/reins-agent/reins/llm/connect"
)

// boxFlags select the sandbox of commands.
type boxFlags struct {
	mode     string
	network  networkFlag
	writable []string
}

func (o *boxFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(
		&o.mode,
		"sandbox",
		"",
		"what commands and file tools can write: read-only (nothing), workspace-write or off (default: workspace-write where "+
			"the system can enforce it)",
	)
	f.Var(&o.network, "network", "let commands in the sandbox use the network, or only reach `HOSTS` such as github.com,*.npmjs.org")
	f.Lookup("network").NoOptDefVal = "true"
	f.StringSliceVar(&o.writable, "writable", nil, "let commands in the sandbox also write to directory `DIR`")
	completeWords(cmd, "sandbox", modeWords()...)
}

// networkFlag is the value of --network: true, false, or hosts. Without a value it is true.
type networkFlag string

func (n *networkFlag) String() string { return cmp.Or(string(*n), "false") }

func (n *networkFlag) Set(s string) error { *n = networkFlag(s); return nil }

// Type returns bool, so that the help does not show the default value.
func (n *networkFlag) Type() string { return "bool" }

// joinHosts joins --network with hosts after it, which would otherwise be another argument.
func joinHosts(args []string) []string {
	joined := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(joined, args[i:]...)
		}
		if args[i] == "--network" && i+1 < len(args) && areHosts(args[i+1]) {
			joined = append(joined, "--network="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// areHosts reports whether an argument is a list of hosts rather than a prompt or the name of something.
func areHosts(arg string) bool {
	for _, host := range strings.Split(arg, ",") {
		if !strings.ContainsAny(host, ".:") || hostproxy.Check(host) != nil {
			return false
		}
	}
	return true
}

func modeWords() (words []string) {
	for _, m := range sandbox.Modes() {
		words = append(words, string(m))
	}
	return words
}

func newDoctor(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the sandbox and what else Reins needs on this system",
		Long: `Show how well this system can confine commands to a sandbox, and whether the
programs, keys and directories that Reins uses are available. List the files of
other agents that exist here, whether Reins uses them, and why not. The exit
code is 1 if something that Reins needs is missing.`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			checks := h.examine()
			if asJSON {
				for _, c := range checks {
					if err := printJSON(h.Stdout, c); err != nil {
						return err
					}
				}
			} else if err := printChecks(h.Stdout, checks); err != nil {
				return err
			}
			for _, c := range checks {
				if c.State == stateMissing {
					return failIf(true)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	return cmd
}

// The states of a check.
const (
	stateOK      = "ok"
	statePartial = "partial"
	stateNone    = "none"    // Reins works without it
	stateMissing = "missing" // Reins needs it
)

// check is one finding of "reins doctor".
type check struct {
	Name    string `json:"check"`
	State   string `json:"state"`
	Details string `json:"details"`
}

// examine returns all findings.
func (h Host) examine() []check {
	s := sandbox.Probe()
	checks := []check{sandboxCheck(s)}
	if runtime.GOOS == "linux" {
		checks = append(
			checks,
			yesNo("namespaces", s.Namespaces, "mounts are read-only, protected paths cannot be replaced, the network is separate"),
			yesNo(
				"landlock",
				s.Landlock > 0,
				fmt.Sprintf("version %d: a second barrier for writing, and other processes are out of reach", s.Landlock),
			),
			yesNo("seccomp", s.Seccomp, "system calls that could leave the sandbox fail"),
		)
	}
	checks = append(checks, readingCheck(s))
	checks = append(checks, h.gitCheck(), h.stateCheck(), h.keyCheck(), h.cloudCheck())
	return slices.Concat(checks, h.trustCheck(), h.otherChecks(), h.rulesCheck())
}

// trustCheck reports whether the files of a project that need trust are used. Most projects have none.
func (h Host) trustCheck() []check {
	if _, why := h.machine().Distrust("."); why != "" {
		return []check{{"project", statePartial, why}}
	}
	state, err := stateDir(h)
	if err != nil {
		return nil
	}
	st, err := trust.Open(state.Trust()).State(".")
	if err != nil || len(st.Files) == 0 || !st.Trusted {
		return nil
	}
	return []check{{"project", stateOK, "trusted: " + shortDir(h, st.Root)}}
}

// rulesCheck reports rules of Claude Code that have no effect here.
func (h Host) rulesCheck() (checks []check) {
	for _, n := range h.claudeNotes(".") {
		checks = append(checks, check{"rules", statePartial, n.String()})
	}
	return checks
}

func sandboxCheck(s sandbox.Support) check {
	switch {
	case s.Full():
		return check{"sandbox", stateOK, "commands are confined: workspace-write, without network, unless you choose otherwise"}
	case s.Any():
		return check{
			"sandbox",
			statePartial,
			strings.Join(s.Problems, "; ") + ". Only commands known to be read-only run without approval, in every mode",
		}
	}
	return check{"sandbox", stateNone, strings.Join(s.Problems, "; ") + ". COMMANDS ARE NOT CONFINED: every command needs approval"}
}

func readingCheck(s sandbox.Support) check {
	if !s.Reads() {
		return check{"reading", stateNone, "not enforced: commands that only read need approval too, unless you use --sandbox off"}
	}
	return check{
		"reading",
		stateOK,
		"commands that only read can change nothing, and read only the project, system files and tools; credentials are hidden " +
			"from all commands",
	}
}

func yesNo(name string, ok bool, details string) check {
	if !ok {
		return check{name, stateNone, "not available"}
	}
	return check{name, stateOK, details}
}

func (h Host) gitCheck() check {
	out, err := exec.Command("git", "version").Output()
	if err != nil {
		return check{"git", stateNone, "not found: the agent gets no information about the repository"}
	}
	return check{"git", stateOK, strings.TrimSpace(string(out))}
}

func (h Host) stateCheck() check {
	dir, err := stateDir(h)
	if err == nil {
		err = os.MkdirAll(string(dir), 0o700)
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(string(dir), "doctor-"); err == nil {
			f.Close()
			err = os.Remove(f.Name())
		}
	}
	if err != nil {
		return check{"sessions", stateMissing, fmt.Sprintf("%v; set REINS_HOME to a writable directory", err)}
	}
	return check{"sessions", stateOK, shortDir(h, string(dir))}
}

func (h Host) keyCheck() check {
	var found []string
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		if h.Getenv(name) != "" {
			found = append(found, name)
		}
	}
	for _, p := range connect.Presets() {
		for _, name := range p.Keys {
			if h.Getenv(name) != "" && name != "GITHUB_TOKEN" && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	if st, err := h.machine().Account().Status(); err == nil && st.SignedIn {
		found = append(found, "the ChatGPT sign-in (use it with --provider chatgpt)")
	}
	if len(found) == 0 {
		return check{
			"keys",
			stateNone,
			"no API key is set; set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or another variable that \"reins " +
				"providers list\" shows, or use a local server",
		}
	}
	return check{"keys", stateOK, strings.Join(found, ", ")}
}

// cloudCheck reports which cloud platforms are configured. It calls none of them.
func (h Host) cloudCheck() check {
	var found []string
	for _, name := range []string{"bedrock", "vertex", "azure"} {
		if _, err := connect.Open(context.Background(), name, connect.Config{Getenv: h.Getenv}); err == nil {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return check{"clouds", stateNone, "bedrock, vertex and azure are not configured"}
	}
	return check{"clouds", stateOK, strings.Join(found, ", ") + "; choose one with --provider"}
}
