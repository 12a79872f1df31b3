package localtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// protocol is a way to reach a server's models.
type protocol struct {
	provider string // as in --provider
	path     string // base URL path
}

var protocols = []protocol{
	{"local", "/v1"},  // Chat Completions, and the server's description of its models
	{"chat", "/v1"},   // Chat Completions
	{"openai", "/v1"}, // Responses
	{"anthropic", ""}, // Messages
}

func (p protocol) flags(s *server, model string) []string {
	return []string{"--provider", p.provider, "--base-url", s.url(p.path), "--model", model}
}

// eachProtocol runs a test with each protocol.
func eachProtocol(t *testing.T, test func(t *testing.T, p protocol)) {
	for _, p := range protocols {
		t.Run(p.provider, func(t *testing.T) { test(t, p) })
	}
}

// outcome is the output of a reins run.
type outcome struct {
	stdout, stderr string
	code           int
}

// environment returns variables for our program, without the user's settings and sessions.
func environment(t testing.TB) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
}

// runReins runs our program in a directory.
func runReins(t testing.TB, dir string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a run that hangs fails
	defer cancel()
	cmd := exec.CommandContext(ctx, reins, args...)
	cmd.Dir, cmd.Env = dir, environment(t)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("reins %s: %v", strings.Join(args, " "), err)
	}
	t.Logf("reins %s\n%s%s", strings.Join(args, " "), stdout.String(), stderr.String())
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

type usage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// record is an event of "reins run --output stream-json", or the result at its end.
type record struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`

	Type    string `json:"type"`
	Outcome string `json:"outcome"`
	Text    string `json:"text"`
	Turns   int    `json:"turns"`
	Rounds  int    `json:"rounds"`
	Usage   usage  `json:"usage"`
	Error   *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
}

// records returns the events and the result that a run printed with --output stream-json.
func (o outcome) records(t testing.TB) (events []record, result record) {
	t.Helper()
	for line := range strings.Lines(o.stdout) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		events = append(events, r)
	}
	if len(events) == 0 || events[len(events)-1].Type != "result" {
		t.Fatalf("the output does not end with a result:\n%s%s", o.stdout, o.stderr)
	}
	return events[:len(events)-1], events[len(events)-1]
}

// number returns the number of events of a kind.
func number(events []record, kind string) (n int) {
	for _, e := range events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// answer is what "reins ask --json" prints.
type answer struct {
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
	Finish   struct {
		Reason string `json:"reason"`
	} `json:"finish"`
	Usage usage `json:"usage"`
}

func (o outcome) answer(t testing.TB) (a answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &a); err != nil {
		t.Fatalf("%v in %q, with %q", err, o.stdout, o.stderr)
	}
	return a
}

// project returns a directory with a file for the models to edit, and the file's path.
func project(t testing.TB) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "greeting.txt")
	if err := os.WriteFile(file, []byte("hello, world\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}
