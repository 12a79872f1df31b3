// Package agent runs a coding agent, with the host in control of it.
//
// A [Session] holds one conversation. [Session.Submit] gives it input and works until the model is done, a
// limit is reached, somebody has to be asked, or the host stops it; [Session.Continue] continues work that
// ended early. Meanwhile [Session.Events] shows everything that happens, [Session.Steer] puts a message between
// two steps, [Session.Resolve] answers a tool call that waits for an approval, and [Session.Reconfigure]
// changes model, tools and prompt.
//
// Everything that a session knows is in its log. Package step holds the state, which is a fold over the
// records of the log, and decides what to do next. This package is its driver: it calls the model, runs tools
// and asks the host, appends a record of what came of it, and applies that record to the state. No other
// code changes the state, so that [Resume], which applies the records that were saved, arrives at
// the same one.
//
// The loop is the method process in session.go; read that first.
package agent
