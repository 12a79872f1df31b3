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
		debug.SetGCPercent(140) // delays the first collection until after startup; higher values use more memory and start no faster
	}
	os.Exit(cli.Main(cli.Process()))
}
