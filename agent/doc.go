// Package agent is the coding-agent loop, with the host in control of it.
//
// A [Session] holds one conversation. Submit gives it input and runs the loop until the model is
// done, a limit is reached or the host stops it; meanwhile Events shows everything that happens,
// Steer puts a message between two steps, and SetModel and SetEffort change how the next call is
// made. Everything a session knows is in its log of events.
//
// The loop itself is in two files. machine.go decides: given what has happened it says whether to
// call the model, run tools or stop. It does no I/O and knows no clock. session.go does what the
// machine says and tells it what came of it.
package agent
