package tools

import (
	"fmt"
	"sync"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/tool"
)

// AddedAliases returns aliases of tools that a session or a host adds.
var AddedAliases = sync.OnceValue(func() []tool.Alias {
	claude := map[string]string{
		"prompt": "task", "subagent_type": "agent_type", "description": "", "effort": "", "maxTurns": "max_turns",
	}
	return []tool.Alias{
		{Name: "Agent", Tool: "spawn_agent", Params: claude},
		{Name: "Task", Tool: "spawn_agent", Params: claude},
		{Name: "invoke_agent", Tool: "spawn_agent", Params: map[string]string{"agent_name": "agent_type", "prompt": "task"}},
		{Name: "AskUserQuestion", Tool: agent.AskUser},
		{Name: "request_user_input", Tool: agent.AskUser},
		{Name: "AskUser", Tool: agent.AskUser},
		{Name: "ToolSearch", Tool: tool.SearchName},
		{Name: "ListMcpResources", Tool: "list_mcp_resources"},
		{Name: "ReadMcpResource", Tool: "read_mcp_resource"},
		{Name: "EnterPlanMode", Tool: "enter_plan_mode"},
		{Name: "ExitPlanMode", Tool: "exit_plan_mode"},
		{Name: "TodoWrite", Tool: "todo_write"},
		{Name: "write_todos", Tool: "todo_write"},
		{Name: "Config", Tool: "config", Params: map[string]string{"setting": "key"}},
		{Name: "NotebookEdit", Tool: "notebook_edit"},
		{Name: "EnterWorktree", Tool: "enter_worktree"},
		{Name: "ExitWorktree", Tool: "exit_worktree", Params: map[string]string{"discard_changes": ""}},
		{Name: "CronCreate", Tool: "cron_create", Params: map[string]string{"cron": "schedule", "durable": ""}},
		{Name: "CronList", Tool: "cron_list"},
		{Name: "CronDelete", Tool: "cron_delete"},
		{Name: "RemoteTrigger", Tool: "remote_trigger"},
		{Name: "TaskCreate", Tool: "task_create", Params: map[string]string{"activeForm": ""}},
		{Name: "TaskGet", Tool: "task_get", Params: map[string]string{"taskId": "task_id", "id": "task_id"}},
		{Name: "TaskList", Tool: "task_list"},
		{Name: "TaskUpdate", Tool: "task_update", Params: map[string]string{"taskId": "task_id", "id": "task_id", "activeForm": ""}},
		{Name: "TeamCreate", Tool: "team_create", Params: map[string]string{"team_name": "name", "description": ""}},
		{Name: "TeamDelete", Tool: "team_delete", Params: map[string]string{"team_name": "name"}},
		{Name: "SendMessage", Tool: "send_message", Params: map[string]string{"recipient": "to", "content": "message", "summary": ""}},
		{Name: "WebFetch", Tool: "web_fetch"},
		{Name: "WebSearch", Tool: "web_search"},
		{Name: "google_web_search", Tool: "web_search"},
		{Name: "LSP", Tool: "lsp", Params: map[string]string{"filePath": "path"}},
	}
})

// SkillAliases returns other names of the tool that loads skills.
func SkillAliases() []tool.Alias {
	return []tool.Alias{{Name: "Skill", Tool: "skill", Params: map[string]string{"skill": "name"}}, {Name: "activate_skill", Tool: "skill"}}
}

// Texts returns a list of strings in the fields of a result. Decoded from a saved record, it has type []any.
func Texts(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		list := []string{}
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
		return list
	}
	return nil
}
