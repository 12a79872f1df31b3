package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// The tools for subagents access nothing themselves: everything that a subagent does goes through the pipeline.

// isOwnTool reports whether the session adds a tool of this name itself.
func isOwnTool(name string) bool {
	switch name {
	case "spawn_agent", "send_input", "wait", "close_agent", "list_agents", tool.SearchName, tool.CallName:
		return true
	}
	return slices.Contains(boardNames, name)
}

type spawnIn struct {
	Name       string `json:"name,omitempty" jsonschema:"unique name"`
	Task       string `json:"task" jsonschema:"the task, with everything the agent needs to know"`
	WorkingDir string `json:"working_dir,omitempty" jsonschema:"subdirectory to confine it to"`
	Model      string `json:"model,omitempty" jsonschema:"default: this one"`
	MaxTurns   int    `json:"max_turns,omitempty" jsonschema:"maximum model calls (default 50)"`
	AgentType  string `json:"agent_type,omitempty" jsonschema:"agent type"`
	Isolation  string `json:"isolation,omitempty" jsonschema:"worktree: work in a copy of the repository"`
	Mode       string `json:"mode,omitempty" jsonschema:"plan: read-only"`
	Team       string `json:"team_name,omitempty"`
	Background *bool  `json:"run_in_background,omitempty" jsonschema:"false: wait for its result"`
	Resume     string `json:"resume,omitempty" jsonschema:"id of an agent to continue"`
}

type agentIn struct {
	ID string `json:"agent_id" jsonschema:"agent id returned by spawn_agent"`
}

type sendIn struct {
	ID      string `json:"agent_id" jsonschema:"agent id returned by spawn_agent"`
	Message string `json:"message" jsonschema:"message to the agent"`
}

type waitIn struct {
	ID        string `json:"agent_id" jsonschema:"agent id returned by spawn_agent"`
	TimeoutMS int64  `json:"timeout_ms,omitempty" jsonschema:"timeout in milliseconds (default: none)"`
}

// spawnAccess declares no accesses. In plan mode, isolation needs an approval because it copies the repository.
func spawnAccess(_ context.Context, c *tool.Call, in spawnIn) []policy.Access {
	if in.Isolation != "" && c.Mode == policy.ModePlan {
		return nil
	}
	return []policy.Access{}
}

// resultLimit limits a subagent's report for the model.
var resultLimit = tool.Limit{Chars: 20_000, Lines: -1, Mode: tool.HeadTail}

func (s *Session) subagentTools(types map[string]AgentType) []tool.Tool {
	return []tool.Tool{
		tool.New(tool.Spec{
			Name:        "spawn_agent",
			Version:     "1.0.0",
			Role:        roleAgent,
			Limit:       resultLimit,
			Description: spawnDescription(types),
		}, spawnAccess, s.runSpawn),
		tool.New(
			tool.Spec{
				Name:        "send_input",
				Version:     "1.0.0",
				Role:        roleAgent,
				Description: "Send a message to a subagent: between two steps if it is working, otherwise as a new task.",
			},
			tool.Nothing[sendIn],
			s.runSend,
		),
		tool.New(tool.Spec{
			Name:        "wait",
			Version:     "1.0.0",
			Role:        roleAgent,
			ReadOnly:    true,
			Limit:       resultLimit,
			Description: "Wait for a subagent to complete and return its result.",
		}, tool.Nothing[waitIn], s.runWait),
		tool.New(
			tool.Spec{Name: "close_agent", Version: "1.0.0", Role: roleAgent, Description: "Terminate a subagent."},
			tool.Nothing[agentIn],
			s.runClose,
		),
		tool.New(tool.Spec{
			Name:        "list_agents",
			Version:     "1.0.0",
			Role:        roleAgent,
			ReadOnly:    true,
			Description: "List the subagents and what they are doing.",
		}, tool.Nothing[struct{}], s.runList),
	}
}

func spawnDescription(types map[string]AgentType) string {
	var b strings.Builder
	b.WriteString("Spawn a subagent that works on a task in the background. Use wait to get its result. Agent types:")
	for _, name := range sortedNames(types) {
		fmt.Fprintf(&b, " %s (%s);", name, types[name].Description)
	}
	b.WriteString(" without a type, it has your tools.")
	return b.String()
}

func (s *Session) runSpawn(ctx context.Context, c *tool.Call, in spawnIn) (tool.Result, error) {
	if in.Task == "" {
		return tool.Failure(tool.ValidationError, "No agent was spawned: the task is empty."), nil
	}
	if in.Isolation != "" && in.Isolation != "worktree" {
		return tool.Failure(
			tool.ValidationError,
			"No agent was spawned: unknown isolation %q: use worktree, or leave it out.", in.Isolation,
		), nil
	}
	a, err := s.spawnOrResume(ctx, c, in)
	if err != nil {
		return tool.Failure(tool.ValidationError, "No agent was spawned: %v.", err), nil
	}
	if in.Background != nil && !*in.Background {
		if a.wait(ctx) != nil {
			return tool.Result{}, ctx.Err()
		}
		return a.result(), nil
	}
	res := tool.Success("Agent %s is running. Use wait with agent_id %q for its result.", a.name(), a.name())
	res.Fields = map[string]any{"agent_id": a.path, "status": string(running)}
	return res, nil
}

func (s *Session) spawnOrResume(ctx context.Context, c *tool.Call, in spawnIn) (*Session, error) {
	start := event.SubagentStart{
		Name:  in.Name,
		Call:  c.ID,
		Type:  in.AgentType,
		Task:  in.Task,
		Model: in.Model,

		Dir:      in.WorkingDir,
		MaxTurns: in.MaxTurns,
		Mode:     in.Mode,
	}
	if in.Resume == "" {
		return s.spawn(ctx, start, in.Team, in.Isolation != "")
	}
	a, err := s.child(in.Resume)
	switch {
	case err != nil:
		return nil, err
	case in.AgentType != "" && in.AgentType != a.spawned.Type:
		return nil, fmt.Errorf("agent %s has the type %q: leave agent_type out to resume it", in.Resume, a.spawned.Type)
	case in.Mode != "" && in.Mode != a.spawned.Mode,
		cmp.Or(in.Name, in.WorkingDir, in.Model, in.Isolation, in.Team) != "" || in.MaxTurns != 0:
		return nil, fmt.Errorf("agent %s keeps its settings: pass only resume and task", in.Resume)
	}
	return a, a.send(ctx, c.ID, in.Task)
}

func (s *Session) runSend(ctx context.Context, c *tool.Call, in sendIn) (tool.Result, error) {
	a, err := s.child(in.ID)
	if err == nil {
		err = a.send(ctx, c.ID, in.Message)
	}
	if err != nil {
		return tool.Failure(tool.ValidationError, "The message was not sent: %v.", err), nil
	}
	return tool.Success("The message was sent to agent %s.", in.ID), nil
}

func (s *Session) runWait(ctx context.Context, _ *tool.Call, in waitIn) (tool.Result, error) {
	a, err := s.child(in.ID)
	if err != nil {
		return tool.Failure(tool.ValidationError, "Nothing to wait for: %v.", err), nil
	}
	limited := ctx
	if in.TimeoutMS > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, time.Duration(in.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	if a.wait(limited) != nil && ctx.Err() != nil {
		return tool.Result{}, ctx.Err()
	}
	return a.result(), nil
}

// result describes a subagent to its parent.
func (s *Session) result() tool.Result {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	status, used := s.status(), s.used()
	end, _ := s.parent.state.Ended(s.path)
	res := tool.Result{Fields: map[string]any{"agent_id": s.path, "status": string(status), "turns_used": s.state.Turns()}}
	var head string
	switch status {
	case running:
		return tool.Result{Fields: res.Fields, Output: tool.Text(fmt.Sprintf("Agent %s is still running, after %s.", s.name(), used))}
	case waiting:
		head = fmt.Sprintf("Agent %s waits for the user's approval of a tool call, after %s. Use wait again later.", s.name(), used)
	case completed:
		head = fmt.Sprintf("Agent %s completed its task in %s.", s.name(), used)
	default:
		head = fmt.Sprintf(
			"Agent %s did not complete its task; it stopped after %s: %s",
			s.name(), used, cmp.Or(end.Reason, string(status)),
		)
		res.Error = &tool.Error{Code: tool.InternalError, Message: head, Shown: true}
	}
	res.Fields["success"] = status == completed
	if w := s.spawned.Worktree; w != "" {
		head += fmt.Sprintf(" Its changes are in worktree %s.", w[strings.LastIndexByte(w, '/')+1:])
		res.Fields["worktree"] = w
	}
	if end.Output != "" {
		head += "\n\n" + end.Output
	}
	res.Output = tool.Text(head)
	return res
}

// used returns the agent's number of turns, in words; tree.mu is held.
func (s *Session) used() string {
	if n := s.state.Turns(); n != 1 {
		return fmt.Sprintf("%d turns", n)
	}
	return "1 turn"
}

func (s *Session) runClose(_ context.Context, _ *tool.Call, in agentIn) (tool.Result, error) {
	a, err := s.child(in.ID)
	if err != nil {
		return tool.Failure(tool.ValidationError, "Nothing to close: %v.", err), nil
	}
	before := a.retire()
	res := tool.Success("Agent %s is closed; it was %s.", in.ID, before)
	res.Fields = map[string]any{"agent_id": in.ID, "status": string(before)}
	return res, nil
}

func (s *Session) runList(context.Context, *tool.Call, struct{}) (tool.Result, error) {
	children := s.children()
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	var out strings.Builder
	for _, a := range children {
		fmt.Fprintf(&out, "%s: %s, %s\n", strings.TrimSpace(a.path+" "+a.spawned.Name), a.status(), a.used())
	}
	return tool.Result{Output: tool.Text(cmp.Or(out.String(), "There are no agents.\n"))}, nil
}
