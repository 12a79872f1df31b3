// Command minimal works on a task in the current directory. It may change files there.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
)

func main() {
	out, err := coding.Run(context.Background(), coding.Config{Session: agent.Config{Mode: "acceptEdits"}}, os.Args[1])
	fmt.Println(out.Text, out.Refused, err)
}
