package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Command is a command that a user can type as "/name arguments".
type Command struct {
	Name      string        `json:"name"`
	Aliases   []string      `json:"aliases,omitempty"`
	Summary   string        `json:"summary"`
	Arguments string        `json:"arguments,omitempty"` // such as "[FILE]"
	Source    CommandSource `json:"source"`
	// Unavailable is why the command cannot be used now; "" if it can.
	Unavailable string `json:"unavailable,omitempty"`
}

// CommandSource is where a command comes from.
type CommandSource string

// Sources of commands.
const (
	SourceBuiltin CommandSource = "builtin" // package command
	SourceSkill   CommandSource = "skill"   // a skill
	SourceFile    CommandSource = "command" // a command file of another agent
	SourceMCP     CommandSource = "mcp"     // an MCP server's prompt
)

// Result is a command's output, and the caller's next action. Its text is untrusted.
type Result struct {
	Text   string  `json:"text,omitempty"`
	Tables []Table `json:"tables,omitempty"`
	Diff   string  `json:"diff,omitempty"` // unified
	// Action is the caller's next action; "" means none.
	Action Action `json:"action,omitempty"`
	// Session is the session ID for ActionOpen.
	Session string `json:"session,omitempty"`
	// Submit is the input that the caller submits. Set with ActionSubmit only.
	Submit *Input `json:"submit,omitempty"`
}

// Action tells a command's caller what to do next.
type Action string

// Actions.
const (
	ActionSubmit   Action = "submit"   // submit the input
	ActionOpen     Action = "open"     // open another session
	ActionNew      Action = "new"      // open a new session
	ActionSessions Action = "sessions" // let the user choose a session; Tables lists them
	ActionClose    Action = "close"    // close the handle
)

// Table is a table that a command shows.
type Table struct {
	Title   string     `json:"title,omitempty"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Registry holds the commands of sessions. Package command implements it.
type Registry interface {
	// List lists the commands, with the session's prompts.
	List(ctx context.Context, h Handle, prompts []Command) ([]Command, error)
	// Run runs a line. It reports false if the line is not a command, but input for the model.
	Run(ctx context.Context, h Handle, line string) (r Result, ok bool, err error)
	// Complete completes the last word in line.
	Complete(ctx context.Context, h Handle, line string) ([]string, error)
}

// UnknownCommandError means that no command has the name.
type UnknownCommandError struct {
	Name string   `json:"name"`
	Near []string `json:"near,omitempty"` // similar names
}

func (e *UnknownCommandError) Error() string {
	if len(e.Near) > 0 {
		return fmt.Sprintf("unknown command /%s; did you mean /%s?", e.Name, strings.Join(e.Near, " or /"))
	}
	return fmt.Sprintf("unknown command /%s; /help lists them", e.Name)
}

// UnavailableError means that a command cannot be used now.
type UnavailableError struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("/%s is not available: %s", e.Name, e.Reason)
}

// Completion asks for completions of typed text.
type Completion struct {
	// Text is a path fragment: completions contain it, or its letters in order. A directory ends with a slash.
	Text  string `json:"text"`
	Limit int    `json:"limit,omitempty"` // default 20
	// Command completes the last word of Text, which is a command line.
	Command bool `json:"command,omitempty"`
}

// Commands implements [Handle].
func (l *held) Commands(ctx context.Context) ([]Command, error) {
	list := []Command{}
	if l.options.Commands != nil {
		list = slices.Clone(l.options.Commands())
	}
	slices.SortStableFunc(list, func(a, b Command) int { return cmp.Compare(a.Name, b.Name) })
	if l.options.Registry == nil {
		return list, nil
	}
	return l.options.Registry.List(ctx, l, list)
}

// Run implements [Handle].
func (l *held) Run(ctx context.Context, line string) (Result, error) {
	if l.options.Registry == nil {
		return Result{}, fmt.Errorf("%q: this session has no commands", line)
	}
	r, ok, err := l.options.Registry.Run(ctx, l, line)
	if err == nil && !ok {
		err = fmt.Errorf("%q is not a command", line)
	}
	return r, err
}
