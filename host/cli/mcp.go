package cli

import "github.com/spf13/cobra"

func newMCP(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "mcp", Short: "Use and offer tools over the Model Context Protocol"}, newMCPServe(h))
}
