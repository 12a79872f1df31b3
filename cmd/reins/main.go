// Command reins runs coding agents and looks inside their traffic. Package host/cli holds its
// commands.
package main

import (
	"os"

	"github.com/reins-agent/reins/host/cli"
)

func main() {
	os.Exit(cli.Main(cli.Process()))
}
