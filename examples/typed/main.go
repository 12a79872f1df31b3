// Command typed gets the result of the work as a Go value.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
)

type finding struct {
	File    string `json:"file"`
	Problem string `json:"problem" jsonschema:"what is wrong, in one sentence"`
}

func main() {
	session, err := coding.Open(context.Background(), coding.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	findings, _, err := agent.SubmitObject[[]finding](context.Background(), session, llm.NewText(os.Args[1]))
	fmt.Println(findings, err)
}
