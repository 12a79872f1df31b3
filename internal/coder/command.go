package coder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/show"
)

// Command is a command-line agent that reads the task from standard input and prints its events as stream-json: one
// JSON object per line, in the format of Claude Code.
type Command struct {
	Args []string // the program and its arguments
	// ResumeFlag is the flag for the session to continue. SystemFlag is the flag for instructions that are added to the
	// system prompt; without it, they are put before the task.
	ResumeFlag, SystemFlag string
	// Env returns an environment for a directory that confines the program to the sandbox. It is closed after
	// an attempt.
	Env func(dir string, box Sandbox) (env.Environment, error)
}

// maxJSONLine is the size limit for an output line, in bytes.
const maxJSONLine = 16 << 20

// noSession matches messages of commands about a session that does not exist.
var noSession = lazy.Regexp(`(?i)\bno (conversation|session) (was )?found|\b(conversation|session)\b.*\b(not found|does not exist)`)

// command runs the task with the configured command.
func (r *run) command(ctx context.Context) *failure {
	program, f := r.program()
	if f != nil {
		return f
	}
	e, err := r.config.Command.Env(r.request.Dir, r.request.Sandbox)
	if err != nil {
		return failf(ConfigError, "%v", err)
	}
	defer e.Close()
	asked := r.id
	s, exit, err := r.launch(ctx, e, program)
	if err == nil && asked != "" && exit.Code != 0 && !s.seen && s.undecoded == 0 && noSession().MatchString(s.errors.String()) {
		r.lost, r.id = fmt.Sprintf("Session %s was not found.", asked), ""
		r.say(r.lost + " Starting a new session.")
		s, exit, err = r.launch(ctx, e, program)
	}
	if err != nil {
		return failf(SubprocessError, "the command cannot be run: %v", err)
	}
	r.changed = r.changed || s.changed || s.undecoded > 0 // a line that cannot be read may be a tool call
	r.undecoded += s.undecoded
	if f = s.judge(exit); f != nil {
		f.exit = &exit.Code
		return f
	}
	r.text = s.result
	return nil
}

// program returns the program's path.
func (r *run) program() (string, *failure) {
	args := r.config.Command.Args
	switch {
	case len(args) == 0:
		return "", failf(ConfigError, "coder.command is empty: set the program and its arguments")
	case strings.ContainsRune(args[0], filepath.Separator) && !filepath.IsAbs(args[0]):
		return "", failf(
			ConfigError,
			"coder.command: %s is a relative path; use an absolute path or the name of an installed program",
			args[0],
		)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return "", failf(CommandNotFound, "%s is not installed: %v", args[0], err)
	}
	return path, nil
}

// launch runs the command and waits for its end.
func (r *run) launch(ctx context.Context, e env.Environment, program string) (*stream, env.Exit, error) {
	c := r.config.Command
	args, prompt := append([]string{program}, c.Args[1:]...), r.request.Prompt
	if r.id != "" && c.ResumeFlag != "" {
		args = append(args, c.ResumeFlag, r.id)
	}
	if text := r.request.constraints(); text != "" {
		if c.SystemFlag != "" {
			args = append(args, c.SystemFlag, text)
		} else {
			prompt = text + "\n\n# Task\n\n" + prompt
		}
	}
	s := &stream{run: r}
	p, err := e.Start(ctx, env.Command{
		Args: args, Stdin: strings.NewReader(prompt), MaxOutput: 1 << 20,
		OnOutput: s.write,
	})
	if err != nil {
		return s, env.Exit{}, err
	}
	exit, err := p.Wait(context.WithoutCancel(ctx)) // it is killed when ctx ends
	s.close()
	return s, exit, err
}

// stream reads a command's output.
type stream struct {
	run *run

	mu        sync.Mutex
	closed    bool // later output, from the command's children, is ignored
	out, err  lines
	errors    bytes.Buffer // the beginning of standard error
	seen      bool         // at least one event was read
	changed   bool
	undecoded int

	session, result, problem string
	failed, ended            bool
}

// write processes output.
func (s *stream) write(from env.Stream, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return
	case from == env.Stderr:
		s.err.split(b, s.complaint)
	default:
		s.out.split(b, s.event)
	}
	s.run.active()
}

// close ends the output.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.out.end(s.event)
	s.err.end(s.complaint)
}

// streamEvent is a line of stream-json.
type streamEvent struct {
	Type    string   `json:"type"`
	Subtype string   `json:"subtype"`
	Session string   `json:"session_id"`
	Result  string   `json:"result"`
	IsError bool     `json:"is_error"`
	Turns   int      `json:"num_turns"`
	Cost    *float64 `json:"total_cost_usd"`
	Usage   struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Written int64 `json:"cache_creation_input_tokens"`
		Read    int64 `json:"cache_read_input_tokens"`
	} `json:"usage"`
	Message struct {
		Content json.RawMessage `json:"content"` // a list of blocks, or a string
	} `json:"message"`
}

// block is a message part.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Name string `json:"name"`
}

// readers are the tools of Claude Code that change nothing. All others may change something.
var readers = []string{"Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite"}

// event processes a line of standard output.
func (s *stream) event(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	s.run.say(show.Summary(string(line)))
	var e streamEvent
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" {
		s.undecoded++
		return
	}
	s.run.keep(slices.Clone(line))
	s.seen = true
	if validID(e.Session) && e.Session != "" {
		s.session = e.Session
		s.run.id = e.Session
	}
	var blocks []block
	if json.Unmarshal(e.Message.Content, &blocks) != nil && len(e.Message.Content) > 0 {
		blocks = nil // a string
	}
	for _, b := range blocks {
		if b.Type == "tool_use" {
			s.run.figures.ToolCalls++
			s.changed = s.changed || !slices.Contains(readers, b.Name)
		}
	}
	if e.Type == "result" {
		s.finish(e)
	}
}

// finish processes the result.
func (s *stream) finish(e streamEvent) {
	s.ended, s.result = true, strings.TrimSpace(e.Result)
	s.failed = e.IsError || strings.HasPrefix(e.Subtype, "error")
	if s.failed {
		s.problem = show.Summary(strings.TrimSpace(e.Subtype + " " + e.Result))
	}
	m := &s.run.figures
	m.ModelCalls += e.Turns
	m.InputTokens += e.Usage.Input + e.Usage.Written + e.Usage.Read
	m.OutputTokens += e.Usage.Output
	if e.Cost != nil {
		cost := *e.Cost
		if m.CostUSD != nil {
			cost += *m.CostUSD
		}
		m.CostUSD = &cost
	}
}

// complaint processes a line of standard error.
func (s *stream) complaint(line []byte) {
	if s.errors.Len() < maxLine*keptLines {
		s.errors.Write(line)
		s.errors.WriteByte('\n')
	}
	s.run.say(show.Summary(string(line)))
}

// judge returns why the command failed, or nil.
func (s *stream) judge(exit env.Exit) *failure {
	switch {
	case s.failed:
		return failf(UpstreamError, "the command reported an error: %s", s.problem)
	case exit.Code != 0:
		return failf(SubprocessError, "the command exited with code %d", exit.Code)
	case s.undecoded > 0 && (s.session == "" || !s.ended):
		return failf(JSONDecode, "%d lines of the command's output are not events", s.undecoded)
	case s.session == "":
		return failf(MissingSession, "the command did not report a session")
	case s.result == "":
		return failf(EmptyResult, "the command gave no answer")
	}
	return nil
}

// lines splits output into lines. Lines that are too long are truncated.
type lines struct{ rest []byte }

func (l *lines) split(b []byte, use func([]byte)) {
	for {
		line, after, found := bytes.Cut(b, []byte("\n"))
		if room := maxJSONLine - len(l.rest); len(line) > room {
			line = line[:room]
		}
		l.rest = append(l.rest, line...)
		if !found {
			return
		}
		use(l.rest)
		l.rest, b = l.rest[:0], after
	}
}

// end passes on an incomplete last line.
func (l *lines) end(use func([]byte)) {
	if len(l.rest) > 0 {
		use(l.rest)
		l.rest = nil
	}
}
