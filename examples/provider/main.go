// Command provider runs a session with its own model.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
)

// parrot is a model that repeats its input.
type parrot struct{}

func (parrot) Name() string { return "parrot" }

func (parrot) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		answer := llm.AssistantText(r.Messages[len(r.Messages)-1].Text())
		yield(llm.Finish{Response: &llm.Response{Model: r.Model, Message: answer, Finish: llm.FinishInfo{Reason: llm.FinishStop}}}, nil)
	}
}

func main() {
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{parrot{}}})
	if err != nil {
		log.Fatal(err)
	}
	out, err := coding.Run(context.Background(), coding.Config{Model: "parrot-1", Session: agent.Config{Client: client}}, os.Args[1])
	fmt.Println(out.Text, err)
}
