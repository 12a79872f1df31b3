// Command reins runs coding agents. Its commands are in package internal/cli.
package main

import (
	"os"
	"runtime/debug"

	"github.com/reins-agent/reins/internal/cli"
)

func main() {
	closeOnExec()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(80) // collects early: the live heap is small, and waiting saves no time
	}
	os.Exit(cli.Main(cli.Process()))
}
