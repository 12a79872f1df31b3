package event

// The types in this file are what the agents of a session share: tasks, teams and mail.

// Task is a task of the session, complete after a change.
type Task struct {
	ID          string            `json:"id"`
	Subject     string            `json:"subject"`
	Description string            `json:"description,omitempty"`
	Status      TaskStatus        `json:"status"`
	Owner       string            `json:"owner,omitempty"` // name of an agent
	Output      string            `json:"output,omitempty"`
	BlockedBy   []string          `json:"blocked_by,omitempty"` // tasks that must be completed first
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// TaskStatus is the status of a task.
type TaskStatus string

// Statuses of a task.
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

// Team is a team of agents, complete after a change. Its members may send each other mail while it is active.
type Team struct {
	Name    string     `json:"name"`
	Members []Member   `json:"members"`
	Status  TeamStatus `json:"status"`
}

// Member is a member of a team.
type Member struct {
	Name string   `json:"name"` // of an agent, which may not exist yet
	Role TeamRole `json:"role"`
}

// TeamRole is the role of a member.
type TeamRole string

// Roles of a member.
const (
	RoleLeader TeamRole = "leader"
	RoleMember TeamRole = "member"
)

// TeamStatus is the status of a team.
type TeamStatus string

// Statuses of a team. A disbanded team can no longer change.
const (
	TeamActive    TeamStatus = "active"
	TeamDisbanded TeamStatus = "disbanded"
)

// Mail is a message from one member of a team to others. It enters the conversation of each recipient as
// SteeringInjected, which refers to it by its number, Queued.
type Mail struct {
	Team    string   `json:"team"`
	From    string   `json:"from"`
	To      []string `json:"to"`
	Type    MailType `json:"type"`
	Content string   `json:"content,omitempty"`
	Approve bool     `json:"approve,omitempty"` // the answer of a response
}

// MailType is what a message is about.
type MailType string

// Types of mail.
const (
	MailText             MailType = "text"
	MailShutdownRequest  MailType = "shutdown_request" // from the leader
	MailShutdownResponse MailType = "shutdown_response"
	MailPlanRequest      MailType = "plan_approval_request" // to the leader
	MailPlanResponse     MailType = "plan_approval_response"
)
