// Package policy decides what a tool call may do. It judges what the call will access (this path
// read, that one written, this command run, that host reached), never the tool's name, so that two
// tools that do the same are treated the same.
//
// Decisions are pure: the same accesses under the same policy give the same decision. Whoever
// declares the accesses normalises them first; a path is absolute, clean and real, with its
// symbolic links resolved. What is not declared is asked about.
package policy

import (
	"fmt"
	"path/filepath"
	"strings"
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

// Verdict is the outcome of a decision. The zero value denies.
type Verdict int

// The verdicts, strictest first.
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

// MarshalText writes the verdict as a word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Decision is a verdict with its reason, which is for people and for the model to read.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Policy decides on calls.
type Policy interface {
	// Decide judges a call by all its accesses together. No accesses at all means that the call
	// does not say what it will touch.
	Decide(accesses []Access) Decision
}

// Workspace is the default policy: reading inside Dir is allowed, everything else asks.
type Workspace struct {
	Dir string // absolute and real
}

// Decide allows a call that only reads inside the directory.
func (w Workspace) Decide(accesses []Access) Decision {
	if len(accesses) == 0 {
		return Decision{Ask, "the tool does not say what it will touch"}
	}
	for _, a := range accesses {
		switch {
		case a.Kind != Read:
			return Decision{Ask, fmt.Sprintf("it will %s", a)}
		case !Within(w.Dir, a.Target):
			return Decision{Ask, fmt.Sprintf("it will read %s, which is outside the working directory", a.Target)}
		}
	}
	return Decision{Allow, "it only reads inside the working directory"}
}

// AllowAll allows everything. It is for callers who approve a call by making it.
type AllowAll struct{}

// Decide allows the call.
func (AllowAll) Decide([]Access) Decision { return Decision{Allow, "everything is allowed"} }

// Strictest is the strictest of the decisions of several policies, the first one of equals.
func Strictest(policies ...Policy) Policy { return strictest(policies) }

type strictest []Policy

func (s strictest) Decide(accesses []Access) Decision {
	strict := Decision{Deny, "there is no policy"}
	for i, p := range s {
		if d := p.Decide(accesses); i == 0 || d.Verdict < strict.Verdict {
			strict = d
		}
	}
	return strict
}

// Within reports whether path is dir or lies below it. Both are absolute and clean.
func Within(dir, path string) bool {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
