// Command environment changes where commands run: each command is started by a program with arguments, such as "docker
// exec -i box" or "nice -n 10". Files are on this machine, so a container must mount the directory.
//
//	environment TASK PROGRAM ARG...
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
)

type prefixed struct {
	env.Environment
	prefix []string
}

// Start runs a command line with bash, after the prefix.
func (p prefixed) Start(ctx context.Context, c env.Command) (env.Process, error) {
	if c.Line != "" {
		c.Line, c.Args = "", []string{"bash", "-c", c.Line}
	}
	c.Args = slices.Concat(p.prefix, c.Args)
	return p.Environment.Start(ctx, c)
}

func main() {
	here, err := local.New(local.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer here.Close()
	out, err := coding.Run(context.Background(), coding.Config{Session: agent.Config{
		Env:    prefixed{here, os.Args[2:]},
		Policy: policy.AllowAll{},
	}}, os.Args[1])
	fmt.Println(out.Text, err)
}
