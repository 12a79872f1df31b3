// Command stream answers a question about the current directory and prints the answer while the model writes it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
)

func main() {
	for r, err := range coding.Stream(context.Background(), coding.Config{}, os.Args[1]) {
		if err != nil {
			log.Fatal(err)
		}
		if d, ok := r.Data.(event.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
}
