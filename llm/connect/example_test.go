package connect_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Keys are read from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, …
func ExampleFromEnv() {
	client, err := connect.FromEnv(connect.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range client.Stream(context.Background(), &llm.Request{
		Provider: "anthropic",
		Model:    "claude-sonnet-5-5",
		Messages: []llm.Message{llm.UserText("Who holds the reins?")},
	}) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Print(ev.Text)
		case llm.Retry:
			if ev.Discard {
				fmt.Println("\n(the answer was interrupted and restarts)")
			}
		}
	}
}
