package tools

import (
	"context"

	"github.com/reins-agent/reins/tool"
)

// The arguments of the operations. Those with schema tags are also the arguments of the standard tools. Fields without
// a JSON name are only for vendors' tools.

// Read reads lines of a file.
type Read struct {
	Path   string `json:"file_path" jsonschema:"absolute, or relative to the working directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to read, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of lines to read (default 2000)"`
}

// Write creates or replaces a file.
type Write struct {
	Path    string `json:"file_path" jsonschema:"absolute, or relative to the working directory"`
	Content string `json:"content" jsonschema:"the full content of the file"`
	Check   Check  `json:"-"`
}

// Check is called with the content of a file before it is changed and may refuse the change. The content
// is nil if the file does not exist or is too large to read. A nil Check refuses nothing.
type Check func(ctx context.Context, c *tool.Call, old []byte) error

func (k Check) do(ctx context.Context, c *tool.Call, old []byte) error {
	if k == nil {
		return nil
	}
	return k(ctx, c, old)
}

// Edit replaces text in a file.
type Edit struct {
	Path       string `json:"file_path" jsonschema:"absolute, or relative to the working directory"`
	Old        string `json:"old_string" jsonschema:"the exact text to find, with enough context to be unique"`
	New        string `json:"new_string" jsonschema:"the replacement text"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Check      Check  `json:"-"`
}

// create returns the write for an edit without old text, which creates the file.
func (e Edit) create() Write { return Write{Path: e.Path, Content: e.New, Check: e.Check} }

// Patch applies a patch.
type Patch struct {
	Patch string `json:"patch" jsonschema:"the patch, from *** Begin Patch to *** End Patch"`
}

// List lists a directory.
type List struct {
	Path   string   `json:"path,omitempty" jsonschema:"the directory (default: the working directory)"`
	Depth  int      `json:"depth,omitempty" jsonschema:"how many levels to list (default 1)"`
	Ignore []string `json:"ignore_globs,omitempty" jsonschema:"globs of names or paths to skip, such as node_modules or **/*.log"`
}

// Image shows an image.
type Image struct {
	Path   string `json:"path" jsonschema:"path of the image"`
	Detail string `json:"detail,omitempty" jsonschema:"high or original"`
}

// Command runs a command.
type Command struct {
	Command     string `json:"command" jsonschema:"the command line"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"timeout in milliseconds"`
	Description string `json:"description,omitempty" jsonschema:"what the command does, in a few words"`
	Workdir     string `json:"workdir,omitempty" jsonschema:"default: the working directory"`
	Background  bool   `json:"background,omitempty" jsonschema:"leave it running and return immediately"`
	TTY         bool   `json:"tty,omitempty" jsonschema:"run it in a terminal"`
	Outside     bool   `json:"outside_sandbox,omitempty" jsonschema:"needs approval: use it only if the sandbox made the command fail"`

	Env     map[string]string `json:"-"` // added to the environment's variables
	NoInput bool              `json:"-"` // standard input is empty in the background too
	Idle    bool              `json:"-"` // the timeout counts from the last output
}

// Output reads the output of a background process.
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

// Stop stops a background process.
type Stop struct {
	ID ID `json:"id"`
}
