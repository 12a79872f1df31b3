// Package native provides the tools of the vendors' own agents: codex (OpenAI), Claude Code (Anthropic) and gemini-cli
// (Google). Models work best with the tools they were trained on, so names, parameters, output formats and limits match
// the vendor's agent.
//
// Like the standard tools, they use package tools: their calls go through the same pipeline and declare the same
// accesses. They have no effects that a library should not have unasked: they do not save results to files, open a
// browser, or identify as the vendor's program.
package native

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// Toolset holds a vendor agent's tools and aliases for their older names.
type Toolset struct {
	Tools   []tool.Tool
	Aliases []tool.Alias
}

// named returns the spec for a vendor's tool, with an operation's permissions and effects.
func named(base tool.Spec, name, description string, limit tool.Limit) tool.Spec {
	base.Name = name
	base.Description = description
	base.Limit = limit
	base.Input = nil
	return base
}

// present returns a tool that runs an operation and formats its result with show. form, if not nil, formats error
// messages.
func present[In, Arg, Out any](spec tool.Spec, op tools.Op[Arg, Out], args func(In) Arg, form func(message string) string,
	show func(context.Context, *tool.Call, In, Out) tool.Result) tool.Tool {
	return tools.Over(spec, op, args, func(ctx context.Context, c *tool.Call, in In) (tool.Result, error) {
		out, err := op.Do(ctx, c, args(in))
		if err != nil {
			return tool.Result{}, formatted(err, form)
		}
		return show(ctx, c, in, out), nil
	})
}

// formatted returns an error with its message in the vendor's form.
func formatted(err error, form func(message string) string) error {
	var known *tool.Error
	if !errors.As(err, &known) || form == nil {
		return err
	}
	e := *known
	e.Message = form(known.Message)
	return &e
}
