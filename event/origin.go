package event

import "time"

// OriginKind is the kind of sender for an input or a queued message.
type OriginKind string

// Origin kinds. A message without an origin comes from the host's user.
const (
	OriginSkill    OriginKind = "skill"    // the user invoked a skill: the message holds its instructions
	OriginSchedule OriginKind = "schedule" // a job is due
	OriginMissed   OriginKind = "missed"   // jobs were due while no host was running
	OriginWebhook  OriginKind = "webhook"  // a webhook delivery
	OriginHook     OriginKind = "hook"     // a host hook
	OriginMail     OriginKind = "mail"     // another agent
	OriginWorktree OriginKind = "worktree" // the session begins in a worktree, or its worktree is gone
	// OriginBackground means that the user stopped a background command.
	OriginBackground OriginKind = "background"
)

// Origin is the sender of a message that the user did not write, or not alone. Hosts and decisions read it instead of
// the text, which is for the model.
type Origin struct {
	Kind OriginKind `json:"kind"`
	// ID is a skill name, job, webhook delivery, hook event, agent path, worktree or background command, depending on
	// Kind.
	ID string `json:"id,omitempty"`
	// At is when the job was due, or the time until which jobs were missed.
	At time.Time `json:"at,omitzero"`
	// Tools are the tools that the skill allows; nil allows all.
	Tools []string `json:"tools,omitzero"`
}
