package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/tool"
)

// The tools for tasks, teams and mail access only the session records.

type taskIn struct {
	ID string `json:"task_id"`
}

type taskCreateIn struct {
	Subject     string            `json:"subject"`
	Description string            `json:"description,omitempty"`
	BlockedBy   []string          `json:"blocked_by,omitempty" jsonschema:"tasks that must be completed first"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type taskListIn struct {
	Status string `json:"status,omitempty"`
	Owner  string `json:"owner,omitempty"`
}

type taskUpdateIn struct {
	ID          string            `json:"task_id,omitempty"`
	Claim       bool              `json:"claim,omitempty" jsonschema:"start the task, or without task_id the next one that is free"`
	Status      string            `json:"status,omitempty" jsonschema:"pending, in_progress, completed, failed or cancelled"`
	Output      string            `json:"output,omitempty" jsonschema:"the result"`
	Subject     string            `json:"subject,omitempty"`
	Description string            `json:"description,omitempty"`
	Owner       *string           `json:"owner,omitempty" jsonschema:"agent to assign it to"`
	BlockedBy   []string          `json:"blocked_by,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

type teamCreateIn struct {
	Name    string   `json:"name"`
	Members []string `json:"members" jsonschema:"names of agents, also of ones that you spawn later"`
}

type teamIn struct {
	Name string `json:"name"`
}

type mailIn struct {
	To      string `json:"to" jsonschema:"name of an agent, or * for all members of the team"`
	Message string `json:"message,omitempty"`
	Type    string `json:"type,omitempty" jsonschema:"text (default), shutdown_request, shutdown_response, plan_approval_request or plan_approval_response"`
	Approve bool   `json:"approve,omitempty" jsonschema:"the answer of a response"`
	Team    string `json:"team,omitempty" jsonschema:"only needed in several teams"`
}

// boardNames lists the tools for tasks, teams and mail.
var boardNames = []string{
	"task_create", "task_get", "task_list", "task_update", "task_stop", "task_output", "team_create",
	"team_delete", "send_message",
}

// boardTools returns the tools for tasks, teams and mail. Agents that cannot have subagents cannot have teams.
func (s *Session) boardTools(c Subagents) []tool.Tool {
	spec := func(name, description string, readOnly bool) tool.Spec {
		return tool.Spec{
			Name:        name,
			Version:     "1.0.0",
			Role:        roleAgent,
			ReadOnly:    readOnly,
			Idempotent:  readOnly,
			Limit:       resultLimit,
			Description: description,
		}
	}
	tools := []tool.Tool{
		tool.New(spec("task_create", "Add a task to the list that all agents share.", false), tool.Nothing[taskCreateIn], s.runTaskCreate),
		tool.New(spec("task_get", "Show a task.", true), tool.Nothing[taskIn], s.runTaskGet),
		tool.New(spec("task_list", "List the tasks that all agents share.", true), tool.Nothing[taskListIn], s.runTaskList),
		tool.New(
			spec("task_update", "Change a task. Claim it before you work on it; set its status and output when you are done.", false),
			tool.Nothing[taskUpdateIn],
			s.runTaskUpdate,
		),
		tool.New(spec("task_stop", "Cancel a task, or close a subagent.", false), tool.Nothing[taskIn], s.runTaskStop),
		tool.New(
			spec("task_output", "Show the output of a task or the result of a subagent.", true),
			tool.Nothing[taskIn],
			s.runTaskOutput,
		),
	}
	if s.depth < c.MaxDepth {
		tools = append(
			tools,
			tool.New(
				spec("team_create", "Create a team of agents that can send each other messages. You lead it.", false),
				tool.Nothing[teamCreateIn],
				s.runTeamCreate,
			),
			tool.New(spec("team_delete", "Disband a team.", false), tool.Nothing[teamIn], s.runTeamDelete),
		)
	}
	if s.depth < c.MaxDepth || s.depth > 0 {
		tools = append(
			tools,
			tool.New(
				spec("send_message", "Send a message to members of your team. A working agent gets it at its next step.", false),
				tool.Nothing[mailIn],
				s.runMail,
			),
		)
	}
	return tools
}

// refuse returns the result for a call that changed nothing.
func refuse(err error) (tool.Result, error) {
	return tool.Failure(tool.ValidationError, "Nothing was changed: %v.", err), nil
}

// shown returns a result that shows a task.
func shown(d event.Task) (tool.Result, error) {
	res := tool.Result{Output: tool.Text(taskText(d)), Fields: map[string]any{"task_id": d.ID, "status": string(d.Status)}}
	return res, nil
}

func taskLine(d event.Task) string {
	line := fmt.Sprintf("%s [%s] %s", d.ID, strings.TrimSuffix(string(d.Status)+", "+d.Owner, ", "), d.Subject)
	if len(d.BlockedBy) > 0 {
		line += fmt.Sprintf(" (blocked by %s)", strings.Join(d.BlockedBy, ", "))
	}
	return line + "\n"
}

func taskText(d event.Task) string {
	text := taskLine(d)
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		text += fmt.Sprintf("%s: %s\n", k, d.Metadata[k])
	}
	if d.Description != "" {
		text += "\n" + d.Description + "\n"
	}
	if d.Output != "" {
		text += "\nOutput:\n" + d.Output + "\n"
	}
	return text
}

func (s *Session) runTaskCreate(ctx context.Context, _ *tool.Call, in taskCreateIn) (tool.Result, error) {
	d, err := share(s, func(t *step.Tree) (event.Task, error) {
		return t.NewTask(event.Task{Subject: in.Subject, Description: in.Description, BlockedBy: in.BlockedBy, Metadata: in.Metadata})
	})
	if err != nil {
		return refuse(err)
	}
	if out := s.fire(ctx, taskInput(hook.TaskCreated, d)); out.Refuses() {
		_, err := share(s, func(t *step.Tree) (event.Task, error) {
			return t.ChangeTask(s.path, d.ID, step.TaskChange{Status: event.TaskCancelled})
		})
		why := cmp.Or(out.Reason, out.StopReason, "no reason given")
		return tool.Failure(tool.PermissionDenied, "%s was cancelled by a hook: %s", d.ID, why), err
	}
	res := tool.Success("Created %s.", d.ID)
	res.Fields = map[string]any{"task_id": d.ID, "status": string(d.Status)}
	return res, nil
}

func (s *Session) runTaskGet(_ context.Context, _ *tool.Call, in taskIn) (tool.Result, error) {
	d, err := s.task(in.ID)
	if err != nil {
		return refuse(err)
	}
	return shown(d)
}

func (s *Session) task(id string) (event.Task, error) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	return s.tree.fold.Task(id)
}

func (s *Session) runTaskList(_ context.Context, _ *tool.Call, in taskListIn) (tool.Result, error) {
	if in.Status == inProgress {
		in.Status = string(event.TaskInProgress)
	}
	var out strings.Builder
	for _, d := range s.Tasks() {
		if (in.Status == "" || in.Status == string(d.Status)) && (in.Owner == "" || in.Owner == d.Owner) {
			out.WriteString(taskLine(d))
		}
	}
	return tool.Result{Output: tool.Text(cmp.Or(out.String(), "No matching tasks.\n"))}, nil
}

// inProgress is another spelling of event.TaskInProgress.
const inProgress = "inProgress"

// taskInput describes a task to hooks.
func taskInput(e hook.Event, d event.Task) hook.Input {
	return hook.Input{Event: e, Task: d.ID, Subject: d.Subject, Description: d.Description}
}

// completes runs TaskCompleted hooks before a task is completed, and returns an error if they refuse.
func (s *Session) completes(ctx context.Context, in taskUpdateIn) error {
	d, err := s.task(in.ID)
	if err != nil || in.Status != string(event.TaskCompleted) || d.Status == event.TaskCompleted {
		return nil // the change fails anyway
	}
	if out := s.fire(ctx, taskInput(hook.TaskCompleted, d)); out.Refuses() {
		return fmt.Errorf("a hook keeps %s from being completed: %s", d.ID, cmp.Or(out.Reason, out.StopReason, "no reason given"))
	}
	return nil
}

func (s *Session) runTaskUpdate(ctx context.Context, _ *tool.Call, in taskUpdateIn) (tool.Result, error) {
	if in.Claim || in.Status == inProgress {
		in.Status = string(event.TaskInProgress)
	}
	if err := s.completes(ctx, in); err != nil {
		return refuse(err)
	}
	d, err := share(s, func(t *step.Tree) (event.Task, error) {
		if in.ID != "" {
			return t.ChangeTask(s.path, in.ID, step.TaskChange{
				Status:      event.TaskStatus(in.Status),
				Subject:     in.Subject,
				Description: in.Description,
				Output:      in.Output,

				Owner:     in.Owner,
				BlockedBy: in.BlockedBy,
				Metadata:  in.Metadata,
			})
		}
		if !in.Claim {
			return event.Task{}, errors.New("task_id is missing")
		}
		d, ok := t.Claim(s.path)
		if !ok {
			return d, errNoTask
		}
		return d, nil
	})
	switch {
	case errors.Is(err, errNoTask):
		return tool.Success("No task available: all are blocked, assigned or done."), nil
	case err != nil:
		return refuse(err)
	}
	return shown(d)
}

var errNoTask = errors.New("no task to claim")

func (s *Session) runTaskStop(_ context.Context, c *tool.Call, in taskIn) (tool.Result, error) {
	if a, err := s.child(in.ID); err == nil {
		return s.runClose(context.Background(), c, agentIn{a.path})
	}
	d, err := share(s, func(t *step.Tree) (event.Task, error) {
		return t.ChangeTask(s.path, in.ID, step.TaskChange{Status: event.TaskCancelled})
	})
	if err != nil {
		return refuse(err)
	}
	return shown(d)
}

func (s *Session) runTaskOutput(_ context.Context, _ *tool.Call, in taskIn) (tool.Result, error) {
	if a, err := s.child(in.ID); err == nil {
		return a.result(), nil
	}
	d, err := s.task(in.ID)
	if err != nil {
		return refuse(err)
	}
	res, _ := shown(d)
	res.Output = tool.Text(cmp.Or(d.Output, fmt.Sprintf("%s is %s and has no output.", d.ID, d.Status)))
	return res, nil
}

func (s *Session) runTeamCreate(_ context.Context, _ *tool.Call, in teamCreateIn) (tool.Result, error) {
	d, err := share(s, func(t *step.Tree) (event.Team, error) { return t.NewTeam(s.path, in.Name, in.Members) })
	if err != nil {
		return refuse(err)
	}
	return tool.Success("Created team %s with %d members. You are %s.", d.Name, len(d.Members), d.Members[0].Name), nil
}

func (s *Session) runTeamDelete(_ context.Context, _ *tool.Call, in teamIn) (tool.Result, error) {
	d, err := share(s, func(t *step.Tree) (event.Team, error) { return t.Disband(s.path, in.Name) })
	if err != nil {
		return refuse(err)
	}
	return tool.Success("Team %s is disbanded.", d.Name), nil
}

func (s *Session) runMail(_ context.Context, _ *tool.Call, in mailIn) (tool.Result, error) {
	var idle []string
	d, err := share(s, func(t *step.Tree) (event.Mail, error) {
		d, err := t.NewMail(s.path, event.Mail{
			Team:    in.Team,
			To:      []string{in.To},
			Type:    event.MailType(in.Type),
			Content: in.Message,
			Approve: in.Approve,
		})
		for _, name := range d.To {
			path, exists := t.Find(name)
			if a := s.tree.agents[path]; !exists || a == nil || a.work == nil {
				idle = append(idle, name)
			}
		}
		return d, err
	})
	if err != nil {
		return tool.Failure(tool.ValidationError, "The message was not sent: %v.", err), nil
	}
	text := fmt.Sprintf("The message was sent to %s.", strings.Join(d.To, ", "))
	if len(idle) > 0 {
		text += fmt.Sprintf(" Not working now, so they read it with their next task: %s.", strings.Join(idle, ", "))
	}
	return tool.Result{Output: tool.Text(text), Fields: map[string]any{"to": d.To}}, nil
}
