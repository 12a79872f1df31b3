// Command tool gives the agent a tool that is a Go function.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/tool"
)

type place struct {
	City string `json:"city" jsonschema:"the name of a city"`
}

func weather(_ context.Context, _ *tool.Call, in place) (tool.Result, error) {
	return tool.Success("It is sunny in %s.", in.City), nil
}

func main() {
	t := tool.New(tool.Spec{Name: "weather", Description: "Returns the weather in a city.", ReadOnly: true}, tool.Nothing, weather)
	out, err := coding.Run(context.Background(), coding.Config{Tools: []tool.Tool{t}}, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text)
}
