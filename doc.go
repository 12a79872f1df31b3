// Package reins is the coding-agent loop as a library: the host holds the reins.
//
// The work is in the packages below this one. Start with coding, whose Open assembles a whole session, and
// agent, which runs it; llm is the model client, and env the place where tools run. docs/architecture.md
// shows how the parts fit together. The reins command is one host built on them.
package reins
