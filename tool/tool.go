// Package tool is how an agent acts: tools with strict inputs, and the one pipeline that every call
// of every tool goes through.
//
// A [Tool] describes itself ([Spec]), says what a call will touch (Access) and does it (Run). [New]
// makes one from a Go function, with the input schema taken from its argument type. A [Registry]
// holds the tools of an agent. A [Pipeline] runs calls: it finds the tool, validates the arguments,
// asks hooks, policy and, where needed, a person, executes, and shows the model a bounded result. A
// registry gives its tools to pipelines only, so that no registered tool runs in another way.
//
// Nothing runs before it is permitted. A tool that can say what a call would change implements [Previewer],
// which only reads. An approver that has no answer yet returns [ErrPending]: the call is then neither run nor
// refused, and can be run again when there is an answer.
//
// A tool that fails returns a Result with an [Error], for the model to read and recover from. A Go
// error or a panic from a tool becomes such a result too; nothing a tool does ends the program.
package tool

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
)

// Tool is something an agent can do.
type Tool interface {
	Spec() Spec
	// Access says what the call will touch, from its validated arguments. Nil means that this is
	// not known, and is asked about. A call that touches nothing returns an empty slice that is
	// not nil.
	Access(ctx context.Context, c *Call) []policy.Access
	// Run does it. It must return when ctx ends.
	Run(ctx context.Context, c *Call) (Result, error)
}

// Permission names an ability that a tool needs.
type Permission string

// The permissions.
const (
	FSRead     Permission = "fs.read"
	FSWrite    Permission = "fs.write"
	FSDelete   Permission = "fs.delete"
	ProcExec   Permission = "proc.exec"
	NetConnect Permission = "net.connect"
	GitWrite   Permission = "git.write"
)

// Spec describes a tool.
type Spec struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Output      json.RawMessage `json:"output_schema,omitempty"`
	Permissions []Permission    `json:"permissions,omitempty"`
	SideEffects string          `json:"side_effects,omitempty"` // in words; "" is none

	ReadOnly    bool `json:"read_only"`   // changes nothing; such calls may run side by side
	Destructive bool `json:"destructive"` // may destroy what was there
	Idempotent  bool `json:"idempotent"`  // doing it twice is doing it once
	OpenWorld   bool `json:"open_world"`  // reaches beyond the environment

	// Plan says that the tool keeps the model's plan: the arguments of its last call are the plan,
	// which compaction must not lose.
	Plan bool `json:"plan,omitempty"`

	// Freeform offers the tool, to models that take such tools, as one whose input is text instead
	// of JSON. The text arrives as the first required string of Input; see [Registry.Arguments].
	Freeform *llm.Freeform `json:"freeform,omitempty"`

	// Limit bounds what the model sees of the output; its zero fields are those of [DefaultLimit].
	Limit Limit `json:"limit,omitzero"`

	// Role marks tools that whoever runs the agent treats in a special way, such as answering their
	// calls itself. The pipeline does not look at it.
	Role string `json:"role,omitempty"`
}

// Call is one call of a tool.
type Call struct {
	ID   string
	Name string          // the name that was called, which may be an alias
	Args json.RawMessage // an object; validated before Access and Run see it
	Env  env.Environment // where the tool does its work
	// Output, if set, is called with output as it appears, for showing it live.
	Output func(p []byte)
	// Timeouts are for commands; their zero fields are the tool's own.
	Timeouts Timeouts
	// Vision says that the model can look at images.
	Vision bool
	// Accesses is what the call was judged by. The pipeline sets it before the call runs.
	Accesses []policy.Access
}

// clone returns a copy whose arguments can be changed without changing those of the call.
func (c Call) clone() Call {
	c.Args = slices.Clone(c.Args)
	c.Accesses = slices.Clone(c.Accesses)
	return c
}

// Timeouts say how long commands may run: those that ask for no time of their own, and the most
// that one can ask for.
type Timeouts struct {
	Default time.Duration `json:"default_ns,omitempty"`
	Max     time.Duration `json:"max_ns,omitempty"`
}

// Or fills the zero fields from another value. The default is never longer than the most.
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

// Access is a function that declares the accesses of a call with arguments of type In.
type Access[In any] func(ctx context.Context, c *Call, in In) []policy.Access

// Nothing is an Access for calls that touch nothing.
func Nothing[In any](context.Context, *Call, In) []policy.Access { return []policy.Access{} }

// Run is a function that does the work of a call with arguments of type In.
type Run[In any] func(ctx context.Context, c *Call, in In) (Result, error)

// New makes a tool from functions over a struct. The input schema is taken from the struct: its
// fields' json tags give the names, omitempty or omitzero makes a field optional, and the
// jsonschema tag is its description. A nil access means that calls do not declare what they touch.
// New panics if In has no schema, which is a mistake in the program.
func New[In any](spec Spec, access Access[In], run Run[In]) Tool {
	if spec.Input == nil {
		spec.Input = schemaFor[In](spec.Name)
	}
	return &typed[In]{spec: spec, access: access, run: run}
}

type typed[In any] struct {
	spec   Spec
	access Access[In]
	run    Run[In]
}

func (t *typed[In]) Spec() Spec { return t.spec }

func (t *typed[In]) Access(ctx context.Context, c *Call) []policy.Access {
	if t.access == nil {
		return nil
	}
	in, err := decode[In](c)
	if err != nil {
		return nil
	}
	return t.access(ctx, c, in)
}

func (t *typed[In]) Run(ctx context.Context, c *Call) (Result, error) {
	in, err := decode[In](c)
	if err != nil {
		return Failure(ValidationError, "%v", err), nil
	}
	return t.run(ctx, c, in)
}

// decode reads the arguments, which were validated. To a schema 5.0 is an integer, to Go it is not:
// written again from its value it is.
func decode[In any](c *Call) (in In, err error) {
	if err = json.Unmarshal(c.Args, &in); err == nil {
		return in, nil
	}
	v, verr := decodeStrict(c.Args)
	if verr != nil {
		return in, err
	}
	plain, verr := json.Marshal(v)
	if verr != nil {
		return in, err
	}
	in = *new(In)
	return in, json.Unmarshal(plain, &in)
}

// NewRaw makes a tool whose schema is known only at run time, such as one that another server
// offers. A nil access means that calls do not declare what they touch.
func NewRaw(spec Spec, access func(ctx context.Context, c *Call) []policy.Access, run func(ctx context.Context, c *Call) (Result, error)) Tool {
	return &raw{spec, access, run}
}

type raw struct {
	spec   Spec
	access func(ctx context.Context, c *Call) []policy.Access
	run    func(ctx context.Context, c *Call) (Result, error)
}

func (r *raw) Spec() Spec { return r.spec }

func (r *raw) Access(ctx context.Context, c *Call) []policy.Access {
	if r.access == nil {
		return nil
	}
	return r.access(ctx, c)
}

func (r *raw) Run(ctx context.Context, c *Call) (Result, error) { return r.run(ctx, c) }
