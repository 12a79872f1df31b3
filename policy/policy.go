// Package policy decides what a tool call may do.
//
// A [Policy] gets a [Query] and returns a [Decision]. The query lists what the call will access (paths to read or
// write, commands to run, hosts to connect to), so tools that do the same thing are treated the same. The decision
// names the rule that made it.
//
// A policy should depend on the query alone. Then the same query always gets the same decision, and the recorded call
// explains it. Tools declare absolute, clean paths with symbolic links resolved.
//
// Package rules has the policy of permission rules, modes and protected paths. This package is small, so that records of
// decisions can be read without its parsers. The zero [Decision] denies.
package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
)

// Kind classifies an access.
type Kind string

// Access kinds.
const (
	Read    Kind = "read"
	Write   Kind = "write"
	Delete  Kind = "delete"
	Exec    Kind = "exec"
	Connect Kind = "connect"
	// Input is text for a running program, which may do anything with it.
	Input Kind = "input"
	// Configure changes the user's configuration. No rule and no mode permits it, only an approval does.
	Configure Kind = "configure"
)

// Access is one thing that a call will touch. Target is a path for Read, Write and Delete, a command line for Exec, a
// host or host:port for Connect, the program and the text for Input, and a key and its value for Configure.
type Access struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`
	// Dir is the directory an Exec starts in.
	Dir string `json:"dir,omitempty"`
	// Running is the box of the program that an Exec is input for: a running program cannot be confined further.
	Running Box `json:"running,omitempty"`
	// Outside means that the access needs to leave the sandbox. Rules do not permit that, only an approval does.
	Outside bool `json:"outside,omitempty"`
	// Host means that the host program itself writes or deletes its own file, such as notes, or a file that the session
	// may write. The sandbox is not consulted; rules, modes and protected paths apply.
	Host bool `json:"host,omitempty"`
}

func (a Access) String() string {
	if a.Outside {
		return string(a.Kind) + " outside the sandbox " + a.Target
	}
	return string(a.Kind) + " " + a.Target
}

// LeavesSandbox reports whether any access needs to leave the sandbox.
func LeavesSandbox(accesses []Access) bool {
	return slices.ContainsFunc(accesses, func(a Access) bool { return a.Outside })
}

// UnmarshalJSON reads an access. It also accepts the format of String, which older records have.
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

// Workspace is where an agent works, and what a policy may find out about it. All paths are absolute and real.
type Workspace struct {
	Dir   string    `json:"dir"`
	Paths env.Paths `json:"-"` // the environment's path rules
	// Roots are further directories that count as inside.
	Roots []string `json:"roots,omitempty"`
	// Protected are further files and directories that must not be written.
	Protected []string `json:"protected,omitempty"`
	Home      string   `json:"home,omitempty"`  // the user's home directory; "" if unknown
	Shell     string   `json:"shell,omitempty"` // program that runs command lines; "" means bash
	// Files resolves the names in commands. If it is nil, commands with symbolic links are judged by the names alone.
	Files Files `json:"-"`
	// Git returns why git must not run in a directory without asking: its configuration names programs. nil trusts
	// every repository. It is called during decisions, perhaps concurrently.
	Git func(ctx context.Context, dir string) (why string) `json:"-"`
	// Sandboxed means that the system confines commands to the workspace.
	Sandboxed bool `json:"sandboxed,omitempty"`
	// ReadsOnly means that the system enforces BoxRead. Unenforced means that commands should be confined, but the
	// system cannot enforce BoxRead. Commands that only read then need approval.
	ReadsOnly  bool `json:"reads_only,omitempty"`
	Unenforced bool `json:"unenforced,omitempty"`
	// Masked are files and directories with credentials. Reading them needs approval, or a rule that names them. nil
	// means those in Home.
	Masked []string `json:"-"`
	// Created reports whether this session created a file. nil means that it created none.
	Created func(path string) bool `json:"-"`
}

// Files resolves names. Every env.Environment implements it.
type Files interface {
	RealPath(ctx context.Context, path string) (string, error)
	ReadDir(ctx context.Context, path string) ([]env.FileInfo, error)
}

// Query describes a call to decide on.
type Query struct {
	Tool        string          `json:"tool"` // registered tool name, never an alias
	Args        json.RawMessage `json:"args,omitempty"`
	Permissions []string        `json:"permissions,omitempty"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	OpenWorld   bool            `json:"open_world,omitempty"`
	// Accesses is what the call will touch. nil means unknown; empty but not nil means nothing.
	Accesses  []Access  `json:"accesses"`
	Agent     string    `json:"agent,omitempty"` // agent path; "" means the root
	Mode      Mode      `json:"mode,omitempty"`
	Workspace Workspace `json:"workspace"`
}

// Verdict is a decision's outcome. The zero value denies.
type Verdict int

// Verdicts, strictest first.
const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// MarshalText encodes the verdict as a word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText decodes a verdict. An unknown word is an error and sets Deny.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, known := range []Verdict{Allow, Ask, Deny} {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}
	*v = Deny
	return fmt.Errorf("unknown verdict %q: use allow, ask or deny", text)
}

// Never is the code for decisions on calls that are denied in every mode, whoever approves them: destroying the system
// or the home directory, overwriting disks, fork bombs, and reading private keys. Only an allow rule that names the
// very path or command lifts the denial.
const Never = "never"

// Decision is a verdict and its reason. The zero value denies.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Code    string  `json:"code,omitempty"`   // reason code, for programs
	Rule    string  `json:"rule"`             // the rule that decided; never empty
	Reason  string  `json:"reason,omitempty"` // for users and the model
	// Box, with Allow, is where the call's commands run. The zero value means BoxWorkspace.
	Box Box `json:"box,omitempty"`
	// Repository, with BoxRead, means that a command is git or a program that is not known in detail. It can read the
	// whole repository around the workspace.
	Repository bool `json:"repository,omitempty"`
	// Reveal lists files outside the workspace, or with credentials, that the call's commands read by name. Once the
	// call is allowed, they can be read in its box.
	Reveal []string `json:"reveal,omitempty"`
	// Args, with Allow, replaces the call's arguments with this JSON. It is validated and judged again.
	Args string `json:"args,omitempty"`
}

// Policy decides on calls.
//
// Every call in a session and its subagents passes through its policy, so a policy is called concurrently. A call is
// judged before it runs, and again after a change to its arguments or after an approval. A policy must not assume that
// the call runs: hooks and approvers can still refuse it.
//
// Deny refuses the call and shows Reason to the model. Ask leaves the decision to an approver; without one, the call is
// refused. Allow runs the call in Decision.Box. If Decide panics, the call is denied.
//
// A policy that is a [Standard], or has its methods Allowing and Suggest, can be extended with rules: see [Extensible].
// A policy that never asks should report that with a method Asks(Mode) bool: see [Asks].
type Policy interface {
	// Decide judges a call by all its accesses together. It should depend on q alone and must not change it. It may be
	// called concurrently.
	Decide(ctx context.Context, q Query) Decision
}

// Func adapts a function to a Policy.
type Func func(ctx context.Context, q Query) Decision

// Decide calls the function.
func (f Func) Decide(ctx context.Context, q Query) Decision { return f(ctx, q) }

// Asks reports whether a policy may decide in a mode that calls need approval. A policy with a method Asks(Mode) bool
// reports that itself; other policies by hosts are assumed to ask.
func Asks(p Policy, m Mode) bool {
	switch p := p.(type) {
	case nil:
		return m != ModeDontAsk
	case interface{ Asks(Mode) bool }:
		return p.Asks(m)
	}
	return true
}

// unasking is a policy that only allows and denies.
type unasking struct{ Func }

// Asks returns false.
func (unasking) Asks(Mode) bool { return false }

// Extensible is a policy with rules, which an approval can extend. Rules are texts in the syntax of the policy.
type Extensible interface {
	Policy
	// Allowing returns the policy with more rules that allow calls. It must not change the policy itself. It ignores
	// invalid rules.
	Allowing(rules ...string) Policy
	// Suggest returns rules that would allow a call and similar calls, narrowest first.
	Suggest(ctx context.Context, q Query) []Suggestion
}

// Suggestion is what an approval can cover besides one call. It grants exactly its rules.
type Suggestion struct {
	Rules []string
	Text  string // for users, such as: commands that begin with "go test"
}

// Hiding is a policy that denies reading some files, whatever reads them.
type Hiding interface {
	Policy
	// DeniesRead returns a function that reports whether reading an absolute path is denied, or nil if nothing is denied.
	DeniesRead(w Workspace) func(path string) bool
}

// DeniesRead returns what a policy hides. It returns nil if the policy is not [Hiding].
func DeniesRead(p Policy, w Workspace) func(path string) bool {
	if h, ok := p.(Hiding); ok {
		return h.DeniesRead(w)
	}
	return nil
}

// AskAll asks about every call but those that declare that they touch nothing. In ModeDontAsk it denies them. It is the
// policy of sessions and pipelines without one.
type AskAll struct{}

// Decide implements Policy.
func (AskAll) Decide(_ context.Context, q Query) Decision {
	switch {
	case q.Accesses != nil && len(q.Accesses) == 0:
		return Decision{Verdict: Allow, Code: "touches_nothing", Rule: "ask-all", Reason: "touches nothing"}
	case q.Mode == ModeDontAsk:
		return Decision{
			Code:   "ask_all",
			Rule:   "ask-all",
			Reason: "there is no policy that allows it (mode dontAsk denies what would need approval)",
		}
	}
	return Decision{Verdict: Ask, Code: "ask_all", Rule: "ask-all", Reason: "there is no policy that allows it"}
}

// Asks reports whether questions are possible in a mode.
func (AskAll) Asks(m Mode) bool { return m != ModeDontAsk }

// AllowAll allows every call. Use it if whoever makes the call has already approved it.
type AllowAll struct{}

// Decide implements Policy.
func (AllowAll) Decide(context.Context, Query) Decision {
	return Decision{Verdict: Allow, Code: "allow_all", Rule: "allow-all", Reason: "everything is allowed"}
}

// Asks returns false.
func (AllowAll) Asks(Mode) bool { return false }

// Grant is an approval that holds for more than one call of a tool.
type Grant struct {
	Tool     string
	Accesses []Access // nil covers calls that do not declare accesses
	Rules    []string // cover more calls, for any tool
	Rule     string
}

// Grants are the approvals given so far.
type Grants []Grant

// Find returns the rule of the grant that covers a call: a grant for the same tool with all the call's accesses, or a
// grant whose rules allow it together with the policy, unless it leaves the sandbox. A call that does not declare its
// accesses is covered only by a grant for such calls. In plan mode grants cover nothing.
func (g Grants) Find(ctx context.Context, p Policy, q Query) (rule string, ok bool) {
	if q.Mode == ModePlan {
		return "", false
	}
	var rules []string
	for _, grant := range g {
		if grant.Tool == q.Tool && (grant.Accesses == nil) == (q.Accesses == nil) && covers(grant.Accesses, q.Accesses) {
			return grant.Rule, true
		}
		rules = append(rules, grant.Rules...)
	}
	if e, extensible := p.(Extensible); extensible && len(rules) > 0 && !LeavesSandbox(q.Accesses) {
		if d := e.Allowing(rules...).Decide(ctx, q); d.Verdict == Allow {
			return d.Rule, true
		}
	}
	return "", false
}

func covers(granted, asked []Access) bool {
	return !slices.ContainsFunc(asked, func(a Access) bool { return !slices.Contains(granted, a) })
}
