// Command mcp gives the agent an MCP server's tools and lets it call them without asking.
//
//	mcp TASK SERVER ARG...
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy/rules"
)

func main() {
	servers := &feature.Servers{Config: mcp.Config{Servers: map[string]mcp.Server{"example": {Command: os.Args[2], Args: os.Args[3:]}}}}
	out, err := coding.Run(context.Background(), coding.Config{
		Extensions: []coding.Extension{servers.Attach},
		Session:    agent.Config{Policy: rules.Must("mcp__example")},
	}, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text)
}
