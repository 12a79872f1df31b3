package coding_test

import (
	"fmt"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/tool"
)

// A profile is data: look at it, change it, and make a registry of its tools.
func ExampleProfile() {
	p := coding.For("groq", "openai/gpt-oss-120b")
	p.Tools = p.Tools[:4]
	p.Aliases = append(p.Aliases, tool.Alias{Name: "bash", Tool: "shell"})
	registry, err := p.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.DisplayName, "is of the family", p.Family)
	fmt.Println(registry.Names())
	fmt.Println(p.DocFiles)
	// Output:
	// GPT OSS 120B is of the family openai
	// [read_file apply_patch write_file shell]
	// [AGENTS.md .codex/instructions.md CLAUDE.md .claude/CLAUDE.md GEMINI.md]
}

// A native toolset has the tools of the vendor's own agent.
func ExampleNewProfile_native() {
	p := coding.NewProfile(coding.ProfileConfig{Provider: "anthropic", Model: "claude-opus-5", Toolset: coding.Native})
	registry, err := p.Registry()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.Names())
	// Output:
	// [Bash Glob Grep Read Edit Write TodoWrite TaskOutput TaskStop]
}
