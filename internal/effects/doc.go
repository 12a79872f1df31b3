// Package effects runs a corpus of command lines through the real program, without an approver, and judges by the
// effects: files that changed, secrets in the output, programs that ran, packets that arrived. The policy's decisions
// do not matter.
//
// Its tests run in throw-away namespaces with a read-only root, so that an attack that succeeds does no harm. "make
// effects" runs all configurations and prints a table; see the variables in main_test.go.
package effects
