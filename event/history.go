package event

import "github.com/reins-agent/reins/llm"

// The kinds that tell how a conversation was changed after the fact. The records before them stay
// as they are: whoever reads the log sees both.

// SessionResume is a session taken up again, perhaps by another process, with what it is set up
// with from now on.
type SessionResume struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Effort   string `json:"effort,omitempty"`
	Dir      string `json:"dir,omitempty"`
	System   string `json:"system,omitempty"` // the new system prompt, if it is another one
	// Interrupted says that the session had not come to an end, but was cut off.
	Interrupted bool `json:"interrupted,omitempty"`
	// Lost counts the records that could not be read.
	Lost int `json:"lost,omitempty"`
}

// Compaction makes the conversation smaller. Behind its leading system messages, Replaced messages
// give way to Messages; in those that stay, the parts that Cleared names give way to a text.
type Compaction struct {
	Reason   string        `json:"reason"`         // "threshold", "manual" or "context_length"
	Method   string        `json:"method"`         // "clear", "summary" or "digest"
	Before   int64         `json:"tokens_before"`  // estimated
	After    int64         `json:"tokens_after"`   // estimated
	Cost     *float64      `json:"cost,omitempty"` // of the summary
	Cleared  []Cleared     `json:"cleared,omitempty"`
	Replaced int           `json:"replaced,omitempty"`
	Messages []llm.Message `json:"messages,omitempty"`
}

// Cleared is a part of a message, by its position before the compaction, and what stands there now.
type Cleared struct {
	Message int    `json:"message"`
	Part    int    `json:"part"`
	Text    string `json:"text"`
}

// Quarantine takes something out of the conversation that the provider refuses. The message at the
// position, counted with the system message, becomes the one given here.
type Quarantine struct {
	Position int         `json:"position"`
	What     string      `json:"what"` // such as "an image"
	Reason   string      `json:"reason"`
	Message  llm.Message `json:"message"`
}

// Checkpoint is a state of the workspace that was kept before it may be changed.
type Checkpoint struct {
	ID    string `json:"id"`
	Files int    `json:"files,omitempty"`
}

// Rewind takes the last input back, or a Rewind itself: the conversation, the files or both.
type Rewind struct {
	// Input is the number of the USER_INPUT that is taken back or, with Redo, is there again.
	Input Seq  `json:"input"`
	Redo  bool `json:"redo,omitempty"`
	Chat  bool `json:"chat,omitempty"`
	Files bool `json:"files,omitempty"`
	// Restored is the checkpoint that the files were set to, and Before one of how they were.
	Restored string `json:"restored,omitempty"`
	Before   string `json:"before,omitempty"`
}

// ModelFallback is another model that takes over after one could not be reached.
type ModelFallback struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Error Error  `json:"error"`
}
