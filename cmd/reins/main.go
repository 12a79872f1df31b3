// Command reins runs coding agents. Its commands are in package host/cli.
package main

import (
	"os"

	"github.com/reins-agent/reins/host/cli"
)

func main() {
	os.Exit(cli.Main(cli.Process()))
}
