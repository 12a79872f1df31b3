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
		debug.SetGCPercent(140) // the first collection is then after the start, not in it; higher values take more memory and save nothing
	}
	os.Exit(cli.Main(cli.Process()))
}
