package event

// This file has the types that agents in a session share: tasks, teams and mail.

// Task is a task in the session's shared list. A record holds the whole task after a change.
type Task struct {
	ID          string            `json:"id"`
	Subject     string            `json:"subject"`
	Description string            `json:"description,omitempty"`
	Status      TaskStatus        `json:"status"`
	Owner       string            `json:"owner,omitempty"` // agent name
	Output      string            `json:"output,omitempty"`
	BlockedBy   []string          `json:"blocked_by,omitempty"` // tasks that must be completed first
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// TaskStatus is a task's progress.
type TaskStatus string

// Task statuses.
const (
	TaskPending    TaskStatus = "pending"
	TaskInProgress TaskStatus = "in_progress"
	TaskCompleted  TaskStatus = "completed"
	TaskFailed     TaskStatus = "failed"
	TaskCancelled  TaskStatus = "cancelled"
)

// Final reports whether a task with this status can no longer change.
func (s TaskStatus) Final() bool {
	switch s {
	case TaskCompleted, TaskFailed, TaskCancelled:
		return true
	}
	return false
}

// Team is a team of agents. A record holds the whole team after a change. Members may send each other mail while the
// team is active.
type Team struct {
	Name    string     `json:"name"`
	Members []Member   `json:"members"`
	Status  TeamStatus `json:"status"`
}

// Member is a team member.
type Member struct {
	Name string   `json:"name"` // agent name; the agent may not exist yet
	Role TeamRole `json:"role"`
}

// TeamRole is a member's role.
type TeamRole string

// Member roles.
const (
	RoleLeader TeamRole = "leader"
	RoleMember TeamRole = "member"
)

// TeamStatus tells whether a team is active.
type TeamStatus string

// Team statuses. A disbanded team can no longer change.
const (
	TeamActive    TeamStatus = "active"
	TeamDisbanded TeamStatus = "disbanded"
)

// Mail is a message from one team member to others. It enters each recipient's conversation as SteeringInjected, with
// the mail's record number in Queued.
type Mail struct {
	Team    string   `json:"team"`
	From    string   `json:"from"`
	To      []string `json:"to"`
	Type    MailType `json:"type"`
	Content string   `json:"content,omitempty"`
	Approve bool     `json:"approve,omitempty"` // the decision in a response
}

// MailType is a message's purpose.
type MailType string

// Mail types.
const (
	MailText             MailType = "text"
	MailShutdownRequest  MailType = "shutdown_request" // from the leader
	MailShutdownResponse MailType = "shutdown_response"
	MailPlanRequest      MailType = "plan_approval_request" // to the leader
	MailPlanResponse     MailType = "plan_approval_response"
)
