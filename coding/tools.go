package coding

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/coding/native"
	"github.com/reins-agent/reins/env/search"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// ToolConfig sets up the coding tools. The zero value is the standard set-up.
type ToolConfig struct {
	// DefaultTimeout is for commands that ask for none ([DefaultTimeout]; a profile has the timeout of
	// its family), MaxTimeout the longest that one can ask for ([MaxTimeout]). Commands in the
	// background are not bounded by either.
	DefaultTimeout time.Duration
	MaxTimeout     time.Duration
	// MaxFileSize is the largest file that is read whole, to be shown or edited ([MaxFileSize]).
	MaxFileSize int64
	// ClassicPatch makes apply_patch keep the changes before the one that failed, as codex does,
	// instead of making all of them or none.
	ClassicPatch bool

	state *toolState // shared with other sets; nil makes a new one
}

// The defaults of the tools.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 10 * time.Minute
	MaxFileSize    = 64 << 20
)

func (c ToolConfig) withDefaults() ToolConfig {
	if c.DefaultTimeout <= 0 {
		c.DefaultTimeout = DefaultTimeout
	}
	if c.MaxTimeout <= 0 {
		c.MaxTimeout = MaxTimeout
	}
	c.DefaultTimeout = min(c.DefaultTimeout, c.MaxTimeout)
	if c.MaxFileSize <= 0 {
		c.MaxFileSize = MaxFileSize
	}
	return c
}

// timeouts are those of commands.
func (c ToolConfig) timeouts() tool.Timeouts {
	return tool.Timeouts{Default: c.DefaultTimeout, Max: c.MaxTimeout}
}

// NewTools makes a set of coding tools. The tools of one set share their background processes.
func NewTools(c ToolConfig) []tool.Tool {
	f, sh := newWorkers(c)
	return []tool.Tool{
		f.readFile(), f.readManyFiles(), f.writeFile(), f.editFile(), f.applyPatch(), f.deleteFile(),
		f.listDir(), globTool(), grepTool(), f.viewImage(),
		sh.shell(), sh.output(), sh.input(), sh.stop(), native.UpdatePlan(),
	}
}

// newWorkers makes what does the work of the tools of one set.
func newWorkers(c ToolConfig) (files, *shell) {
	c = c.withDefaults()
	if c.state == nil {
		c.state = newToolState()
	}
	return files{config: c, turn: c.state.turn}, &shell{config: c, toolState: c.state}
}

// nativeTools makes the tools of the vendor's own agent, and the older names of them.
func nativeTools(c ToolConfig, family Family, freeform *llm.Freeform, vision bool) native.Toolset {
	set := newEngine(newWorkers(c))
	switch family {
	case OpenAIFamily:
		return native.Codex(set, freeform, vision)
	case AnthropicFamily:
		return native.Claude(set)
	}
	return native.Gemini(set)
}

// newEngine returns the operations behind the standard tools.
func newEngine(f files, sh *shell) engine.Set {
	grep, glob := grepTool(), globTool()
	return engine.Set{
		Read:  engine.For(f.readFile(), f.open),
		Write: engine.For(f.writeFile(), oneByOne(f, f.write)).Previewed(f.previewWrite),
		Edit:  engine.For(f.editFile(), oneByOne(f, f.edit)).Previewed(f.previewEdit),
		Patch: engine.For(f.applyPatch(), oneByOne(f, f.patch)).Previewed(f.previewPatch),
		List:  engine.For(f.listDir(), listDir),
		Image: engine.For(f.viewImage(), f.picture),
		Grep: engine.Op[search.GrepQuery, engine.Found]{Spec: grep.Spec(), Do: findLines,
			Access: func(ctx context.Context, c *tool.Call, q search.GrepQuery) []policy.Access {
				return engine.Declared(ctx, grep, c, grepIn{Pattern: q.Pattern, Path: q.Path})
			}},
		Glob: engine.Op[search.GlobQuery, search.GlobResult]{Spec: glob.Spec(), Do: findFiles,
			Access: func(ctx context.Context, c *tool.Call, q search.GlobQuery) []policy.Access {
				return engine.Declared(ctx, glob, c, globIn{Pattern: q.Pattern, Path: q.Path})
			}},
		Run:        engine.For(sh.shell(), sh.execute),
		Start:      engine.For(sh.shell(), sh.start),
		Output:     engine.For(sh.output(), sh.readOutput),
		Input:      engine.For(sh.input(), sh.send),
		Stop:       engine.For(sh.stop(), sh.end),
		Timeouts:   sh.config.timeouts(),
		Background: []tool.Tool{sh.output(), sh.input(), sh.stop()},
	}
}

// files are the tools that work on files.
type files struct {
	config ToolConfig
	turn   chan struct{} // full while a call changes files
}

// oneByOne makes the calls of the tools that change files wait for each other: two that read a
// file, change it and write it side by side would lose the change of one of them.
func oneByOne[In, Out any](f files, run func(context.Context, *tool.Call, In) (Out, error)) func(context.Context, *tool.Call, In) (Out, error) {
	return func(ctx context.Context, c *tool.Call, in In) (out Out, err error) {
		select {
		case f.turn <- struct{}{}:
			defer func() { <-f.turn }()
			return run(ctx, c, in)
		case <-ctx.Done():
			return out, failed(ctx.Err(), "").Error
		}
	}
}

// presented does the work of a call and shows what came of it.
func presented[In, Out any](do func(context.Context, *tool.Call, In) (Out, error), show func(In, Out) tool.Result) tool.Run[In] {
	return func(ctx context.Context, c *tool.Call, in In) (tool.Result, error) {
		out, err := do(ctx, c, in)
		if err != nil {
			return engine.Failed(err)
		}
		return show(in, out), nil
	}
}

// NativeAliases are the names and arguments that the vendors' own agents give to these tools, so
// that a model that falls back on what it was trained with reaches them. The maps in them are
// shared: replace one, but do not change it.
func NativeAliases() []tool.Alias { return slices.Clone(vendorAliases()) }

var vendorAliases = sync.OnceValue(func() []tool.Alias {
	return []tool.Alias{
		{Name: "Read", Tool: "read_file", Params: map[string]string{"pages": "", "allow_large": ""}},
		{Name: "Write", Tool: "write_file"},
		{Name: "Edit", Tool: "edit_file"},
		{Name: "Bash", Tool: "shell", Params: map[string]string{"timeout": "timeout_ms", "run_in_background": "background", "dangerouslyDisableSandbox": ""}},
		{Name: "BashOutput", Tool: "shell_output", Params: map[string]string{"bash_id": "id", "filter": ""}},
		{Name: "KillShell", Tool: "shell_stop", Params: map[string]string{"shell_id": "id"}},
		{Name: "KillBash", Tool: "shell_stop", Params: map[string]string{"shell_id": "id"}},
		{Name: "TaskOutput", Tool: "shell_output", Params: map[string]string{"task_id": "id", "block": "", "timeout": "wait_ms"}},
		{Name: "TaskStop", Tool: "shell_stop", Params: map[string]string{"task_id": "id", "shell_id": "id"}},
		{Name: "Glob", Tool: "glob"},
		{Name: "Grep", Tool: "grep", Params: map[string]string{"glob": "glob_filter", "-i": "case_insensitive", "-A": "after", "-B": "before", "-C": "context", "-n": "", "-o": "", "head_limit": "max_results"}},
		{Name: "LS", Tool: "list_dir", Params: map[string]string{"ignore": "ignore_globs"}},

		{Name: "exec_command", Tool: "shell", Params: map[string]string{"cmd": "command", "yield_time_ms": "", "max_output_tokens": "", "shell": "", "login": "", "sandbox_permissions": "", "justification": "", "prefix_rule": ""}},
		{Name: "shell_command", Tool: "shell", Params: map[string]string{"login": "", "sandbox_permissions": "", "justification": "", "prefix_rule": ""}},
		{Name: "write_stdin", Tool: "shell_input", Params: map[string]string{"session_id": "id", "chars": "text", "yield_time_ms": "wait_ms", "max_output_tokens": ""}},
		{Name: "grep_files", Tool: "grep", Params: map[string]string{"include": "glob_filter", "limit": "max_results"}},

		{Name: "replace", Tool: "edit_file", Params: map[string]string{"allow_multiple": "replace_all", "instruction": "", "expected_replacements": ""}},
		{Name: "run_shell_command", Tool: "shell", Params: map[string]string{"dir_path": "workdir", "directory": "workdir", "is_background": "background", "delay_ms": "", "additional_permissions": ""}},
		{Name: "list_directory", Tool: "list_dir", Params: map[string]string{"dir_path": "path", "ignore": "ignore_globs", "file_filtering_options": ""}},
		{Name: "grep_search", Tool: "grep", Params: map[string]string{"dir_path": "path", "include_pattern": "glob_filter", "include": "glob_filter", "fixed_strings": "literal", "total_max_matches": "max_results", "names_only": "", "max_matches_per_file": ""}},
		{Name: "search_file_content", Tool: "grep", Params: map[string]string{"dir_path": "path", "include": "glob_filter"}},
	}
})
