package event

import (
	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/llm"
)

// The kinds that tell how a conversation was changed after the fact. The records before them stay
// as they are: whoever reads the log sees both.

// SessionResume is a session resumed, perhaps by another process, with its setup from now on.
type SessionResume struct {
	Setup
	Dir    string `json:"dir,omitempty"`
	System string `json:"system,omitempty"` // the new system prompt, if it changed
	// Interrupted says that the session was interrupted in the middle of its work.
	Interrupted bool `json:"interrupted,omitempty"`
	// Lost counts the records that could not be read.
	Lost int `json:"lost,omitempty"`
}

// Compaction makes the conversation smaller, by the edit.
type Compaction struct {
	Reason CompactionReason `json:"reason"`
	Method CompactionMethod `json:"method"`
	Before int64            `json:"tokens_before"` // estimated
	After  int64            `json:"tokens_after"`  // estimated
	compact.Edit
}

// Quarantine takes something out of the conversation that the provider refuses. The message at the
// position, counted with the system message, becomes the one given here.
type Quarantine struct {
	Position int         `json:"position"`
	What     string      `json:"what"` // such as "an image"
	Reason   string      `json:"reason"`
	Message  llm.Message `json:"message"`
}

// Checkpoint is a state of the workspace that was kept: before an input changes it or, with After,
// as the work on an input left it. With an Error it could not be kept, and there is no ID.
type Checkpoint struct {
	ID    string `json:"id,omitempty"`
	Dir   string `json:"dir,omitempty"`
	Files int    `json:"files,omitempty"`
	After bool   `json:"after,omitempty"`
	Error string `json:"error,omitempty"`
}

// Rewind takes the last input back, or a Rewind itself: the conversation, the files or both.
type Rewind struct {
	// Input is the number of the USER_INPUT that is taken back or, with Redo, is there again.
	Input Seq  `json:"input"`
	Redo  bool `json:"redo,omitempty"`
	Chat  bool `json:"chat,omitempty"`
	Files bool `json:"files,omitempty"`
	// Restored is the checkpoint that the files were set to, and Before one of how they were, both
	// of the directory Dir.
	Restored string `json:"restored,omitempty"`
	Before   string `json:"before,omitempty"`
	Dir      string `json:"dir,omitempty"`
	// Paths are the only files and directories that were set back, if it was not all of them. The
	// files of the input do not count as taken back then.
	Paths []string `json:"paths,omitempty"`
	// Abandons says that the files were only set back to how they were before a RewindStart that
	// did not come to its end.
	Abandons bool `json:"abandons,omitempty"`
}

// RewindStart says that files are about to be set back. If the Rewind does not follow, some of them
// may have been.
type RewindStart struct{ Rewind }

// ModelFallback is another model that takes over after one could not be reached.
type ModelFallback struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Provider string `json:"provider,omitempty"` // of To
	Error    Error  `json:"error"`
}
