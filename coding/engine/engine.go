// Package engine describes the work behind the coding tools apart from its wording: typed arguments
// in, typed results out.
//
// Package coding does the work. Its standard tools and the vendors' tools of package native are two
// presentations of the same operations, so that neither reads the other's text. What a call touches
// is declared in one place, whatever the tool is called.
package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reins-agent/reins/env/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Op is one operation. Do returns a [*tool.Error] for a failure that the model can recover from.
type Op[In, Out any] struct {
	Spec   tool.Spec // of the standard tool: its permissions and effects
	Access tool.Access[In]
	Do     func(ctx context.Context, c *tool.Call, in In) (Out, error)
	// Preview tells what Do would change. It is nil if Do changes no files.
	Preview func(ctx context.Context, c *tool.Call, in In) (tool.Preview, error)
}

// For makes the operation behind a standard tool, whose arguments are an In. Calls of it declare what
// calls of the tool declare.
func For[In, Out any](t tool.Tool, do func(context.Context, *tool.Call, In) (Out, error)) Op[In, Out] {
	return Op[In, Out]{Spec: t.Spec(), Do: do, Access: func(ctx context.Context, c *tool.Call, in In) []policy.Access {
		return Declared(ctx, t, c, in)
	}}
}

// Previewed adds a preview to an operation.
func (o Op[In, Out]) Previewed(preview func(context.Context, *tool.Call, In) (tool.Preview, error)) Op[In, Out] {
	o.Preview = preview
	return o
}

// Declared returns what a call of a tool with these arguments declares. Arguments that have no JSON
// form declare nothing, which is asked about.
func Declared(ctx context.Context, t tool.Tool, c *tool.Call, args any) []policy.Access {
	b, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	call := *c
	call.Name, call.Args = t.Spec().Name, b
	return t.Access(ctx, &call)
}

// Set is the operations that the tools of one session share.
type Set struct {
	Read  Op[Read, Page]
	Write Op[Write, Written]
	Edit  Op[Edit, Edited]
	Patch Op[Patch, Patched]
	List  Op[List, Listing]
	Image Op[Image, Page]
	Grep  Op[search.GrepQuery, Found]
	Glob  Op[search.GlobQuery, search.GlobResult]

	Run    Op[Command, Ran]     // a command to its end
	Start  Op[Command, Started] // a command in the background
	Output Op[Output, News]
	Input  Op[Input, News]
	Stop   Op[Stop, News]

	// Timeouts are for commands that ask for no time of their own, and the longest that one can
	// ask for.
	Timeouts tool.Timeouts
	// Background are the standard tools for background processes.
	Background []tool.Tool
}

// ID is the id of a background process. Agents differ in whether such ids are strings or numbers, so
// both are taken.
type ID string

// UnmarshalJSON reads a string or a number.
func (p *ID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(p))
	}
	*p = ID(b)
	return nil
}

// Millis converts milliseconds to a duration of at most a maximum.
func Millis(n int64, most time.Duration) time.Duration {
	if n > most.Milliseconds() {
		return most
	}
	return time.Duration(n) * time.Millisecond
}
