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
		debug.SetGCPercent(140) // the first collection, which begins at 4 MB by default, comes after the first model call
	}
	os.Exit(cli.Main(cli.Process()))
}
