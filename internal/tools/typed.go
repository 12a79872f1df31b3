package tools

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// inputAccess declares what input to a process does. To a shell, all that was sent to it so far is a script; other
// programs may do anything with it.
func (s *shell) inputAccess(_ context.Context, c *tool.Call, in Input) []policy.Access {
	if c.Mode == policy.ModePlan && (in.Text != "" || in.Close) {
		return nil // the process may do anything with it
	}
	if in.Text == "" {
		return []policy.Access{} // the calls that started the process and sent it text were approved
	}
	p, err := s.find(in.ID)
	if err != nil {
		return []policy.Access{{Kind: policy.Input, Target: "process " + string(in.ID) + ": " + in.Text}}
	}
	if script, ok := p.shell.script(in.Text); ok {
		return []policy.Access{{Kind: policy.Exec, Target: script, Dir: p.dir, Running: p.box}}
	}
	return []policy.Access{{Kind: policy.Input, Target: "process " + p.id() + " (" + p.command + "): " + in.Text}}
}

// typed is the input of a shell so far. What a shell does with a line depends on all lines before it: they may change
// the directory, define functions, or start a program that reads the next line instead.
type typed struct {
	edits bool // it expands history and completes names

	mu   sync.Mutex
	text string
}

// maxTyped is the maximum input of a shell that is judged as a script.
const maxTyped = 64 << 10

// shellFlags are options with which a shell reads commands from its input and runs them as it would run a script.
var shellFlags = []string{"-i", "-l", "-s", "--login", "--norc", "--noprofile"}

// newTyped returns the input of a command that is only a shell, or nil if it is another program. Only bash is known to
// read a script as the policy does, and the shell that runs command lines.
func newTyped(c *tool.Call, in Command) *typed {
	words := strings.Fields(in.Command)
	if len(words) == 0 || in.Outside || strings.ContainsAny(in.Command, "\n\r") {
		return nil
	}
	name := words[0]
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		name = strings.TrimPrefix(name, dir)
	}
	if name != "bash" && (name != "sh" || path.Base(c.Env.Info().Shell) != "sh") {
		return nil
	}
	if slices.ContainsFunc(words[1:], func(w string) bool { return !slices.Contains(shellFlags, w) }) {
		return nil
	}
	return &typed{edits: in.TTY || slices.Contains(words, "-i")}
}

// script returns all input including more text, and whether the shell reads it as a script.
func (t *typed) script(more string) (string, bool) {
	if t == nil {
		return "", false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.text + more
	return all, len(all) <= maxTyped && !(t.edits && strings.ContainsAny(all, "!^\t"))
}

// sent records input.
func (t *typed) sent(text string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) <= maxTyped { // more is not judged
		t.text += text
	}
}
