package native

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// codexTokens is how many tokens of an output codex's models see, and tokenBytes how many bytes a token
// is taken to have.
const (
	codexTokens = 10_000
	tokenBytes  = 4
)

// Codex returns the tools of codex. freeform is the grammar of apply_patch for models that take such
// tools, else nil; vision says that the model can look at images.
func Codex(set engine.Set, freeform *llm.Freeform, vision bool) Toolset {
	c := codex{set}
	tools := []tool.Tool{c.execCommand(), c.writeStdin(), UpdatePlan(), c.applyPatch(freeform)}
	if vision {
		tools = append(tools, c.viewImage())
	}
	return Toolset{tools, []tool.Alias{
		{Name: "shell_command", Tool: "exec_command", Params: map[string]string{"command": "cmd", "timeout_ms": ""}},
	}}
}

type codex struct{ engine.Set }

// codexEnv makes programs print plain text. Variables that name codex itself are left out.
func codexEnv() map[string]string {
	return map[string]string{
		"NO_COLOR": "1", "TERM": "dumb", "COLORTERM": "", "LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8", "LC_ALL": "C.UTF-8",
		"PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat",
	}
}

func codexLimit(tokens float64) tool.Limit {
	if tokens <= 0 || tokens > codexTokens {
		tokens = codexTokens
	}
	return tool.Limit{Chars: int(tokens) * tokenBytes, Lines: -1}
}

type execIn struct {
	Command   string   `json:"cmd" jsonschema:"the command to run"`
	Workdir   string   `json:"workdir,omitempty" jsonschema:"the directory to run it in (default: the working directory)"`
	TTY       bool     `json:"tty,omitempty" jsonschema:"give the command a terminal, and keep its input open for write_stdin"`
	Yield     float64  `json:"yield_time_ms,omitempty" jsonschema:"how long to wait for the command before it continues as a session (default 10000)"`
	MaxTokens float64  `json:"max_output_tokens,omitempty" jsonschema:"the most output to return (default 10000)"`
	Shell     string   `json:"shell,omitempty" jsonschema:"the shell to run it in (default: the user's shell)"`
	Login     *bool    `json:"login,omitempty" jsonschema:"with shell: whether it is a login shell (default true)"`
	Sandbox   string   `json:"sandbox_permissions,omitempty" jsonschema:"accepted without effect: approvals are asked for when they are needed"`
	Question  string   `json:"justification,omitempty" jsonschema:"why the command is needed"`
	Prefix    []string `json:"prefix_rule,omitempty" jsonschema:"accepted without effect"`
}

// command is what the call runs. A shell of its own is part of the command line, so that it is judged
// with it.
func (in execIn) command() engine.Command {
	line := in.Command
	if in.Shell != "" {
		flag := "-lc"
		if in.Login != nil && !*in.Login {
			flag = "-c"
		}
		line = quote(in.Shell) + " " + flag + " " + quote(in.Command)
	}
	return engine.Command{Command: line, Workdir: in.Workdir, Background: true, TTY: in.TTY, NoInput: !in.TTY, Env: codexEnv()}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// heredoc is a command that is nothing but a call of apply_patch with the patch as its input.
var heredoc = regexp.MustCompile(`(?s)^\s*(?:apply_patch|applypatch)\s*<<-?\s*['"]?(\w+)['"]?[ \t]*\n(.*?)\n(\w+)\s*$`)

// patch is the patch that the command would apply, if it is one of those.
func (in execIn) patch() (text string, ok bool) {
	m := heredoc.FindStringSubmatch(in.Command)
	if m == nil || m[1] != m[3] || strings.Contains("\n"+m[2]+"\n", "\n"+m[1]+"\n") || in.Workdir != "" || in.Shell != "" {
		return "", false
	}
	return m[2], true
}

func (c codex) execCommand() tool.Tool {
	spec := named(c.Start.Spec, "exec_command",
		"Run a command. It returns when the command ends, or else, after yield_time_ms, a session id to continue with in write_stdin.", codexLimit(0))
	spec.Output = c.Output.Spec.Output
	spec = withEnums[execIn](spec, map[string][]any{"sandbox_permissions": {"use_default", "require_escalated"}})
	t := tool.New(spec, func(ctx context.Context, call *tool.Call, in execIn) []policy.Access {
		if text, ok := in.patch(); ok {
			return c.Patch.Access(ctx, call, engine.Patch{Patch: text})
		}
		return c.Start.Access(ctx, call, in.command())
	}, c.exec)
	return tool.WithPreview(t, func(ctx context.Context, call *tool.Call, in execIn) (tool.Preview, error) {
		if text, ok := in.patch(); ok {
			return c.Patch.Preview(ctx, call, engine.Patch{Patch: text})
		}
		return tool.Preview{}, tool.ErrNoPreview
	})
}

func (c codex) exec(ctx context.Context, call *tool.Call, in execIn) (tool.Result, error) {
	if text, ok := in.patch(); ok {
		return c.patch(ctx, call, patchIn{text})
	}
	words := func(m string) string { return fmt.Sprintf("exec_command failed for `%s`: %s", in.Command, m) }
	if strings.HasPrefix(strings.TrimSpace(in.Command), "*** Begin Patch") {
		return failed(engine.Fail(tool.ValidationError, "a patch is not a command. Call apply_patch with it."), words)
	}
	start := time.Now()
	p, err := c.Start.Do(ctx, call, in.command())
	if err != nil {
		return failed(err, words)
	}
	news, err := c.Output.Do(ctx, call, engine.Output{ID: p.ID, WaitMS: yield(in.Yield, 10_000, 250, 30_000)})
	if ctx.Err() != nil {
		// An interrupted call leaves no process behind.
		if _, err := c.Stop.Do(context.WithoutCancel(ctx), call, engine.Stop{ID: p.ID}); err != nil {
			return failed(err, words)
		}
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return failed(err, words)
	}
	res := codexOutput(call, news, time.Since(start), in.MaxTokens)
	res.Artifacts.CommandsRun = []string{in.Command}
	return res, nil
}

type stdinIn struct {
	Session   float64 `json:"session_id" jsonschema:"the session id that exec_command gave"`
	Chars     string  `json:"chars,omitempty" jsonschema:"what to send; empty to wait for more output, U+0003 to interrupt the command"`
	Yield     float64 `json:"yield_time_ms,omitempty" jsonschema:"how long to wait for output"`
	MaxTokens float64 `json:"max_output_tokens,omitempty" jsonschema:"the most output to return (default 10000)"`
}

func (in stdinIn) id() engine.ID { return engine.ID(strconv.FormatFloat(in.Session, 'f', -1, 64)) }

const interrupt = "\x03"

func (c codex) writeStdin() tool.Tool {
	spec := named(c.Input.Spec, "write_stdin", "Send text to a running session, or wait for more of its output.", codexLimit(0))
	return tool.New(spec, func(ctx context.Context, call *tool.Call, in stdinIn) []policy.Access {
		if in.Chars == "" || in.Chars == interrupt {
			return c.Output.Access(ctx, call, engine.Output{ID: in.id()})
		}
		return c.Input.Access(ctx, call, engine.Input{ID: in.id(), Text: in.Chars})
	}, func(ctx context.Context, call *tool.Call, in stdinIn) (tool.Result, error) {
		start := time.Now()
		news, err := c.send(ctx, call, in)
		if err != nil {
			return failed(err, func(m string) string { return "write_stdin failed: " + m })
		}
		return codexOutput(call, news, time.Since(start), in.MaxTokens), nil
	})
}

// send does what the characters ask for, and reads what the process printed.
func (c codex) send(ctx context.Context, call *tool.Call, in stdinIn) (engine.News, error) {
	if in.Chars == "" {
		return c.Output.Do(ctx, call, engine.Output{ID: in.id(), WaitMS: yield(in.Yield, 5_000, 5_000, 300_000)})
	}
	wait := yield(in.Yield, 250, 250, 30_000)
	news, err := c.Input.Do(ctx, call, engine.Input{ID: in.id(), Text: in.Chars, WaitMS: &wait})
	if known, ok := err.(*tool.Error); ok && known.Code == tool.IOError {
		if in.Chars == interrupt {
			return c.Stop.Do(ctx, call, engine.Stop{ID: in.id()}) // without a terminal
		}
		return news, engine.Fail(tool.IOError, "%s Start the command with tty=true to send it input.", known.Message)
	}
	return news, err
}

// yield is a number of milliseconds within bounds.
func yield(ms, standard, least, most float64) int64 {
	if ms <= 0 {
		ms = standard
	}
	return int64(min(max(ms, least), most))
}

// codexOutput presents what a process printed. A command that failed is no failure of the call.
func codexOutput(c *tool.Call, n engine.News, took time.Duration, maxTokens float64) tool.Result {
	state := "Process running with session ID " + string(n.ID)
	if !n.Running {
		state = fmt.Sprintf("Process exited with code %d", n.Exit.Code)
	}
	head := fmt.Sprintf("Chunk ID: %s\nWall time: %.4f seconds\n%s\nOriginal token count: %d\nOutput:\n", chunkID(c, n), took.Seconds(), state, tokens(len(n.Text)))
	res := tool.Result{Output: tool.Text(n.Text), Fields: n.Fields(), Present: func(o tool.Output, l tool.Limit) (string, error) {
		return head + codexCut(tool.String(o), l.Chars), nil
	}}
	if maxTokens > 0 {
		res.Limit = codexLimit(maxTokens)
	}
	return res
}

func tokens(size int) int { return (size + tokenBytes - 1) / tokenBytes }

// codexCut keeps the two ends of a text that is longer than a number of bytes.
func codexCut(text string, most int) string {
	if most < 0 || len(text) <= most {
		return text
	}
	left, right := most/2, len(text)-most/2
	for left > 0 && !utf8.RuneStart(text[left]) {
		left--
	}
	for right < len(text) && !utf8.RuneStart(text[right]) {
		right++
	}
	return fmt.Sprintf("Warning: truncated output (original token count: %d)\nTotal output lines: %d\n\n%s…%d tokens truncated…%s",
		tokens(len(text)), strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1, text[:left], tokens(right-left), text[right:])
}

type patchIn struct {
	Input string `json:"input" jsonschema:"the whole patch, from *** Begin Patch to *** End Patch"`
}

func (in patchIn) patch() engine.Patch { return engine.Patch{Patch: in.Input} }

func (c codex) applyPatch(freeform *llm.Freeform) tool.Tool {
	spec := named(c.Patch.Spec, "apply_patch", "Edit files with a patch. All changes are made, or none.", codexLimit(0))
	if spec.Freeform = freeform; freeform != nil {
		spec.Description += " The input is the patch itself, as plain text; do not wrap it in JSON."
	}
	return over(spec, c.Patch, patchIn.patch, c.patch)
}

func (c codex) patch(ctx context.Context, call *tool.Call, in patchIn) (tool.Result, error) {
	p, err := c.Patch.Do(ctx, call, in.patch())
	var res tool.Result
	if err != nil {
		var unknown error
		if res, unknown = failed(err, func(m string) string { return "apply_patch verification failed: " + m }); unknown != nil {
			return res, unknown
		}
	}
	if err == nil || len(p.Changes) > 0 {
		res.Output, res.Artifacts.FilesChanged = tool.Text(p.Report(err == nil)), p.Paths()
	}
	res.Fields = p.Fields()
	return res, nil
}

type viewIn struct {
	Path string `json:"path" jsonschema:"path of the image"`
}

// viewImage has no detail parameter: codex offers it only for models that are known to take images in
// their original size.
func (c codex) viewImage() tool.Tool {
	spec := named(c.Image.Spec, "view_image", "Look at an image file (PNG, JPEG, GIF or WebP).", codexLimit(0))
	args := func(in viewIn) engine.Image { return engine.Image{Path: in.Path, Detail: "high"} }
	return present(spec, c.Image, args, nil, func(_ context.Context, _ *tool.Call, _ viewIn, page engine.Page) tool.Result {
		return tool.Result{Images: []llm.Image{*page.Image}}
	})
}

// chunkID names a piece of output.
func chunkID(c *tool.Call, n engine.News) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%d", c.ID, n.ID, len(n.Text))
	return fmt.Sprintf("%06x", h.Sum32()&0xffffff)
}
