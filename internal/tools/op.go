package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Op is one operation, independent of the tool that uses it. Do returns a [*tool.Error] for a failure that
// the model can recover from.
type Op[In, Out any] struct {
	Spec   tool.Spec // of the standard tool
	Access tool.Access[In]
	Do     func(ctx context.Context, c *tool.Call, in In) (Out, error)
	// Preview returns what Do would change. It is nil if Do changes no files.
	Preview func(ctx context.Context, c *tool.Call, in In) (tool.Preview, error)
}

// Over returns a tool for an operation. The operation declares the accesses of its calls and previews them. args
// converts the arguments of the tool to those of the operation.
func Over[In, Arg, Out any](spec tool.Spec, op Op[Arg, Out], args func(In) Arg, run tool.Run[In]) tool.Tool {
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

// standard returns the standard tool of an operation.
func standard[In, Out any](op Op[In, Out], show func(In, Out) tool.Result) tool.Tool {
	return Over(op.Spec, op, same[In], presented(op.Do, show))
}

func same[In any](in In) In { return in }

// presented returns a function that runs an operation and formats its result.
func presented[In, Out any](do func(context.Context, *tool.Call, In) (Out, error), show func(In, Out) tool.Result) tool.Run[In] {
	return func(ctx context.Context, c *tool.Call, in In) (tool.Result, error) {
		out, err := do(ctx, c, in)
		if err != nil {
			return tool.Result{}, err
		}
		return show(in, out), nil
	}
}

// WithEnums restricts parameters of a tool, given by their path, to lists of values.
func WithEnums[In any](spec tool.Spec, enums map[string][]any) tool.Spec {
	var root jsonschema.Schema
	if err := json.Unmarshal(tool.New[In](spec, nil, nil).Spec().Input, &root); err != nil {
		panic(fmt.Sprintf("tools: cannot read the input schema of %s: %v", spec.Name, err))
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
	var err error
	if spec.Input, err = json.Marshal(&root); err != nil {
		panic(fmt.Sprintf("tools: cannot encode the input schema of %s: %v", spec.Name, err))
	}
	return spec
}

// Set holds the operations that the tools of one session share.
type Set struct {
	Read  Op[Read, Page]
	Write Op[Write, Written]
	Edit  Op[Edit, Edited]
	Patch Op[Patch, Patched]
	List  Op[List, Listing]
	Image Op[Image, Page]
	Grep  Op[search.GrepQuery, Found]
	Glob  Op[search.GlobQuery, search.GlobResult]

	Run    Op[Command, Ran]     // a command in the foreground
	Start  Op[Command, Started] // a command in the background
	Output Op[Output, News]
	Input  Op[Input, News]
	Stop   Op[Stop, News]

	// Saw records that the model was shown a page of a file; see [Config.ReadBeforeWrite].
	Saw func(ctx context.Context, c *tool.Call, path string, page Page)

	Timeouts   tool.Timeouts // of commands
	Background []tool.Tool   // the standard tools for background processes
}

// NewSet returns a set of operations. They share their background processes.
func NewSet(c Config) Set {
	f, sh := newWorkers(c)
	return Set{
		Read:  f.readFile(),
		Write: f.writeFile(),
		Edit:  f.editFile(),
		Patch: f.applyPatch(),
		List:  listDir(),
		Image: f.viewImage(),

		Grep:   grepOp(),
		Glob:   globOp(),
		Run:    sh.foreground(),
		Start:  sh.background(),
		Output: sh.output(),
		Input:  sh.input(),
		Stop:   sh.stop(),

		Saw: func(ctx context.Context, c *tool.Call, p string, page Page) { f.saw(ctx, c.Env, p, page.Source) },

		Timeouts:   sh.config.timeouts(),
		Background: sh.backgroundTools(),
	}
}

// ID is the id of a background process. It decodes from a JSON string or number, because agents differ.
type ID string

// UnmarshalJSON decodes a string or a number.
func (p *ID) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(p))
	}
	*p = ID(b)
	return nil
}

// millis converts milliseconds to a duration of at most maximum.
func millis(n int64, maximum time.Duration) time.Duration {
	if n > maximum.Milliseconds() {
		return maximum
	}
	return time.Duration(n) * time.Millisecond
}
