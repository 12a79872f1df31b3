package coding

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/internal/codesearch"
	"github.com/reins-agent/reins/internal/memory"
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
	if b.notes != nil {
		all = append(all, memory.Tool(*b.notes, b.secrets))
	}
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

// Memory configures the notes that sessions save for later sessions.
type Memory struct {
	Off    bool
	Budget int // maximum size of notes in the prompt, in bytes; 0 means 4096, negative means no notes
}

// remember adds the notes of earlier sessions to the prompt.
func (b *builder) remember(context.Context) error {
	if c := b.config.Memory; c.Off || b.state == "" {
		return nil
	}
	notes := memory.Open(b.state.Memory(), b.session.Env.Info().Dir)
	b.notes = &notes
	if b.config.Prompt.Memory != nil {
		return nil
	}
	shown, err := notes.Shown(max(cmp.Or(b.config.Memory.Budget, 4096), 0))
	if err != nil {
		b.warnOnce([]string{fmt.Sprintf("the notes of earlier sessions are not used: %v", err)})
		return nil
	}
	b.config.Prompt.Memory = shown
	return nil
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
