// Package agent runs a coding agent under the control of its host, the program that embeds it.
//
// A [Session] holds one conversation. [Session.Submit] gives it input and works until the model is done, a
// limit is reached, an answer or an approval is needed, or the host stops it. [Session.Continue] continues
// work that ended early. [Session.Events] streams what happens, [Session.Steer] adds a message before the
// next step, [Session.Resolve] answers a tool call that waits for an approval, and [Session.Reconfigure]
// changes model, tools and prompt.
//
// The log holds everything about a session. Package step computes the state from the records of the log and
// decides what to do next. This package is its driver: it calls the model, runs tools and asks the host,
// appends a record of the result, and applies that record to the state. Nothing else changes the state, so
// [Resume] restores it by applying the saved records.
//
// The loop is the method process in session.go; read that first.
package agent
