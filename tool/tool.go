// Package tool defines tools for agents, and the pipeline that runs every tool call.
//
// A [Tool] describes itself ([Spec]), declares what a call will touch (Access) and does it (Run). [New] makes a tool
// from a Go function and infers the input schema from its argument type. A [Registry] holds an agent's tools. A
// [Pipeline] runs calls: it looks up the tool, validates the arguments, consults hooks, the policy and, if needed, an
// approver, executes the call, and bounds what the model sees. Registered tools run only through a pipeline.
//
// Nothing runs before it is permitted. A tool that can predict its changes implements [Previewer], which only reads. An
// approver that has no answer yet returns [ErrPending]: the call is then neither run nor refused, and can be run again
// later.
//
// A failed tool returns a Result with an [Error] that the model can read and recover from. A Go error or a panic in a
// tool becomes such a result too.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// Tool is an operation that a model can call.
//
// A [Pipeline] calls the methods. For each call:
//
//   - c.Args is a JSON object that is valid against the input schema in Spec. Unknown tools and invalid arguments never
//     reach the tool.
//   - Access is called before the policy decides, and again when an approval has been given. Run is called only if the
//     policy or an approver permits the accesses; it is not repeated unless [Middleware] does that.
//   - Methods may be called concurrently for different calls: calls to tools with Spec.ReadOnly run in parallel, and
//     agents run side by side.
//   - All work goes through c.Env. If the accesses were declared, c.Env refuses everything else.
//   - An error from Run becomes an error result: an [*Error] as it is, any other error or a panic as [InternalError]. To tell
//     the model how to recover, return a Result from [Failure].
//   - The whole output is recorded. The model sees it within Spec.Limit, with secrets redacted.
type Tool interface {
	Spec() Spec
	// Access returns what the call will touch, given its validated arguments. It must not change anything. Paths are
	// absolute, with their symbolic links resolved. nil means unknown, which needs approval. For a call that touches
	// nothing, return an empty, non-nil slice.
	Access(ctx context.Context, c *Call) []policy.Access
	// Run does the work. It must return soon after ctx is done.
	Run(ctx context.Context, c *Call) (Result, error)
}

// Permission names a capability that a tool needs.
type Permission string

// Permissions.
const (
	FSRead     Permission = "fs.read"
	FSWrite    Permission = "fs.write"
	FSDelete   Permission = "fs.delete"
	ProcExec   Permission = "proc.exec"
	NetConnect Permission = "net.connect"
	GitWrite   Permission = "git.write"
)

// Spec describes a tool. A tool's Spec must not change while the tool is registered.
type Spec struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Permissions []Permission    `json:"permissions,omitempty"`
	SideEffects string          `json:"side_effects,omitempty"` // in words; "" means none

	ReadOnly    bool `json:"read_only"`   // changes nothing; such calls may run in parallel
	Destructive bool `json:"destructive"` // may destroy existing data
	Idempotent  bool `json:"idempotent"`  // repeating a call has no further effect
	OpenWorld   bool `json:"open_world"`  // reaches beyond the environment

	// Plan marks the tool that records the model's plan: the arguments of its last call are the plan, which compaction
	// must preserve.
	Plan bool `json:"plan,omitempty"`

	// Freeform offers the tool with plain text input instead of JSON, to models that support that. The text arrives as
	// the first required string in Input; see [Registry.Arguments].
	Freeform *llm.Freeform `json:"freeform,omitempty"`

	// Hosted offers a tool that the provider runs itself, as its dialect describes it. Calls do not reach the pipeline.
	Hosted llm.State `json:"hosted,omitzero"`

	// Deferred leaves the tool out of requests; see [Defer].
	Deferred bool `json:"deferred,omitempty"`
	// Unlisted leaves a deferred tool out of tool_search too; see [Unlist].
	Unlisted bool `json:"unlisted,omitempty"`

	// Limit bounds the output that the model sees. Zero fields default to [DefaultLimit].
	Limit Limit `json:"limit,omitzero"`

	// Adapt converts the arguments of a call that was made for an incompatible tool version. Without it, such a call is
	// refused. See [Call.Version].
	Adapt func(version string, args json.RawMessage) (json.RawMessage, error) `json:"-"`

	// Role marks tools that the host treats specially, for example by answering their calls itself. The pipeline
	// ignores it.
	Role string `json:"role,omitempty"`

	typed bool // the input has a Go type, and Input describes an object: it is compiled when it is first used
}

// Call is one tool call.
type Call struct {
	ID   string
	Name string          // as called, possibly an alias
	Args json.RawMessage // an object, validated before Access and Run see it
	// Version is the tool version that the call was made for; "" means the current version. A call for the same major
	// version runs, unless its minor version is newer than the tool's.
	Version string
	// Env is where the tool works. If the call declared its accesses, Env refuses all others. A read covers the files
	// below a directory; a change covers only the file itself.
	Env env.Environment
	// Output, if set, is called with output as it appears. It may be called concurrently, and must not block for long.
	Output func(p []byte)
	// Timeouts apply to commands. Zero fields default to the tool's own.
	Timeouts Timeouts
	// Steered, if set, is closed when a message for the agent arrives. A tool that only waits returns then.
	Steered <-chan struct{}
	// Vision reports whether the model accepts images.
	Vision bool
	// Mode is the permission mode in which the call is judged. The pipeline sets it.
	Mode policy.Mode
	// Agent is the calling agent's path; "" means the root. The pipeline sets it.
	Agent string
	// Accesses lists the accesses that the policy judged. The pipeline sets it before the call runs.
	Accesses []policy.Access
}

// clone returns a copy whose arguments can be changed without affecting the call.
func (c Call) clone() Call {
	c.Args = slices.Clone(c.Args)
	c.Accesses = slices.Clone(c.Accesses)
	return c
}

// Timeouts bound how long commands run: the default, and the maximum that a call can request.
type Timeouts struct {
	Default time.Duration `json:"default_ns,omitempty"`
	Max     time.Duration `json:"max_ns,omitempty"`
}

// Or fills zero fields from u and caps the default at the maximum.
func (t Timeouts) Or(u Timeouts) Timeouts {
	if t.Default <= 0 {
		t.Default = u.Default
	}
	if t.Max <= 0 {
		t.Max = u.Max
	}
	t.Default = min(t.Default, t.Max)
	return t
}

// Access declares the accesses for a call with arguments of type In.
type Access[In any] func(ctx context.Context, c *Call, in In) []policy.Access

// Nothing is an Access for calls that touch nothing.
func Nothing[In any](context.Context, *Call, In) []policy.Access { return []policy.Access{} }

// Run does the work for a call with arguments of type In.
type Run[In any] func(ctx context.Context, c *Call, in In) (Result, error)

// New makes a tool from functions over a struct. Unless spec.Input is set, the input schema is inferred from the
// struct: json tags name the fields, omitempty or omitzero makes a field optional, and the jsonschema tag is its
// description. A nil access leaves the accesses undeclared, so every call needs approval. access and run may be called
// concurrently. New panics if In has no schema.
func New[In any](spec Spec, access Access[In], run Run[In]) Tool {
	t := typedTool(spec, reflect.TypeFor[In]())
	t.run = func(ctx context.Context, c *Call) (Result, error) {
		var in In
		if err := decode(c, &in); err != nil {
			return invalid(err)
		}
		return run(ctx, c, in)
	}
	if access != nil {
		t.access = func(ctx context.Context, c *Call) []policy.Access {
			var in In
			if decode(c, &in) != nil {
				return nil
			}
			return access(ctx, c, in)
		}
	}
	return t
}

// typedTool returns a tool without functions. New is compiled for every type of arguments, so it does only what needs the
// type, and leaves the rest to functions like this one.
func typedTool(spec Spec, in reflect.Type) *funcTool {
	if spec.Input == nil {
		spec.Input = schemaFor(spec.Name, in)
	}
	spec.typed = bytes.HasPrefix(spec.Input, []byte(`{"type":"object"`))
	return &funcTool{spec: spec}
}

// invalid returns the result of a call whose arguments do not fit the tool's struct.
func invalid(err error) (Result, error) { return Failure(ValidationError, "%v", err), nil }

// decode reads validated arguments into the struct that in points to. A schema accepts 5.0 as an integer but encoding/json
// does not, so such arguments are encoded again from their values.
func decode(c *Call, in any) error {
	err := json.Unmarshal(c.Args, in)
	if err == nil {
		return nil
	}
	v, verr := decodeStrict(c.Args)
	if verr != nil {
		return err
	}
	plain, verr := json.Marshal(v)
	if verr != nil {
		return err
	}
	reflect.ValueOf(in).Elem().SetZero()
	return json.Unmarshal(plain, in)
}

// NewRaw makes a tool whose schema is known only at run time, such as another server's tool. A nil access leaves the
// accesses undeclared.
func NewRaw(
	spec Spec,
	access func(ctx context.Context, c *Call) []policy.Access,
	run func(ctx context.Context, c *Call) (Result, error),
) Tool {
	return &funcTool{spec, access, run}
}

type funcTool struct {
	spec   Spec
	access func(ctx context.Context, c *Call) []policy.Access
	run    func(ctx context.Context, c *Call) (Result, error)
}

func (t *funcTool) Spec() Spec { return t.spec }

func (t *funcTool) Access(ctx context.Context, c *Call) []policy.Access {
	if t.access == nil {
		return nil
	}
	return t.access(ctx, c)
}

func (t *funcTool) Run(ctx context.Context, c *Call) (Result, error) { return t.run(ctx, c) }
