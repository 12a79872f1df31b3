package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// The tools for subagents. What a subagent does goes through the pipeline like everything else, so
// that spawning one touches nothing by itself.

func isSubagentTool(name string) bool {
	switch name {
	case "spawn_agent", "send_input", "wait", "close_agent", "list_agents":
		return true
	}
	return false
}

func harmless[In any](context.Context, *tool.Call, In) []policy.Access { return []policy.Access{} }

type spawnIn struct {
	Task       string `json:"task" jsonschema:"what the agent is to do, with everything it needs to know: it does not see this conversation"`
	WorkingDir string `json:"working_dir,omitempty" jsonschema:"the subdirectory it is confined to"`
	Model      string `json:"model,omitempty" jsonschema:"another model than this one"`
	MaxTurns   int    `json:"max_turns,omitempty" jsonschema:"the most calls of the model (default 50)"`
	AgentType  string `json:"agent_type,omitempty" jsonschema:"the kind of agent"`
}

type agentIn struct {
	ID string `json:"agent_id" jsonschema:"the id that spawn_agent gave"`
}

type sendIn struct {
	ID      string `json:"agent_id" jsonschema:"the id that spawn_agent gave"`
	Message string `json:"message" jsonschema:"what to tell the agent"`
}

type waitIn struct {
	ID        string `json:"agent_id" jsonschema:"the id that spawn_agent gave"`
	TimeoutMS int64  `json:"timeout_ms,omitempty" jsonschema:"how long to wait (default: until it is done)"`
}

// resultLimit bounds what a model sees of the report of a subagent.
var resultLimit = tool.Limit{Chars: 20_000, Lines: -1, Mode: tool.HeadTail}

func (a *agents) tools(types map[string]AgentType) []tool.Tool {
	return []tool.Tool{
		tool.New(tool.Spec{Name: "spawn_agent", Version: "1.0.0", Role: roleAgent, Description: spawnDescription(types)}, harmless[spawnIn], a.runSpawn),
		tool.New(tool.Spec{Name: "send_input", Version: "1.0.0", Role: roleAgent, Description: "Send a message to a subagent: between two steps of its work, or as a new task when it is done."}, harmless[sendIn], a.runSend),
		tool.New(tool.Spec{Name: "wait", Version: "1.0.0", Role: roleAgent, ReadOnly: true, Limit: resultLimit, Description: "Wait for a subagent to complete and return its result."}, harmless[waitIn], a.runWait),
		tool.New(tool.Spec{Name: "close_agent", Version: "1.0.0", Role: roleAgent, Description: "Terminate a subagent."}, harmless[agentIn], a.runClose),
		tool.New(tool.Spec{Name: "list_agents", Version: "1.0.0", Role: roleAgent, ReadOnly: true, Description: "List the subagents and what they are doing."}, harmless[struct{}], a.runList),
	}
}

func spawnDescription(types map[string]AgentType) string {
	var b strings.Builder
	b.WriteString("Spawn a subagent to handle a scoped task autonomously. It works in the background; use wait for its result. Agent types:")
	for _, name := range sortedNames(types) {
		fmt.Fprintf(&b, " %s (%s);", name, types[name].Description)
	}
	b.WriteString(" without a type it can do what you can.")
	return b.String()
}

func (a *agents) runSpawn(ctx context.Context, c *tool.Call, in spawnIn) (tool.Result, error) {
	if in.Task == "" {
		return tool.Failure(tool.ValidationError, "No agent was spawned: the task is empty."), nil
	}
	b, err := a.spawn(ctx, spawnRequest{in.Task, in.WorkingDir, in.Model, in.AgentType, in.MaxTurns, c.ID})
	if err != nil {
		return tool.Failure(tool.ValidationError, "No agent was spawned: %v.", err), nil
	}
	res := tool.Success("Agent %s is running. Use wait with agent_id %q for its result.", b.id, b.id)
	res.Fields = map[string]any{"agent_id": b.id, "status": string(running)}
	return res, nil
}

func (a *agents) runSend(ctx context.Context, c *tool.Call, in sendIn) (tool.Result, error) {
	b, err := a.find(in.ID)
	if err == nil {
		err = b.send(ctx, c.ID, in.Message)
	}
	if err != nil {
		return tool.Failure(tool.ValidationError, "The message was not sent: %v.", err), nil
	}
	return tool.Success("The message was sent to agent %s.", in.ID), nil
}

func (a *agents) runWait(ctx context.Context, _ *tool.Call, in waitIn) (tool.Result, error) {
	b, err := a.find(in.ID)
	if err != nil {
		return tool.Failure(tool.ValidationError, "Nothing to wait for: %v.", err), nil
	}
	waiting := ctx
	if in.TimeoutMS > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, time.Duration(in.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	if err := b.wait(waiting); err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		res := tool.Success("Agent %s is still running, after %s.", b.id, b.used())
		res.Fields = map[string]any{"agent_id": b.id, "status": string(running), "turns_used": b.turns()}
		return res, nil
	}
	return b.result(), nil
}

// used says how many turns the agent has taken.
func (b *subagent) used() string {
	if n := b.turns(); n != 1 {
		return fmt.Sprintf("%d turns", n)
	}
	return "1 turn"
}

// result is what the parent sees of an agent that is done.
func (b *subagent) result() tool.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := b.status == completed
	res := tool.Result{Fields: map[string]any{"agent_id": b.id, "success": ok, "status": string(b.status), "turns_used": b.turns()}}
	var head string
	switch {
	case b.status == waiting:
		head = fmt.Sprintf("Agent %s waits for the user's approval of a tool call, after %s. Use wait again later.", b.id, b.used())
	case ok:
		head = fmt.Sprintf("Agent %s completed its task in %s.", b.id, b.used())
	case b.err != nil:
		head = fmt.Sprintf("Agent %s failed after %s: %v", b.id, b.used(), b.err)
	default:
		head = fmt.Sprintf("Agent %s did not complete its task; it stopped after %s: %s", b.id, b.used(), cmp.Or(string(b.outcome.Limit), string(b.outcome.Status)))
	}
	if !ok && b.status != waiting {
		res.Error = &tool.Error{Code: tool.InternalError, Message: head, Shown: true}
	}
	if b.outcome.Text != "" {
		head += "\n\n" + b.outcome.Text
	}
	res.Output = tool.Text(head)
	return res
}

func (a *agents) runClose(_ context.Context, _ *tool.Call, in agentIn) (tool.Result, error) {
	b, err := a.find(in.ID)
	if err != nil {
		return tool.Failure(tool.ValidationError, "Nothing to close: %v.", err), nil
	}
	before := b.interrupt(ended)
	b.session.abandon("the agent was closed")
	b.close()
	res := tool.Success("Agent %s is closed; it was %s.", in.ID, before)
	res.Fields = map[string]any{"agent_id": in.ID, "status": string(before)}
	return res, nil
}

func (a *agents) runList(context.Context, *tool.Call, struct{}) (tool.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out strings.Builder
	for _, id := range sortedNames(a.all) {
		b := a.all[id]
		b.mu.Lock()
		fmt.Fprintf(&out, "%s: %s, %s\n", id, b.status, b.used())
		b.mu.Unlock()
	}
	if out.Len() == 0 {
		out.WriteString("There are no agents.\n")
	}
	return tool.Result{Output: tool.Text(out.String())}, nil
}
