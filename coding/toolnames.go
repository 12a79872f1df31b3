package coding

import (
	"slices"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// ToolNames returns the names that a rule can use for tools of a session, each with the own names of the tools that it
// stands for: a tool's own name for the tool itself, and an alias for the tools of the toolsets that have it. Tools of
// MCP servers and hosts are not listed. The map is shared and must not be modified.
func ToolNames() map[string][]string { return knownTools() }

// sessionTools are tools that a session has besides those of its profile.
var sessionTools = []string{
	agent.AskUser, tool.SearchName, tool.CallName, "spawn_agent", "send_input", "wait", "close_agent", "skill",
	"web_fetch", "web_search", "coder",
}

var knownTools = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	add := func(name, own string) {
		if !slices.Contains(all[name], own) {
			all[name] = append(all[name], own)
		}
	}
	for _, name := range sessionTools {
		add(name, name)
	}
	for name := range tierOf {
		add(name, name)
	}
	for _, t := range tools.New(ToolConfig{}) {
		add(t.Spec().Name, t.Spec().Name)
	}
	aliases := tools.SkillAliases()
	for _, f := range []Family{OpenAIFamily, AnthropicFamily, GeminiFamily, GenericFamily} {
		for _, set := range []Toolset{Standard, Native} {
			p := &Profile{Family: f, Toolset: set, Vision: true}
			if f == GenericFamily && set == Native {
				continue
			}
			offered, more := p.tools()
			for _, t := range offered {
				add(t.Spec().Name, t.Spec().Name)
			}
			aliases = append(aliases, more...)
		}
	}
	for _, a := range aliases {
		add(a.Name, a.Tool)
	}
	return all
})
