// Package policy decides what a tool call may do. A policy is asked with a [Query], which holds all
// that a decision may depend on: above all what the call will access (this path read, that one
// written, this command run, that host reached), so that two tools that do the same are treated the
// same. It answers with a [Decision], which names the rule that decided.
//
// A policy should decide by the query alone, so that the same query gives the same decision and the record
// of a call explains it later. Whoever declares the accesses normalises them first: a path is absolute,
// clean and real, with its symbolic links resolved. [Default] asks about calls that do not declare what
// they access; the zero [Decision] denies.
package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/env"
)

// Kind is what an access does.
type Kind string

// The kinds of accesses.
const (
	Read    Kind = "read"
	Write   Kind = "write"
	Delete  Kind = "delete"
	Exec    Kind = "exec"
	Connect Kind = "connect"
)

// Access is one thing that a call will touch. Target is a path for Read, Write and Delete, a
// command line for Exec, and a host, or host and port, for Connect.
type Access struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`
	// Dir is the directory that an Exec starts in.
	Dir string `json:"dir,omitempty"`
}

func (a Access) String() string { return string(a.Kind) + " " + a.Target }

// UnmarshalJSON reads an access, also in the form of String, which older records have.
func (a *Access) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		kind, target, _ := strings.Cut(text, " ")
		*a = Access{Kind: Kind(kind), Target: target}
		return nil
	}
	type plain Access
	return json.Unmarshal(b, (*plain)(a))
}

// Mode is how much a session lets an agent do. The empty mode is the default.
type Mode string

// Workspace is where an agent works.
type Workspace struct {
	Dir   string    `json:"dir"` // absolute and real
	Paths env.Paths `json:"-"`   // the rules of its paths
}

// Query is a call to decide on.
type Query struct {
	Tool        string          `json:"tool"` // the tool's own name, never an alias
	Args        json.RawMessage `json:"args,omitempty"`
	Permissions []string        `json:"permissions,omitempty"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	OpenWorld   bool            `json:"open_world,omitempty"`
	// Accesses is what the call will touch. Nil means that the tool does not say; empty but not
	// nil means that the call touches nothing.
	Accesses  []Access  `json:"accesses"`
	Agent     string    `json:"agent,omitempty"` // path of the agent in its tree; "" is the root
	Mode      Mode      `json:"mode,omitempty"`
	Workspace Workspace `json:"workspace"`
}

// Decision is a verdict and where it comes from.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Code    string  `json:"code,omitempty"`   // the kind of reason, for programs
	Rule    string  `json:"rule"`             // what decided; never empty
	Reason  string  `json:"reason,omitempty"` // for people and for the model
}

// Policy decides on calls.
type Policy interface {
	// Decide judges a call by all its accesses together.
	Decide(ctx context.Context, q Query) Decision
}

// Func is a function that is a Policy.
type Func func(ctx context.Context, q Query) Decision

// Decide calls the function.
func (f Func) Decide(ctx context.Context, q Query) Decision { return f(ctx, q) }

// Default is the default policy: a call may read inside the workspace or touch nothing; everything
// else asks.
type Default struct{}

// Decide allows a call that touches nothing or only reads inside the workspace.
func (Default) Decide(_ context.Context, q Query) Decision {
	d := Decision{Verdict: Ask, Rule: "default"}
	if q.Accesses == nil {
		d.Code, d.Reason = "undeclared", "the tool does not declare what it touches"
		return d
	}
	for _, a := range q.Accesses {
		if a.Kind != Read || !q.Workspace.Paths.Within(q.Workspace.Dir, a.Target) {
			d.Code, d.Reason = describe(a)
			return d
		}
	}
	d.Verdict, d.Code, d.Reason = Allow, "reads_inside", "only reads inside the working directory"
	if len(q.Accesses) == 0 {
		d.Code, d.Reason = "touches_nothing", "touches nothing"
	}
	return d
}

// describe says what an access does that needs an approval.
func describe(a Access) (code, reason string) {
	switch a.Kind {
	case Read:
		return "reads_outside", fmt.Sprintf("reads %s, outside the working directory", a.Target)
	case Write:
		return "writes", "writes " + a.Target
	case Delete:
		return "deletes", "deletes " + a.Target
	case Exec:
		return "runs", "runs: " + a.Target
	case Connect:
		return "connects", "connects to " + a.Target
	}
	return "unknown_access", a.String()
}

// AllowAll allows everything. It is for callers who approve a call by making it.
type AllowAll struct{}

// Decide allows the call.
func (AllowAll) Decide(context.Context, Query) Decision {
	return Decision{Verdict: Allow, Code: "allow_all", Rule: "allow-all", Reason: "everything is allowed"}
}

// Strictest combines policies: the strictest of their decisions counts, the first one of equals.
func Strictest(policies ...Policy) Policy { return strictest(policies) }

type strictest []Policy

func (s strictest) Decide(ctx context.Context, q Query) Decision {
	strict := Decision{Verdict: Deny, Code: "no_policy", Rule: "strictest", Reason: "there is no policy"}
	for i, p := range s {
		if d := p.Decide(ctx, q); i == 0 || d.Verdict < strict.Verdict {
			strict = d
		}
	}
	return strict
}
