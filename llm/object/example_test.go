package object_test

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/object"
)

// The answer of the model becomes a Go value, whose type is the schema.
func ExampleGenerate() {
	type bug struct {
		File string `json:"file"`
		Line int    `json:"line"`
	}
	client, err := llm.NewClient(llm.ClientConfig{
		Providers: []llm.Provider{llmtest.Play(llmtest.Say(`{"file":"parse.go","line":12}`))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &llm.Request{Model: "any", Messages: []llm.Message{llm.UserText("Where is the bug?")}}
	found, _, err := object.Generate[bug](context.Background(), client, request)
	fmt.Println(found.File, found.Line, err)
	// Output: parse.go 12 <nil>
}
