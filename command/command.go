// Package command has a session's slash commands: built-in commands such as /model and /undo, and
// prompts such as skills, command files and MCP prompts.
//
// A [Registry] lists, completes and runs them for every user interface. Its results are data, so that a terminal, a
// web page and an editor show the same.
package command

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/session"
)

// Command is a slash command. The user types its name after a slash.
type Command struct {
	Name      string
	Aliases   []string
	Summary   string
	Arguments string // such as "[FILE]"

	// Idle and Saved mark commands that need an idle or a saved session.
	Idle  bool
	Saved bool
	// Needs returns what the target lacks, or "". A nil Needs means that the command is always available.
	Needs func(t Target) string
	// Complete returns the words that can follow the given arguments; nil means none.
	Complete func(ctx context.Context, t Target, args []string) ([]string, error)
	// Run runs the command.
	Run func(ctx context.Context, t Target, args string) (session.Result, error)
}

// Target is the session that a command works on.
type Target struct {
	session.Handle
	Host
}

// Host is what commands need besides the session. Commands whose field is nil are not available.
type Host struct {
	Sessions Sessions
	Models   *llm.Catalogue
	Servers  func() []mcp.Status
	Rules    func(ctx context.Context) ([]Rule, error)
	Notes    func(ctx context.Context) ([]Note, error)
	// RemoveRule removes a rule from where it comes from, and Forget removes a note.
	RemoveRule func(ctx context.Context, r Rule) error
	Forget     func(ctx context.Context, n Note) error
	// Exists reports whether a path exists, so that a text that begins with "/tmp" is not a command. Nil means never.
	Exists func(path string) bool
}

// Sessions are the saved sessions. A [session.Manager] implements it.
type Sessions interface {
	Find(ctx context.Context, name string) (event.Meta, error)
	List(ctx context.Context, f session.Filter) (session.Listing, error)
	Fork(ctx context.Context, o session.ForkOptions) (event.Meta, error)
	Export(ctx context.Context, o session.ExportOptions, out io.Writer) error
	Diff(ctx context.Context, o session.DiffOptions) iter.Seq2[session.FileDiff, error]
}

// Rule is a permission rule.
type Rule struct {
	Effect string // "allow", "ask" or "deny"
	Rule   string // such as "Bash(go test:*)"
	Origin string // where it comes from
}

// Note is a note between sessions.
type Note struct {
	Scope string // "user" or "project"
	Title string
	Text  string
}

// Registry holds commands. It implements [session.Registry] and may be used concurrently.
type Registry struct {
	host     Host
	commands []Command // sorted by name
}

var _ session.Registry = (*Registry)(nil)

// New returns a registry with the built-in commands and more. A command replaces the built-in command of the same name.
func New(h Host, more ...Command) *Registry {
	r := &Registry{host: h, commands: slices.Clone(more)}
	for _, c := range builtins() {
		if _, replaced := r.find(c.Name); !replaced {
			r.commands = append(r.commands, c)
		}
	}
	slices.SortStableFunc(r.commands, func(a, b Command) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// builtins returns the built-in commands.
func builtins() []Command {
	return slices.Concat(settings(), conversation(), sessions(), agents(), about())
}

// line matches "/name args". A path such as /etc/hosts does not match.
var line = lazy.Regexp(`(?s)^/([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.:-]*)(?:\s+(.*))?$`)

// Parse splits a line into command name and arguments. It reports false if the line is not a command: if it
// does not begin with a slash, also after a blank, or begins with a path.
func Parse(text string) (name, args string, ok bool) {
	m := line().FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

// find returns the command with a name or alias.
func (r *Registry) find(name string) (Command, bool) {
	i := slices.IndexFunc(r.commands, func(c Command) bool { return c.Name == name || slices.Contains(c.Aliases, name) })
	if i < 0 {
		return Command{}, false
	}
	return r.commands[i], true
}

// unavailable returns why a command cannot be used now, or "".
func (c Command) unavailable(t Target, i session.Info) string {
	switch {
	case c.Saved && !i.Saved:
		return "the session is not saved"
	case c.Idle && i.State == event.StateProcessing: // calls of interrupted work may wait for approval
		return session.ErrBusy.Error()
	case c.Needs != nil:
		return c.Needs(t)
	}
	return ""
}

// List lists the commands by name, the built-in commands first, then the prompts.
func (r *Registry) List(ctx context.Context, h session.Handle, prompts []session.Command) ([]session.Command, error) {
	info, err := h.Info(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]session.Command, 0, len(r.commands)+len(prompts))
	for _, c := range r.commands {
		list = append(list, session.Command{
			Name:        c.Name,
			Aliases:     c.Aliases,
			Summary:     c.Summary,
			Arguments:   c.Arguments,
			Source:      session.SourceBuiltin,
			Unavailable: c.unavailable(Target{h, r.host}, info),
		})
	}
	for _, p := range prompts {
		if _, taken := r.find(p.Name); taken {
			p.Unavailable = "a built-in command has its name"
		}
		list = append(list, p)
	}
	return list, nil
}

// Run runs a line. It does not submit a prompt, but returns it as the result's Input.
func (r *Registry) Run(ctx context.Context, h session.Handle, text string) (session.Result, bool, error) {
	name, args, ok := Parse(text)
	if !ok {
		return session.Result{}, false, nil
	}
	c, ok := r.find(name)
	if !ok {
		return r.prompt(ctx, h, name, text)
	}
	info, err := h.Info(ctx)
	if err != nil {
		return session.Result{}, true, err
	}
	t := Target{h, r.host}
	if why := c.unavailable(t, info); why != "" {
		return session.Result{}, true, &session.UnavailableError{Name: name, Reason: why}
	}
	res, err := c.Run(ctx, t, args)
	return res, true, err
}

// prompt returns the input that a prompt stands for.
func (r *Registry) prompt(ctx context.Context, h session.Handle, name, text string) (session.Result, bool, error) {
	submit := session.Result{Action: session.ActionSubmit, Submit: &session.Input{Text: text}}
	if isMCP(name) { // its server may not have listed it yet
		return submit, true, nil
	}
	list, err := h.Commands(ctx)
	if err != nil {
		return session.Result{}, true, err
	}
	var names []string
	for _, c := range list {
		mine := append([]string{c.Name}, c.Aliases...)
		switch {
		case !slices.Contains(mine, name):
		case c.Unavailable == "":
			return submit, true, nil
		default:
			return session.Result{}, true, &session.UnavailableError{Name: name, Reason: c.Unavailable}
		}
		names = append(names, mine...)
	}
	if r.host.Exists != nil && r.host.Exists("/"+name) {
		return session.Result{}, false, nil
	}
	return session.Result{}, true, &session.UnknownCommandError{Name: name, Near: suggest.Words(name, names)}
}
