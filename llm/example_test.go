package llm_test

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// A client routes requests to providers; here the provider is a script.
func Example() {
	client, err := llm.NewClient(llm.ClientConfig{
		Providers:  []llm.Provider{llmtest.Play(llmtest.Say("The host does."))},
		Middleware: []llm.Middleware{llm.RetryPolicy{Retries: 3}.Middleware()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &llm.Request{Model: "any", Messages: []llm.Message{llm.UserText("Who holds the reins?")}}
	for ev, err := range client.Stream(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Print(ev.Text)
		case llm.Finish:
			fmt.Printf("\n%s\n", ev.Response.Finish.Reason)
		}
	}
	// Output:
	// The host does.
	// stop
}
