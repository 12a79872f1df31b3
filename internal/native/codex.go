package native

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

const (
	codexTokens = 10_000 // maximum output tokens
	tokenBytes  = 4      // assumed bytes per token
)

// Codex returns the tools of codex. freeform is the grammar of apply_patch if the model supports freeform tools,
// otherwise nil. vision reports whether the model accepts images.
func Codex(set tools.Set, freeform *llm.Freeform, vision bool) Toolset {
	c := codex{set}
	all := []tool.Tool{c.execCommand(), c.writeStdin(), tools.UpdatePlan(), c.applyPatch(freeform)}
	if vision {
		all = append(all, c.viewImage())
	}
	return Toolset{all, []tool.Alias{
		{Name: "shell_command", Tool: "exec_command", Params: map[string]string{"command": "cmd", "timeout_ms": ""}},
	}}
}

type codex struct{ tools.Set }

// codexEnv returns the variables that make programs print plain text.
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
	TTY       bool     `json:"tty,omitempty" jsonschema:"run the command in a terminal and keep its input open for write_stdin"`
	Yield     float64  `json:"yield_time_ms,omitempty" jsonschema:"how long to wait before the command becomes a session (default 10000)"`
	MaxTokens float64  `json:"max_output_tokens,omitempty" jsonschema:"maximum number of output tokens (default 10000)"`
	Shell     string   `json:"shell,omitempty" jsonschema:"the shell to use (default: the user's shell)"`
	Login     *bool    `json:"login,omitempty" jsonschema:"with shell: use a login shell (default true)"`
	Sandbox   string   `json:"sandbox_permissions,omitempty" jsonschema:"require_escalated runs it outside the sandbox, after approval; use it only after the sandbox made the command fail"`
	Question  string   `json:"justification,omitempty" jsonschema:"why the command is needed"`
	Prefix    []string `json:"prefix_rule,omitempty" jsonschema:"has no effect"`
}

// command returns the command to run. A requested shell becomes part of the command line, so that the policy checks it
// too.
func (in execIn) command() tools.Command {
	line := in.Command
	if in.Shell != "" {
		flag := "-lc"
		if in.Login != nil && !*in.Login {
			flag = "-c"
		}
		line = quote(in.Shell) + " " + flag + " " + quote(in.Command)
	}
	return tools.Command{
		Command:    line,
		Workdir:    in.Workdir,
		Background: true,
		TTY:        in.TTY,
		NoInput:    !in.TTY,
		Env:        codexEnv(),
		Outside:    in.Sandbox == "require_escalated",
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// heredoc matches a command that only calls apply_patch with a patch as its input.
var heredoc = lazy.Regexp(`(?s)^\s*(?:apply_patch|applypatch)\s*<<-?\s*['"]?(\w+)['"]?[ \t]*\n(.*?)\n(\w+)\s*$`)

// patch returns the patch that the command applies. It reports false if the command does anything else.
func (in execIn) patch() (text string, ok bool) {
	m := heredoc().FindStringSubmatch(in.Command)
	if m == nil || m[1] != m[3] || strings.Contains("\n"+m[2]+"\n", "\n"+m[1]+"\n") || in.Workdir != "" || in.Shell != "" {
		return "", false
	}
	return m[2], true
}

func (c codex) execCommand() tool.Tool {
	spec := named(c.Start.Spec, "exec_command",
		"Run a command. Returns when the command ends, or after yield_time_ms with a session id for write_stdin.", codexLimit(0))
	spec.Output = c.Output.Spec.Output
	spec = tools.WithEnums[execIn](spec, map[string][]any{"sandbox_permissions": {"use_default", "require_escalated"}})
	t := tool.New(spec, func(ctx context.Context, call *tool.Call, in execIn) []policy.Access {
		if text, ok := in.patch(); ok {
			return c.Patch.Access(ctx, call, tools.Patch{Patch: text})
		}
		return c.Start.Access(ctx, call, in.command())
	}, c.exec)
	return tool.WithPreview(t, func(ctx context.Context, call *tool.Call, in execIn) (tool.Preview, error) {
		if text, ok := in.patch(); ok {
			return c.Patch.Preview(ctx, call, tools.Patch{Patch: text})
		}
		return tool.Preview{}, tool.ErrNoPreview
	})
}

func (c codex) exec(ctx context.Context, call *tool.Call, in execIn) (tool.Result, error) {
	if text, ok := in.patch(); ok {
		return c.patch(ctx, call, patchIn{text})
	}
	words := func(err error) error {
		return formatted(err, func(m string) string { return fmt.Sprintf("exec_command failed for `%s`: %s", in.Command, m) })
	}
	if strings.HasPrefix(strings.TrimSpace(in.Command), "*** Begin Patch") {
		return tool.Result{}, words(tool.Errorf(tool.ValidationError, "a patch is not a command. Call apply_patch with it."))
	}
	start := time.Now()
	p, err := c.Start.Do(ctx, call, in.command())
	if err != nil {
		return tool.Result{}, words(err)
	}
	news, err := c.Output.Do(ctx, call, tools.Output{ID: p.ID, WaitMS: yield(in.Yield, 10_000, 250, 30_000)})
	if ctx.Err() != nil {
		// An interrupted call must not leave a process running.
		if _, err := c.Stop.Do(context.WithoutCancel(ctx), call, tools.Stop{ID: p.ID}); err != nil {
			return tool.Result{}, words(err)
		}
		return tool.Result{}, ctx.Err()
	}
	if err != nil {
		return tool.Result{}, words(err)
	}
	res := codexOutput(call, news, time.Since(start), in.MaxTokens)
	if res.Artifacts.CommandsRun = []string{in.Command}; news.Running {
		res.Artifacts = p.Artifacts(in.Command)
	}
	return res, nil
}

type stdinIn struct {
	Session   float64 `json:"session_id" jsonschema:"the session id that exec_command returned"`
	Chars     string  `json:"chars,omitempty" jsonschema:"the text to send; empty to wait for more output, U+0003 to interrupt the command"`
	Yield     float64 `json:"yield_time_ms,omitempty" jsonschema:"how long to wait for output"`
	MaxTokens float64 `json:"max_output_tokens,omitempty" jsonschema:"maximum number of output tokens (default 10000)"`
}

func (in stdinIn) id() tools.ID { return tools.ID(strconv.FormatFloat(in.Session, 'f', -1, 64)) }

const interrupt = "\x03"

func (c codex) writeStdin() tool.Tool {
	spec := named(c.Input.Spec, "write_stdin", "Send text to a running session, or wait for more of its output.", codexLimit(0))
	return tool.New(spec, func(ctx context.Context, call *tool.Call, in stdinIn) []policy.Access {
		if in.Chars == "" || in.Chars == interrupt {
			return c.Output.Access(ctx, call, tools.Output{ID: in.id()})
		}
		return c.Input.Access(ctx, call, tools.Input{ID: in.id(), Text: in.Chars})
	}, func(ctx context.Context, call *tool.Call, in stdinIn) (tool.Result, error) {
		start := time.Now()
		news, err := c.send(ctx, call, in)
		if err != nil {
			return tool.Result{}, formatted(err, func(m string) string { return "write_stdin failed: " + m })
		}
		return codexOutput(call, news, time.Since(start), in.MaxTokens), nil
	})
}

// send sends the characters, or waits or interrupts, and reads the output.
func (c codex) send(ctx context.Context, call *tool.Call, in stdinIn) (tools.News, error) {
	if in.Chars == "" {
		return c.Output.Do(ctx, call, tools.Output{ID: in.id(), WaitMS: yield(in.Yield, 5_000, 5_000, 300_000)})
	}
	wait := yield(in.Yield, 250, 250, 30_000)
	news, err := c.Input.Do(ctx, call, tools.Input{ID: in.id(), Text: in.Chars, WaitMS: &wait})
	if known, ok := err.(*tool.Error); ok && known.Code == tool.IOError {
		if in.Chars == interrupt {
			return c.Stop.Do(ctx, call, tools.Stop{ID: in.id()}) // it has no terminal
		}
		return news, tool.Errorf(tool.IOError, "%s Start the command with tty=true to send it input.", known.Message)
	}
	return news, err
}

// yield limits ms to a range. If ms is not positive, it uses standard.
func yield(ms, standard, minimum, maximum float64) int64 {
	if ms <= 0 {
		ms = standard
	}
	return int64(min(max(ms, minimum), maximum))
}

// codexOutput formats a process's output. The call succeeds even if the command failed.
func codexOutput(c *tool.Call, n tools.News, took time.Duration, maxTokens float64) tool.Result {
	state := "Process running with session ID " + string(n.ID)
	if !n.Running {
		state = fmt.Sprintf("Process exited with code %d", n.Exit.Code)
	}
	head := fmt.Sprintf(
		"Chunk ID: %s\nWall time: %.4f seconds\n%s\nOriginal token count: %d\nOutput:\n",
		chunkID(c, n), took.Seconds(), state, tokens(len(n.Text)),
	)
	res := tool.Result{Output: tool.Text(n.Text), Fields: n.Fields(), Present: func(o tool.Output, l tool.Limit) (string, error) {
		return head + codexCut(tool.String(o), l.Chars), nil
	}}
	if maxTokens > 0 {
		res.Limit = codexLimit(maxTokens)
	}
	return res
}

func tokens(size int) int { return (size + tokenBytes - 1) / tokenBytes }

// codexCut keeps the beginning and end of a text that is longer than limit bytes.
func codexCut(text string, limit int) string {
	if limit < 0 || len(text) <= limit {
		return text
	}
	left, right := limit/2, len(text)-limit/2
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

func (in patchIn) patch() tools.Patch { return tools.Patch{Patch: in.Input} }

func (c codex) applyPatch(freeform *llm.Freeform) tool.Tool {
	spec := named(c.Patch.Spec, "apply_patch", "Edit files with a patch. Either all changes are applied or none.", codexLimit(0))
	if spec.Freeform = freeform; freeform != nil {
		spec.Description += " " + tools.FreeformNote
	}
	return tools.Over(spec, c.Patch, patchIn.patch, c.patch)
}

func (c codex) patch(ctx context.Context, call *tool.Call, in patchIn) (tool.Result, error) {
	p, err := c.Patch.Do(ctx, call, in.patch())
	res := tool.Result{Fields: p.Fields()}
	if err == nil || len(p.Changes) > 0 {
		res.Output, res.Artifacts = tool.Text(p.Report(err == nil)), p.Artifacts
	}
	return res, formatted(err, func(m string) string { return "apply_patch verification failed: " + m })
}

type viewIn struct {
	Path string `json:"path" jsonschema:"path of the image"`
}

// viewImage has no detail parameter, because codex offers it only to models that accept images in their original size.
func (c codex) viewImage() tool.Tool {
	spec := named(c.Image.Spec, "view_image", "View an image file (PNG, JPEG, GIF or WebP).", codexLimit(0))
	args := func(in viewIn) tools.Image { return tools.Image{Path: in.Path, Detail: "high"} }
	return present(spec, c.Image, args, nil, func(_ context.Context, _ *tool.Call, _ viewIn, page tools.Page) tool.Result {
		return tool.Result{Images: []llm.Image{*page.Image}}
	})
}

// chunkID returns an id for a piece of output.
func chunkID(c *tool.Call, n tools.News) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%d", c.ID, n.ID, len(n.Text))
	return fmt.Sprintf("%06x", h.Sum32()&0xffffff)
}
