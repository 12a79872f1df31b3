// Package tools provides the standard coding tools: reading, writing, editing and patching files, searching,
// running commands in the foreground and in the background, and viewing images. They work in the environment
// of the call, so the same tools run on this machine, in a container or in memory.
//
// A tool declares what a call will access before it runs. It rejects invalid input with an error code and a hint for
// the model. A file tool that fails changes nothing on disk, except with [Config.ClassicPatch].
//
// Each tool uses an operation ([Op]) with typed arguments and results. The standard tools and the vendors' tools of
// package native share the operations ([Set]), so accesses and behavior are defined in one place.
package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/tool"
)

// Config configures the coding tools. The zero value is the default.
type Config struct {
	// DefaultTimeout and MaxTimeout are the default and the maximum timeout of foreground commands. They default to the
	// constants with the same names. Profiles use the default timeout of their family.
	DefaultTimeout time.Duration
	MaxTimeout     time.Duration
	// MaxFileSize is the maximum size for reading a file. It defaults to the constant with the same name.
	MaxFileSize int64
	// ClassicPatch makes apply_patch keep the changes before a failed one, like codex, instead of undoing them.
	ClassicPatch bool
	// ReadBeforeWrite makes tools refuse to change or delete a file unless its current content was read or written with
	// these tools. Commands do not count. A session of [coding.Open] still knows what was read after it is resumed.
	ReadBeforeWrite bool
	// Redacted means that results are redacted (see package secret). Tools then refuse to replace a secret with its
	// placeholder.
	Redacted bool
	// State is shared by the tool sets of one session; nil means a new one.
	State *State
}

// Tool defaults.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 10 * time.Minute
	MaxFileSize    = 64 << 20
)

// WithDefaults fills in zero fields.
func (c Config) WithDefaults() Config {
	if c.DefaultTimeout <= 0 {
		c.DefaultTimeout = DefaultTimeout
	}
	if c.MaxTimeout <= 0 {
		c.MaxTimeout = MaxTimeout
	}
	c.DefaultTimeout = min(c.DefaultTimeout, c.MaxTimeout)
	if c.MaxFileSize <= 0 {
		c.MaxFileSize = MaxFileSize
	}
	if c.State == nil {
		c.State = NewState()
	}
	return c
}

func (c Config) timeouts() tool.Timeouts {
	return tool.Timeouts{Default: c.DefaultTimeout, Max: c.MaxTimeout}
}

// State holds what tools share between calls: background processes, a lock for file changes, and which files the model
// has seen.
type State struct {
	turn chan struct{} // full while a call is changing files

	mu      sync.Mutex
	last    int // last background process number
	running map[string]*process
	seen    map[string]string // hashes of files when last read or written
	news    map[string]string // those that Seen has not returned yet

	wakes   sync.Mutex
	changed chan struct{} // closed when a process prints or ends; nil if no call waits
}

// NewState returns an empty state.
func NewState() *State {
	return &State{turn: make(chan struct{}, 1), running: make(map[string]*process), seen: make(map[string]string)}
}

// New returns the standard coding tools. They share their background processes.
func New(c Config) []tool.Tool {
	f, sh := newWorkers(c)
	return append([]tool.Tool{
		f.readTool(), f.readManyFiles(), standard(f.writeFile(), showWritten), standard(f.editFile(), showEdited),
		f.patchTool(), f.deleteFile(), standard(listDir(), showListing), globTool(), grepTool(),
		f.imageTool(), sh.tool(),
	}, append(sh.backgroundTools(), UpdatePlan())...)
}

// More returns tools that a session may have in addition to its profile's tools: they delete a file, show an image,
// edit a notebook, and wait for background processes. To share processes with the tools of [New], use the same
// Config.State.
func More(c Config) []tool.Tool {
	f, sh := newWorkers(c)
	return append([]tool.Tool{f.deleteFile(), f.imageTool(), f.notebookEdit()}, sh.waiting()...)
}

// newWorkers returns the implementations for one set of tools.
func newWorkers(c Config) (files, *shell) {
	c = c.WithDefaults()
	return files{c}, &shell{c, c.State}
}

// oneByOne serializes calls that change files: if two calls read, change and write the same file in parallel, a change
// would be lost.
func oneByOne[In, Out any](
	f files,
	run func(context.Context, *tool.Call, In) (Out, error),
) func(context.Context, *tool.Call, In) (Out, error) {
	return func(ctx context.Context, c *tool.Call, in In) (out Out, err error) {
		select {
		case f.config.State.turn <- struct{}{}:
			defer func() { <-f.config.State.turn }()
			return run(ctx, c, in)
		case <-ctx.Done():
			return out, failed(ctx.Err(), "")
		}
	}
}

// payloads caches the schemas of payload for all sessions.
var payloads sync.Map // of the fields, joined, to json.RawMessage

// payload returns a tool's output schema: the output, and fields given as "name type".
func payload(fields ...string) json.RawMessage {
	key := strings.Join(fields, ",")
	if schema, known := payloads.Load(key); known {
		return schema.(json.RawMessage)
	}
	text := map[string]any{"type": "string"}
	properties := map[string]any{"output": text, "model_output": text}
	for _, f := range fields {
		name, kind, _ := strings.Cut(f, " ")
		properties[name] = map[string]any{"type": kind}
	}
	b, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"output", "model_output"}})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	payloads.Store(key, json.RawMessage(b))
	return b
}

// Plural returns a number with a noun, such as "2 lines".
func Plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "ch"):
		noun += "e"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Aliases returns the names and arguments that the vendors' own agents use for these tools, so that a model can use the
// names it was trained on. The Params maps are shared and must not be modified.
func Aliases() []tool.Alias { return slices.Clone(vendorAliases()) }

//go:embed aliases.txt
var aliasesText string

var vendorAliases = sync.OnceValue(func() (list []tool.Alias) {
	for line := range strings.Lines(aliasesText) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		a := tool.Alias{Name: words[0], Tool: words[1]}
		for _, w := range words[2:] {
			if a.Params == nil {
				a.Params = make(map[string]string)
			}
			theirs, ours, _ := strings.Cut(w, "=")
			a.Params[theirs] = ours
		}
		list = append(list, a)
	}
	return list
})
