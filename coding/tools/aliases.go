package tools

import (
	"slices"
	"sync"

	"github.com/reins-agent/reins/tool"
)

// Aliases returns the names and arguments that the vendors' own agents use for these tools. A model that
// falls back on the tools it was trained with then reaches them. The Params maps are shared and must not
// be modified.
func Aliases() []tool.Alias { return slices.Clone(vendorAliases()) }

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
