package native

import (
	"context"

	"github.com/reins-agent/reins/tool"
)

// UseSkill loads a skill for the model.
type UseSkill func(name, args string) tool.Result

type claudeSkillIn struct {
	Skill string `json:"skill" jsonschema:"name of the skill"`
	Args  string `json:"args,omitempty" jsonschema:"arguments for the skill"`
}

// ClaudeSkill returns Claude Code's tool that loads skills. base is the vendor-independent part of its spec.
func ClaudeSkill(base tool.Spec, use UseSkill) tool.Tool {
	spec := named(base, "Skill", base.Description, base.Limit)
	return tool.New(spec, tool.Nothing, func(_ context.Context, _ *tool.Call, in claudeSkillIn) (tool.Result, error) {
		return use(in.Skill, in.Args), nil
	})
}

type geminiSkillIn struct {
	Name string `json:"name" jsonschema:"name of the skill"`
}

// GeminiSkill returns the tool of gemini-cli that loads skills.
func GeminiSkill(base tool.Spec, use UseSkill) tool.Tool {
	spec := named(base, "activate_skill", base.Description, base.Limit)
	return tool.New(spec, tool.Nothing, func(_ context.Context, _ *tool.Call, in geminiSkillIn) (tool.Result, error) {
		return use(in.Name, ""), nil
	})
}
