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
		debug.SetGCPercent(140) // the first collection then comes after the start; higher values take more memory and do not start faster
	}
	os.Exit(cli.Main(cli.Process()))
}
