package coding

import (
	"slices"

	"github.com/reins-agent/reins/internal/codesearch"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// moreTools returns the tools that a session has in addition to those of its profile. The model finds them with
// tool_search. It omits tools that the profile already has, and those that the model cannot use.
func (b *builder) moreTools(p *Profile) []tool.Tool {
	if b.search == nil {
		b.search = codesearch.New()
	}
	all := append(tools.More(p.workConfig()), b.search)
	had := p.specs()
	return slices.DeleteFunc(all, func(t tool.Tool) bool {
		name := t.Spec().Name
		return name == "view_image" && !p.Vision || slices.ContainsFunc(had, func(s tool.Spec) bool { return s.Name == name })
	})
}

// otherTools returns the file tools that are offered only to other families. Models are not told about them, but calls
// by these names work.
func (p *Profile) otherTools() (all []tool.Tool) {
	if p.Toolset == Native {
		return nil
	}
	has := p.specs()
	for _, t := range tools.New(p.ToolConfig) {
		name := t.Spec().Name
		offered := slices.ContainsFunc(has, func(s tool.Spec) bool { return s.Name == name })
		if !offered && slices.Contains([]string{"apply_patch", "edit_file", "list_dir"}, name) {
			all = append(all, tool.Unlist(t))
		}
	}
	return all
}

// workConfig returns the configuration of the profile's tools.
func (p *Profile) workConfig() ToolConfig {
	c := p.ToolConfig
	switch {
	case p.Toolset != Native:
	case p.Family == OpenAIFamily:
		c.ReadBeforeWrite = false // codex reads files with commands
	case p.Family == AnthropicFamily:
		c.ReadBeforeWrite = true
	}
	return c
}
