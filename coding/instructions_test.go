package coding

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// everyForm returns the profiles of all families with all toolsets.
func everyForm() map[string]*Profile {
	forms := map[string]*Profile{"generic": For("ollama", "qwen3-coder:30b")}
	for family, model := range map[Family]string{OpenAIFamily: "gpt-5.5", AnthropicFamily: "claude-opus-5", GeminiFamily: "gemini-3.8-flash"} {
		for _, t := range []Toolset{Standard, Native} {
			forms[string(family)+" "+string(t)] = NewProfile(ProfileConfig{Provider: string(family), Model: model, Toolset: t})
		}
	}
	return forms
}

// anyTool matches the name of any tool that is not also an ordinary word.
var anyTool = regexp.MustCompile(`\b(read_file|read_many_files|write_file|edit_file|delete_file|list_dir|shell_output|shell_input|shell_stop|` +
	`exec_command|write_stdin|update_plan|TodoWrite|TaskOutput|TaskStop|Bash|Glob|Grep|run_shell_command|list_directory|grep_search|write_todos)\b`)

func TestInstructions_NameOnlyToolsThatAreOffered(t *testing.T) {
	for form, p := range everyForm() {
		specs := p.specs()
		for left := range specs {
			offered := append(append([]tool.Spec{}, specs[:left]...), specs[left+1:]...)
			text := p.instructions(offered)
			for _, name := range anyTool.FindAllString(text, -1) {
				if !strings.Contains(names(offered), " "+name+" ") {
					t.Errorf("%s without %s: the instructions name %s", form, specs[left].Name, name)
				}
			}
			if strings.Contains(text, "{{") || strings.Contains(text, "\n\n\n") || strings.Contains(text, "  ") && strings.Contains(text, " , ") {
				t.Errorf("%s without %s: the instructions are not well formed:\n%s", form, specs[left].Name, text)
			}
		}
		if text := p.instructions(nil); anyTool.MatchString(text) {
			t.Errorf("%s without tools: the instructions name %s", form, anyTool.FindString(text))
		}
	}
}

func names(specs []tool.Spec) string {
	list := " "
	for _, s := range specs {
		list += s.Name + " "
	}
	return list
}

func TestInstructions_HostsOwnStayAsTheyAre(t *testing.T) {
	p := For("anthropic", "claude-opus-5")
	p.Instructions = "Use shell_stop with care."
	if got := p.instructions(nil); got != p.Instructions {
		t.Errorf("got %q", got)
	}
}

func TestInstructions_TellTheTimeoutThatApplies(t *testing.T) {
	for form, want := range map[string]string{
		"openai standard": "10 seconds", "anthropic standard": "2 minutes", "anthropic native": "2 minutes",
		"gemini standard": "10 seconds", "gemini native": "5 minutes", "generic": "2 minutes",
	} {
		if p := everyForm()[form]; !strings.Contains(p.Instructions, want) {
			t.Errorf("%s: the instructions do not say %q", form, want)
		}
	}
}

func TestDocs_ToolsPageTellsTheTimeoutsThatApply(t *testing.T) {
	page, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	forms := everyForm()
	seconds := func(form string) string {
		return fmt.Sprintf("%g s", forms[form].ToolConfig.DefaultTimeout.Seconds())
	}
	for _, want := range []string{
		fmt.Sprintf("at most %g s (`ToolConfig.MaxTimeout`)", tools.MaxTimeout.Seconds()),
		"| `openai` | " + seconds("openai standard") + " | none",
		"| `anthropic` | " + seconds("anthropic standard") + " | " + seconds("anthropic native") + " |",
		"| `gemini` | " + seconds("gemini standard") + " | " + seconds("gemini native") + " without output |",
		"| `generic` | " + seconds("generic") + " |",
		fmt.Sprintf("`coding.NewTools`) | %g s |", tools.DefaultTimeout.Seconds()),
		fmt.Sprintf("Files over %d MiB are not read completely", tools.MaxFileSize>>20),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/tools.md does not say %q", want)
		}
	}
}
