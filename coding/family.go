package coding

import (
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/prompt"
	"github.com/reins-agent/reins/internal/tools"
)

// Family is the vendor whose agent a model was trained for. It selects the tools and instructions that the
// model gets.
type Family string

// The families. Generic models come from vendors without their own agent; they edit by replacing strings,
// which most models were trained on.
const (
	OpenAIFamily    Family = "openai"    // edits with apply_patch
	AnthropicFamily Family = "anthropic" // edits with edit_file
	GeminiFamily    Family = "gemini"    // edits with edit_file, reads in batches
	GenericFamily   Family = "generic"   // edits with edit_file
)

// families maps patterns of model names to families; the first match is used. Gateways put the vendor before the name
// ("openai/gpt-oss-120b", "anthropic.claude-…"), and fine-tuned models keep the name of their base model.
//
//   - GPT models, including gpt-oss, and the numbered o models know apply_patch.
//   - Gemma is trained like Gemini.
//   - The generic models are listed because a local server may call itself "openai" and serve one of them.
var families = []struct {
	name   *regexp.Regexp
	family Family
}{
	{regexp.MustCompile(`claude`), AnthropicFamily},
	{regexp.MustCompile(`gemini|gemma`), GeminiFamily},
	{
		regexp.MustCompile(`qwen|qwq|deepseek|glm|kimi|minimax|[sx]tral|llama|muse|grok|\bphi|nova|command|granite|nemotron|seed`),
		GenericFamily,
	},
	{regexp.MustCompile(`gpt|codex|^o\d`), OpenAIFamily},
}

// familyOf returns a model's family by its name, or else by its provider.
func familyOf(provider, model string) Family {
	name := strings.ToLower(path.Base(model))
	for _, f := range families {
		if f.name.MatchString(name) {
			return f.family
		}
	}
	switch f := Family(provider); f {
	case OpenAIFamily, AnthropicFamily, GeminiFamily:
		return f
	}
	return GenericFamily
}

// Known reports whether f is a constant in this package.
func (f Family) Known() bool { return f.tools() != nil }

// tools returns the family's standard tool names, in order.
func (f Family) tools() []string {
	var names []string
	switch f {
	case OpenAIFamily:
		names = []string{"read_file", "apply_patch", "write_file", "shell", "grep", "glob"}
	case AnthropicFamily:
		names = []string{"read_file", "write_file", "edit_file", "shell", "grep", "glob"}
	case GeminiFamily:
		names = []string{"read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"}
	case GenericFamily:
		names = []string{"read_file", "write_file", "edit_file", "shell", "grep", "glob", "list_dir"}
	default:
		return nil
	}
	return append(names, "delete_file", "view_image", "shell_output", "shell_input", "shell_stop", "update_plan")
}

// timeout returns the default command timeout. For the native gemini-cli tools, it counts from the last output.
func (f Family) timeout(t Toolset) time.Duration {
	switch {
	case f == GeminiFamily && t == Native:
		return 5 * time.Minute
	case f == OpenAIFamily, f == GeminiFamily:
		return tools.DefaultTimeout
	}
	return 2 * time.Minute
}

// docFiles returns the names of instruction files, best first: AGENTS.md, the file for the vendor's own
// agent, and files for other agents.
func (f Family) docFiles() []string {
	switch f {
	case OpenAIFamily:
		return []string{"AGENTS.md", ".codex/instructions.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"}
	case GeminiFamily:
		return []string{"AGENTS.md", "GEMINI.md", "CLAUDE.md", ".claude/CLAUDE.md"}
	}
	return []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"}
}

// window returns the context window assumed for an unlisted model.
func (f Family) window() int64 {
	switch f {
	case AnthropicFamily:
		return 200_000
	case GeminiFamily:
		return 1_048_576
	}
	return 131_072
}

// wording returns the tool names, for the instructions.
func (f Family) wording(t Toolset) prompt.Wording {
	switch {
	case t != Native:
		return prompt.Wording{
			Read:     "read_file",
			ReadMany: "read_many_files",
			Write:    "write_file",
			Edit:     "edit_file",
			Patch:    "apply_patch",
			Delete:   "delete_file",
			Grep:     "grep",
			Glob:     "glob",
			List:     "list_dir",
			Shell:    "shell",
			Output:   "shell_output",
			Input:    "shell_input",
			Stop:     "shell_stop",
			Plan:     "update_plan",
		}
	case f == OpenAIFamily:
		return prompt.Wording{
			Native: true,
			Patch:  "apply_patch",
			Shell:  "exec_command",
			Input:  "write_stdin",
			Plan:   "update_plan",
		}
	case f == AnthropicFamily:
		return prompt.Wording{
			Native: true,
			Read:   "Read",
			Write:  "Write",
			Edit:   "Edit",
			Grep:   "Grep",
			Glob:   "Glob",
			Shell:  "Bash",
			Output: "TaskOutput",
			Stop:   "TaskStop",
			Plan:   "TodoWrite",
		}
	}
	return prompt.Wording{
		Native: true,
		Read:   "read_file",
		Write:  "write_file",
		Edit:   "replace",
		Grep:   "grep_search",
		Glob:   "glob",
		List:   "list_directory",
		Shell:  "run_shell_command",
		Output: "shell_output",
		Input:  "shell_input",
		Stop:   "shell_stop",
		Plan:   "write_todos",
	}
}
