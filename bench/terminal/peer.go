//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// peer is a program to measure, as data.
type peer struct {
	name    string
	program string // name or path
	args    []string
	resume  []string // arguments that reopen the last session of the directory; nil if there are none
	env     []string
	files   map[string]string // files to write before, by path relative to the home directory
	tool    string            // its shell tool, and the names of its arguments
	command string
	more    map[string]string // further arguments, so that it asks
	asks    string            // a phrase of its approvals; "" if it asks nothing
	keys    keys
	inline  bool // the conversation is in the terminal's own history
}

// keys are what a person presses.
type keys struct {
	send      string
	interrupt string
	allow     string // agrees to an approval
	top       string // jumps to the first line; "" if there is none
	pageUp    string
	erase     string // the character before the caret
}

var usual = keys{send: "\r", interrupt: "\x1b", allow: "\r", top: "\x1b[1;5H", pageUp: "\x1b[5~", erase: "\x7f"}

// In arguments, variables and files, $URL is the server's address, $HOME the home directory and $WORK the working
// directory.
func peers() []peer {
	return []peer{
		{
			name:    "reins",
			program: "reins",
			resume:  []string{"--continue"},
			env:     []string{"OPENAI_API_KEY=bench", "OPENAI_BASE_URL=$URL"},
			args:    []string{"--provider=openai", "--model=gpt-5.1"},
			tool:    "shell",
			command: "command",
			keys: keys{
				send:      usual.send,
				interrupt: usual.interrupt,
				allow:     "y\r",
				top:       usual.top,
				pageUp:    usual.pageUp,
				erase:     usual.erase,
			},
			asks: "Allow this?",
		},
		{
			name:    "claude",
			program: "claude",
			args:    []string{"--model", "claude-sonnet-4-5"},
			resume:  []string{"--continue"},
			env: []string{
				"ANTHROPIC_BASE_URL=$URL", "ANTHROPIC_API_KEY=sk-ant-bench-bench-bench-bench", "IS_SANDBOX=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
			},
			files: map[string]string{".claude.json": `{"hasCompletedOnboarding":true,"theme":"dark","numStartups":3,
				"customApiKeyResponses":{"approved":["ch-bench-bench-bench"],"rejected":[]},
				"projects":{"$WORK":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true,"allowedTools":[]}}}`},
			tool:    "Bash",
			command: "command",
			keys:    usual,
			inline:  true,
			asks:    "Do you want to",
		},
		{
			name:    "codex",
			program: "codex",
			args:    []string{"-a", "on-request", "-s", "read-only"},
			resume:  []string{"resume", "--last"},
			env:     []string{"OPENAI_API_KEY=bench", "CODEX_HOME=$HOME/.codex"},
			files: map[string]string{".codex/config.toml": `model = "gpt-5.1-codex"
model_provider = "bench"
check_for_update_on_startup = false
[model_providers.bench]
name = "bench"
base_url = "$URL"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."$WORK"]
trust_level = "trusted"
[tui]
show_tooltips = false
`},
			tool:    "exec_command",
			command: "cmd",
			keys:    usual,
			more:    map[string]string{"sandbox_permissions": "require_escalated", "justification": "May I run this?"},
			inline:  true,
			asks:    "Would you like to run",
		},
		{
			name:    "pi",
			program: "pi",
			args:    []string{"--provider", "bench", "--model", "bench"},
			resume:  []string{"--continue"},
			env:     []string{"PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1"},
			files: map[string]string{".pi/agent/models.json": `{"providers":{"bench":{"baseUrl":"$URL","apiKey":"bench",
				"api":"anthropic-messages","models":[{"id":"bench","name":"bench","reasoning":false,"input":["text"],
				"contextWindow":100000000,"maxTokens":8192,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}`},
			tool:    "bash",
			command: "command",
			keys:    usual,
			inline:  true,
		},
	}
}

// place is a fresh home directory and a working directory for a program.
type place struct{ home, work, url string }

func newPlace(url string) (place, error) {
	home, err := os.MkdirTemp("", "reins-bench-")
	if err != nil {
		return place{}, err
	}
	p := place{home, filepath.Join(home, "work"), url}
	return p, os.Mkdir(p.work, 0o755)
}

func (p place) fill(s string) string {
	return strings.NewReplacer("$URL", p.url, "$HOME", p.home, "$WORK", p.work).Replace(s)
}

// prepare writes the files of a program.
func (p place) prepare(with peer) error {
	for name, content := range with.files {
		path := filepath.Join(p.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(p.fill(content)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// open starts a program.
func (p place) open(with peer, resume bool) (*screen, error) {
	argv := []string{with.program}
	for _, a := range with.args {
		argv = append(argv, p.fill(a))
	}
	if resume {
		argv = append(argv, with.resume...)
	}
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.home, "LANG=C.UTF-8", "TERM=xterm-256color",
		"COLORTERM=truecolor", "SHELL=/bin/bash",
	}
	for _, v := range with.env {
		environ = append(environ, p.fill(v))
	}
	return launch(argv, environ, p.work)
}

// toolArgs returns the arguments of the shell tool for a command.
func (p peer) toolArgs(command string) string {
	args := map[string]string{p.command: command}
	maps.Copy(args, p.more)
	b, _ := json.Marshal(args)
	return string(b)
}
