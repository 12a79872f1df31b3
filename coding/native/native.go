// Package native offers the tools of the vendors' own agents: codex (OpenAI), Claude Code (Anthropic)
// and gemini-cli (Google). Models work best with the tools they were trained on, so names, parameters,
// forms of output and limits are those of the vendor's agent.
//
// The work is that of package engine, the same as behind the standard tools: calls go through the same
// pipeline and declare the same accesses. Where a vendor's agent does what a library should not do on
// its own (keep results in files, open a browser, pretend to be the vendor's program), that is left out.
package native

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Toolset is the tools of one vendor's agent, and older names of theirs.
type Toolset struct {
	Tools   []tool.Tool
	Aliases []tool.Alias
}

// named returns the description of a vendor's tool. Permissions and effects are those of the operation
// behind it.
func named(base tool.Spec, name, description string, limit tool.Limit) tool.Spec {
	base.Name, base.Description, base.Limit = name, description, limit
	base.Input, base.Freeform = nil, nil
	return base
}

// over makes a tool over an operation: its calls declare and preview what calls of the operation with the
// converted arguments do.
func over[In, Arg, Out any](spec tool.Spec, op engine.Op[Arg, Out], args func(In) Arg, run tool.Run[In]) tool.Tool {
	t := tool.New(spec, func(ctx context.Context, c *tool.Call, in In) []policy.Access {
		return op.Access(ctx, c, args(in))
	}, run)
	if op.Preview == nil {
		return t
	}
	return tool.WithPreview(t, func(ctx context.Context, c *tool.Call, in In) (tool.Preview, error) {
		return op.Preview(ctx, c, args(in))
	})
}

// present makes a tool that does nothing but show what an operation gave. form words failures.
func present[In, Arg, Out any](spec tool.Spec, op engine.Op[Arg, Out], args func(In) Arg, form func(message string) string,
	show func(context.Context, *tool.Call, In, Out) tool.Result) tool.Tool {
	return over(spec, op, args, func(ctx context.Context, c *tool.Call, in In) (tool.Result, error) {
		out, err := op.Do(ctx, c, args(in))
		if err != nil {
			return failed(err, form)
		}
		return show(ctx, c, in, out), nil
	})
}

// withEnums gives parameters of a tool, named by their path, lists of values.
func withEnums[In any](spec tool.Spec, enums map[string][]any) tool.Spec {
	spec.Input = addEnums(tool.New[In](spec, nil, nil).Spec().Input, enums)
	return spec
}

func addEnums(schema json.RawMessage, enums map[string][]any) json.RawMessage {
	var root jsonschema.Schema
	if err := json.Unmarshal(schema, &root); err != nil {
		panic(fmt.Sprintf("native: a schema that was just made cannot be read: %v", err))
	}
	for path, values := range enums {
		s := &root
		for _, name := range strings.Split(path, ".") {
			if s.Items != nil {
				s = s.Items
			}
			s = s.Properties[name]
		}
		s.Enum = values
	}
	b, err := json.Marshal(&root)
	if err != nil {
		panic(fmt.Sprintf("native: a schema has no JSON form: %v", err))
	}
	return b
}

// failed returns the result of a call that failed, with its message in the vendor's form.
func failed(err error, form func(message string) string) (tool.Result, error) {
	var known *tool.Error
	if errors.As(err, &known) && form != nil {
		worded := *known
		worded.Message = form(known.Message)
		err = &worded
	}
	return engine.Failed(err)
}

// excerpt is the beginning and the end of an output.
type excerpt struct {
	head, tail   string
	chars, lines int // that are missing between them
}

// cut reads an output and keeps its first and last characters. It holds no more than those in memory.
func cut(o tool.Output, head, tail int) (x excerpt, err error) {
	if o == nil {
		return x, nil
	}
	r := o.Open()
	defer r.Close()
	in := bufio.NewReaderSize(r, 64<<10)
	var start strings.Builder
	end := make([]rune, 0, min(tail, 4096))
	next, last := 0, '\n' // where the oldest character of the end is, and the last one that is missing
	for n := 0; ; n++ {
		c, _, err := in.ReadRune()
		if err == io.EOF {
			break
		}
		if err != nil {
			return x, err
		}
		switch {
		case n < head:
			start.WriteRune(c)
			continue
		case len(end) < tail:
			end = append(end, c)
			continue
		case tail > 0:
			c, end[next] = end[next], c
			next = (next + 1) % tail
		}
		if x.chars++; c == '\n' {
			x.lines++
		}
		last = c
	}
	if last != '\n' {
		x.lines++
	}
	x.head, x.tail = start.String(), string(end[next:])+string(end[:next])
	return x, nil
}

// plural is a number of things in words.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// orHere returns a path, or the working directory where none is given.
func orHere(p string) string {
	if p == "" {
		return "."
	}
	return p
}
