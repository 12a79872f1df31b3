// Package mcpsuite runs the official MCP conformance suite and the MCP inspector against Reins. Its tests need the
// programs that scripts/mcp-tools.sh installs; see "make test-mcp".
package mcpsuite
