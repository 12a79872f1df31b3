// Command reins runs coding agents. Its commands are in package host/cli.
package main

import (
	"os"
	"runtime/debug"

	"github.com/reins-agent/reins/host/cli"
)

func main() {
	closeOnExec()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // the heap is a few megabytes, so that a collection costs more than it frees
	}
	os.Exit(cli.Main(cli.Process()))
}
