package view_test

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// A host follows a session and draws the items that each record changed.
func ExampleState() {
	e, err := local.New(local.Config{Dir: "."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	greet := tool.New(tool.Spec{Name: "greet", Description: "Greet somebody.", ReadOnly: true}, tool.Nothing,
		func(_ context.Context, _ *tool.Call, in struct {
			Path string `json:"path"`
		}) (tool.Result, error) {
			return tool.Success("Hello, %s!", in.Path), nil
		})
	tools := &tool.Registry{}
	if err := tools.Register(greet); err != nil {
		fmt.Println(err)
		return
	}
	model := llmtest.Play(llmtest.Call("greet", `{"path":"world"}`), llmtest.Say("I greeted the world."))
	s, err := agent.New(agent.Config{Client: model, Model: "m", Env: e, Tools: tools, Policy: policy.AllowAll{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var screen view.State
	draw := func(r event.Record) {
		for _, key := range screen.Apply(r) {
			i, ok := screen.Find(key)
			if !ok || screen.Item(i).Live() {
				continue
			}
			switch item := screen.Item(i); {
			case item.Tool != nil && item.Tool.State.Over():
				fmt.Printf("%s: %s, %s\n", item.Tool.Title, item.Tool.State, item.Tool.Output.Tail)
			case item.Tool == nil:
				fmt.Printf("%s: %s\n", item.Kind, item.Text)
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r := range s.Events(context.Background(), 0) {
			draw(r)
		}
	}()
	_, err = s.Submit(context.Background(), llm.Text{Text: "Greet the world."})
	s.Close()
	<-done
	fmt.Println(screen.Stop().Outcome, screen.Totals().Calls, err)
	// Output:
	// input: Greet the world.
	// greet world: done, Hello, world!
	// text: I greeted the world.
	// done 2 <nil>
}
