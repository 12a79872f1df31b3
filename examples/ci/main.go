// Command ci reviews the changes since a commit. It prints bugs as annotations of GitHub Actions, and fails if there are
// any. The agent can only read the working directory, and may spend a dollar.
//
//	ci origin/main
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
)

type bug struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text" jsonschema:"what goes wrong and when, in one sentence"`
}

func main() {
	diff, err := exec.Command("git", "diff", os.Args[1]).Output()
	if err != nil {
		log.Fatal("git diff: ", err)
	}
	c := coding.Config{Session: agent.Config{Mode: "dontAsk", Limits: agent.Limits{TreeCost: 1}}}
	session, err := coding.Open(context.Background(), c)
	if err != nil {
		log.Fatal(err)
	}
	task := llm.NewText("List the bugs that this change introduces. Read the code around it first.\n\n" + string(diff))
	bugs, _, err := agent.SubmitObject[[]bug](context.Background(), session, task)
	if session.Close(); err != nil {
		log.Fatal(err)
	}
	line := strings.NewReplacer("\r", " ", "\n", " ") // a new line could be another workflow command
	for _, b := range bugs {
		fmt.Printf("::error file=%s,line=%d::%s\n", line.Replace(b.File), b.Line, line.Replace(b.Text))
	}
	if len(bugs) > 0 {
		os.Exit(1)
	}
}
