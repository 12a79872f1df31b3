// Command budget stops the work when it has cost half a dollar or called the model 20 times.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
)

func main() {
	limits := agent.Limits{TreeCost: 0.50, TreeTurns: 20}
	out, err := coding.Run(context.Background(), coding.Config{Session: agent.Config{Limits: limits}}, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if out.Status == agent.StatusLimit {
		fmt.Println("stopped by the limit", out.Limit)
	}
	fmt.Printf("%s\ncost: $%.4f\n", out.Text, out.Cost.Dollars)
}
