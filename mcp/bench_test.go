package mcp

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/tool"
)

// BenchmarkCall compares tool calls: to a host tool, to the same tool in a server, to a process, and to the same
// process with only the SDK.
func BenchmarkCall(b *testing.B) {
	type in struct {
		Text string `json:"text"`
	}
	args := json.RawMessage(`{"text":"hello"}`)
	plain := tool.New(tool.Spec{Name: "echo"}, tool.Nothing[in], func(_ context.Context, _ *tool.Call, v in) (tool.Result, error) {
		return tool.Success("%s", v.Text), nil
	})
	run := func(b *testing.B, t tool.Tool) {
		var r tool.Registry
		if err := r.Register(t); err != nil {
			b.Fatal(err)
		}
		p := tool.Pipeline{Registry: &r, Approve: func(context.Context, tool.Request) (tool.Approval, error) {
			return tool.Approval{Allow: true}, nil
		}}
		name := t.Spec().Name
		for b.Loop() {
			if out := p.Run(b.Context(), tool.Call{Name: name, Args: args}); !out.OK() {
				b.Fatal(out.Result.Error)
			}
		}
	}
	b.Run("plain", func(b *testing.B) { run(b, plain) })
	b.Run("in process", func(b *testing.B) {
		c := ready(b, Config{Servers: map[string]Server{"x": {Tools: []tool.Tool{plain}}}})
		run(b, c.Tools()[0])
	})
	b.Run("stdio", func(b *testing.B) {
		c := ready(b, Config{Servers: map[string]Server{"x": program(b, "sdk")}})
		for _, t := range c.Tools() {
			if t.Spec().Name == "mcp__x__echo" {
				run(b, t)
			}
		}
	})
	b.Run("stdio with the SDK alone", func(b *testing.B) {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "MCP_TEST_SERVER=sdk")
		s, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(b.Context(), &sdk.CommandTransport{Command: cmd}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		for b.Loop() {
			if _, err := s.CallTool(b.Context(), &sdk.CallToolParams{Name: "echo", Arguments: args}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
