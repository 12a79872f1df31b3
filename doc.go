// Package reins is the coding-agent loop as a library: the host holds the reins.
//
// The work is in the packages below this one. Start with llm, the model client; env, the places
// where tools run; and docs/architecture.md, which shows how the parts fit together. The reins
// command is one host built on them.
package reins
