package engine

import (
	"context"

	"github.com/reins-agent/reins/tool"
)

// The arguments of the operations. Those with schema tags are also the arguments of the standard
// tools; fields without a JSON form are for other tools only.

// Read asks for lines of a file.
type Read struct {
	Path   string `json:"file_path" jsonschema:"path of the file, absolute or relative to the working directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"line to start at, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read (default 2000)"`
}

// Write asks for a file to be created or replaced.
type Write struct {
	Path    string `json:"file_path" jsonschema:"path of the file, absolute or relative to the working directory"`
	Content string `json:"content" jsonschema:"the full content of the file"`
	Check   Check  `json:"-"`
}

// Check is called with the content of a file before it is changed, nil if there is no file or it is too
// large to read, and may refuse the change. A nil Check refuses nothing.
type Check func(ctx context.Context, c *tool.Call, old []byte) error

// Do calls the check.
func (k Check) Do(ctx context.Context, c *tool.Call, old []byte) error {
	if k == nil {
		return nil
	}
	return k(ctx, c, old)
}

// Edit asks for text in a file to be replaced.
type Edit struct {
	Path       string `json:"file_path" jsonschema:"path of the file, absolute or relative to the working directory"`
	Old        string `json:"old_string" jsonschema:"the exact text to find, with enough context to be unique"`
	New        string `json:"new_string" jsonschema:"the text to put in its place"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence instead of the only one"`
	Check      Check  `json:"-"`
}

// Create is what an edit without a text to replace asks for where there is no file.
func (e Edit) Create() Write { return Write{Path: e.Path, Content: e.New, Check: e.Check} }

// Patch asks for a patch to be applied.
type Patch struct {
	Patch string `json:"patch" jsonschema:"the patch, from *** Begin Patch to *** End Patch"`
}

// List asks for the entries of a directory.
type List struct {
	Path   string   `json:"path,omitempty" jsonschema:"the directory (default: the working directory)"`
	Depth  int      `json:"depth,omitempty" jsonschema:"how many levels to list (default 1)"`
	Ignore []string `json:"ignore_globs,omitempty" jsonschema:"names or paths to leave out, such as node_modules or **/*.log"`
}

// Image asks for an image to be shown.
type Image struct {
	Path   string `json:"path" jsonschema:"path of the image"`
	Detail string `json:"detail,omitempty" jsonschema:"high or original"`
}

// Command asks for a command to be run.
type Command struct {
	Command     string `json:"command" jsonschema:"the command line to run"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"how long the command may run, in milliseconds"`
	Description string `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"the directory to run it in (default: the working directory)"`
	Background  bool   `json:"background,omitempty" jsonschema:"leave it running and return at once; see shell_output, shell_input and shell_stop"`
	TTY         bool   `json:"tty,omitempty" jsonschema:"give it a terminal"`

	Env     map[string]string `json:"-"` // added to the environment's variables
	NoInput bool              `json:"-"` // standard input is empty in the background too
	Idle    bool              `json:"-"` // the timeout counts from the last output
}

// Output asks for what a background process printed.
type Output struct {
	ID     ID    `json:"id"`
	WaitMS int64 `json:"wait_ms"`
}

// Input sends text to a background process.
type Input struct {
	ID     ID     `json:"id"`
	Text   string `json:"text"`
	Close  bool   `json:"close"`
	WaitMS *int64 `json:"wait_ms"`
}

// Stop ends a background process.
type Stop struct {
	ID ID `json:"id"`
}
