package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// A tool is a Go function with a struct argument, which defines the schema.
func ExampleNew() {
	type in struct {
		A int `json:"a" jsonschema:"the first number"`
		B int `json:"b" jsonschema:"the second number"`
	}
	add := tool.New(tool.Spec{Name: "add", Description: "Adds two numbers."}, nil,
		func(_ context.Context, _ *tool.Call, v in) (tool.Result, error) {
			return tool.Success("%d", v.A+v.B), nil
		})
	registry := &tool.Registry{}
	if err := registry.Register(add); err != nil {
		fmt.Println(err)
		return
	}
	p := &tool.Pipeline{Registry: registry, Policy: policy.AllowAll{}}
	for _, args := range []string{`{"a":1,"b":2}`, `{"a":1,"b":"two"}`} {
		fmt.Println(p.Run(context.Background(), tool.Call{Name: "add", Args: json.RawMessage(args)}).Model)
	}
	// Output:
	// 3
	// Invalid arguments for add: "b" is the string "two" but must be of type integer; schema: {"type":"integer","description":"the second number"}
}
