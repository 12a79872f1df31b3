package coding

import (
	"fmt"
	"slices"

	"github.com/reins-agent/reins/tool"
)

// Tier selects which tools the model sees at once. To keep requests small, it finds the others with tool_search.
type Tier string

// The tiers. Each includes the tools of those before it. Native tools and tools of hosts and MCP servers are core
// tools. The lean tier also has short instructions and descriptions, for small models and for users who pay per token;
// the other built-in tools, skills and subagents are not available in it.
const (
	LeanTier     Tier = "lean"     // tools that read, edit and write files and run commands
	CoreTier     Tier = "core"     // tools that nearly every task needs
	AdvancedTier Tier = "advanced" // also tools for several agents, and for messages to the user
	AllTiers     Tier = "all"      // also tools for special purposes, such as schedules
)

var tierOrder = []Tier{LeanTier, CoreTier, AdvancedTier, AllTiers}

// tierOf maps the tools that are not core tools to their tiers.
var tierOf = map[string]Tier{
	"shell_input": AdvancedTier, "list_agents": AdvancedTier,
	"task_create": AdvancedTier, "task_get": AdvancedTier, "task_list": AdvancedTier, "task_update": AdvancedTier,
	"task_stop": AdvancedTier, "task_output": AdvancedTier,
	"team_create": AdvancedTier, "team_delete": AdvancedTier, "send_message": AdvancedTier,
	"notebook_edit": AdvancedTier, "delete_file": AdvancedTier, "view_image": AdvancedTier, "codebase_search": AdvancedTier,
	"update_memory": AdvancedTier, "display": AdvancedTier, "sleep": AdvancedTier, "monitor": AdvancedTier,

	"todo_write": AllTiers, "enter_plan_mode": AllTiers, "exit_plan_mode": AllTiers, "config": AllTiers,
	"lsp": AllTiers, "read_lints": AllTiers, "enter_worktree": AllTiers, "exit_worktree": AllTiers,
	"cron_create": AllTiers, "cron_list": AllTiers, "cron_delete": AllTiers, "remote_trigger": AllTiers,
	"list_mcp_resources": AllTiers, "read_mcp_resource": AllTiers,
}

// ParseTier parses the name of a tier; "" is CoreTier.
func ParseTier(name string) (Tier, error) {
	if name == "" {
		return CoreTier, nil
	}
	if t := Tier(name); slices.Contains(tierOrder, t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown tier %q: use lean, core, advanced or all", name)
}

// has reports whether the tier includes a tool.
func (t Tier) has(name string) bool {
	return slices.Index(tierOrder, TierOf(name)) <= slices.Index(tierOrder, t)
}

// TierOf returns the lowest tier that includes a tool.
func TierOf(name string) Tier {
	if t, higher := tierOf[name]; higher {
		return t
	}
	if slices.Contains(leanTools, name) {
		return LeanTier
	}
	return CoreTier
}

// deferred lists the tools that the tier does not include.
func (t Tier) deferred() (names []string) {
	for name := range tierOf {
		if !t.has(name) {
			names = append(names, name)
		}
	}
	return names
}

// tiered returns the tools, and defers those that the tier does not include.
func (t Tier) tiered(tools []tool.Tool) []tool.Tool {
	list := slices.Clone(tools)
	for i, each := range list {
		if spec := each.Spec(); !t.has(spec.Name) && !spec.Deferred {
			list[i] = tool.Defer(each)
		}
	}
	return list
}
