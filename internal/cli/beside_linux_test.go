package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/llm/llmtest"
)

// monorepo is a trusted repository with instructions, rules and ignore files at its top. Sessions work in its directory
// app.
type monorepo struct {
	t        *testing.T
	server   *llmtest.Server
	top, app string
	home     string
}

func newMonorepo(t *testing.T) monorepo {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := monorepo{t: t, server: newModelServer(), top: filepath.Join(base, "repo"), home: filepath.Join(base, "home")}
	t.Cleanup(m.server.Close)
	m.app = filepath.Join(m.top, "app")
	for name, text := range map[string]string{
		"AGENTS.md":            "Instructions of the repository.\n",
		"CLAUDE.md":            "Instructions of the repository for Claude.\n",
		".gitignore":           "*.log\nbuild/\n",
		".reins/config.toml":   "[permissions]\ndeny = [\"Bash(curl:*)\", \"Read(private/**)\"]\n",
		"app/AGENTS.md":        "Instructions of the directory.\n",
		"app/main.go":          "package main // needle\n",
		"app/private/x.txt":    "needle\n",
		"app/noise.log":        "needle\n",
		"app/build/out.go":     "package out // needle\n",
		"app/sub/deep/deep.go": "package deep // needle\n",
	} {
		m.write(name, text)
	}
	if err := errors.Join(os.Mkdir(m.home, 0o700), syscall.Mkfifo(m.gate(), 0o600)); err != nil {
		t.Fatal(err)
	}
	m.output(m.top, "git", "init", "-q", "-b", "main")
	m.output(m.top, "git", "add", ".")
	m.output(m.top, "git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Begin")
	m.write("app/untracked.txt", "needle\n")
	m.output(m.top, "reins", "trust", "--yes")
	return m
}

// gate is a pipe from which the command of a session reads.
func (m monorepo) gate() string { return filepath.Join(m.app, "gate") }

func (m monorepo) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.top, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

func (m monorepo) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "TERM=xterm", "LANG=C.UTF-8", quickExit,
		"ANTHROPIC_API_KEY=" + canary, "ANTHROPIC_BASE_URL=" + m.server.BaseURL("anthropic"),
	}
	return cmd
}

// output returns what a command that must succeed prints.
func (m monorepo) output(dir, name string, args ...string) string {
	m.t.Helper()
	var stderr bytes.Buffer
	cmd := m.command(dir, name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, stderr.String())
	}
	return string(out)
}

// seen returns the standard output and exit code of a command in app.
func (m monorepo) seen(name string, args ...string) string {
	m.t.Helper()
	cmd := m.command(m.app, name, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(out) + cmd.ProcessState.String()
}

// work calls f while the command of a session in app runs.
func (m monorepo) work(sandbox string, f func()) {
	m.t.Helper()
	cmd := m.command(m.app, "reins", "run", "--yes", "--sandbox", sandbox, "--output", "stream-json",
		`call shell {"command":"echo rea''dy; read -r x < gate","timeout_ms":600000}`)
	out := start(m.t, cmd)
	for line := ""; !strings.Contains(line, "TOOL_CALL_OUTPUT_DELTA") || !strings.Contains(line, "ready"); {
		var err error
		if line, err = out.ReadString('\n'); err != nil {
			m.t.Fatalf("the run ended before its command began: %v", err)
		}
	}
	f()
	gate, err := os.OpenFile(m.gate(), os.O_RDWR, 0) // does not wait for the command
	if err != nil {
		m.t.Fatal(err)
	}
	defer gate.Close()
	if _, err := gate.WriteString("go\n"); err != nil { // the command reads it and ends
		m.t.Fatal(err)
	}
	if _, err := out.WriteTo(new(bytes.Buffer)); err != nil {
		m.t.Fatal(err)
	}
	if code := exitCodeOf(m.t, cmd); code != 0 {
		m.t.Errorf("the session with the sandbox %s exits with %d", sandbox, code)
	}
}

// projectParts matches the parts of a system prompt that come from the project.
var projectParts = regexp.MustCompile(`(?s)<project_instructions.*?</project_instructions>|<git_snapshot>.*?</git_snapshot>|` +
	`(?i:is git repository|git branch)[^\n]*`)

// look returns what other programs and another session see in app.
func (m monorepo) look(sandbox string) map[string]string {
	m.t.Helper()
	session := func(prompt string) string { // not saved, because looking must change nothing
		return m.seen("reins", "run", "--no-save", "--yes", "--sandbox", sandbox, prompt)
	}
	views := map[string]string{
		"files":               m.seen("sh", "-c", `find .. -path ../.git -prune -o -printf '%P %y\n' | sort`),
		"ls":                  m.seen("ls", "-a"),
		"git status":          m.seen("git", "status", "--porcelain", "--branch", "--ignored", "--untracked-files=all"),
		"git top":             m.seen("git", "rev-parse", "--show-toplevel"),
		"denied by a rule":    m.seen("reins", "policy", "check", "--command", "curl x"),
		"allowed":             m.seen("reins", "policy", "check", "--command", "ls"),
		"configuration":       m.seen("reins", "config", "show", "--origin"),
		"trust":               m.seen("reins", "trust", "--list"),
		"doctor":              m.seen("reins", "doctor"),
		"instructions":        strings.Join(projectParts.FindAllString(session("system"), -1), "\n"),
		"grep":                session(`call grep {"pattern":"needle"}`),
		"glob":                session(`call glob {"pattern":"**/*"}`),
		"codebase_search":     session(`call codebase_search {"query":"needle"}`),
		"rule in a session":   session(`call shell {"command":"curl x"}`),
		"file in a session":   session(`call read_file {"file_path":"private/x.txt"}`),
		"ls in a session":     session(`call shell {"command":"ls -a . .."}`),
		"status in a session": session(`call shell {"command":"git status --porcelain --ignored; git rev-parse --show-toplevel"}`),
	}
	for name, text := range views {
		views[name] = timing.ReplaceAllString(text, "[exit code $1]")
	}
	return views
}

// timing matches what the result of a command says about its duration.
var timing = regexp.MustCompile(`\[exit code (\d+), [^\]]*\]`)

// A session must not change what a second session, the command line and the user's git find in its directory: the same
// files, rules, trust and instructions as with the sandbox off, and as without any session.
func TestSandbox_LeavesASubdirectoryAsItIsForOthers(t *testing.T) {
	t.Parallel()
	m := newMonorepo(t)
	alone := m.look("off")
	for name, want := range map[string]string{ // what is compared below has a meaning
		"git top":           m.top + "\n",
		"denied by a rule":  "Bash(curl:*)",
		"instructions":      "Instructions of the repository",
		"grep":              "sub/deep/deep.go",
		"rule in a session": "Bash(curl:*)",
		"file in a session": "Read(private/**)",
		"configuration":     "Bash(curl:*)",
		"trust":             m.top,
	} {
		if !strings.Contains(alone[name], want) {
			t.Errorf("%s without a session: got\n%s\nwant %q", name, alone[name], want)
		}
	}
	for _, name := range []string{"grep", "glob", "codebase_search"} {
		if strings.Contains(alone[name], "noise.log") || strings.Contains(alone[name], "build/out.go") {
			t.Errorf("%s finds ignored files:\n%s", name, alone[name])
		}
	}
	for _, sandbox := range []string{"off", "workspace-write", "read-only"} {
		t.Run(sandbox, func(t *testing.T) {
			m.t = t
			m.work(sandbox, func() {
				if diff := cmp.Diff(alone, m.look(sandbox)); diff != "" {
					t.Errorf("beside a session (-without one +beside it):\n%s", diff)
				}
			})
			if diff := cmp.Diff(alone, m.look("off")); diff != "" {
				t.Errorf("after a session (-before +after):\n%s", diff)
			}
		})
	}
}
