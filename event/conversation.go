package event

import (
	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/llm"
)

// The types in this file change the conversation, or the files, after the fact. Earlier records stay unchanged.

// Compaction makes the conversation smaller.
type Compaction struct {
	Reason CompactionReason `json:"reason"`
	Method CompactionMethod `json:"method"`
	Before int64            `json:"tokens_before"` // estimated
	After  int64            `json:"tokens_after"`  // estimated
	compact.Edit
}

// Quarantine replaces a message to remove content that the provider refused.
type Quarantine struct {
	Position int         `json:"position"` // message index, counting the system message
	What     string      `json:"what"`     // such as "an image"
	Reason   string      `json:"reason"`
	Message  llm.Message `json:"message"`
}

// Checkpoint is a snapshot of the workspace, taken before an input changes it or, with After, when the work on an input
// ended. If Error is set, no snapshot was taken and ID is empty.
type Checkpoint struct {
	ID    string `json:"id,omitempty"`
	Dir   string `json:"dir,omitempty"`
	Files int    `json:"files,omitempty"`
	After bool   `json:"after,omitempty"`
	Error string `json:"error,omitempty"`
	// Traced means that subsequent calls record their changes, in the artifacts in TOOL_CALL_END.
	Traced bool `json:"traced,omitempty"`
}

// Rewind undoes the last input or, with Redo, the last Rewind: the conversation, the files, or both.
type Rewind struct {
	Input Seq  `json:"input"` // the USER_INPUT undone or redone
	Redo  bool `json:"redo,omitempty"`
	Chat  bool `json:"chat,omitempty"`
	Files bool `json:"files,omitempty"`
	// Restored is the restored checkpoint, and Before a checkpoint taken just before the restore. Both belong to
	// directory Dir.
	Restored string `json:"restored,omitempty"`
	Before   string `json:"before,omitempty"`
	Dir      string `json:"dir,omitempty"`
	// Paths limits the restored files. The input's files then do not count as undone.
	Paths []string `json:"paths,omitempty"`
	// Traced means that Touched lists all paths that were to change. Differences in other paths were made by others.
	Traced  bool     `json:"traced,omitempty"`
	Touched []string `json:"touched,omitempty"`
	// Abandons means that only the effects of an incomplete RewindStart were undone.
	Abandons bool `json:"abandons,omitempty"`
}

// RewindStart announces that files are about to be restored. If no Rewind follows, some of them may have been
// restored.
type RewindStart struct{ Rewind }
