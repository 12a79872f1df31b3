// Package event is what happened in a session, as records in a log.
//
// Every durable fact (an input, an answer of the model, a tool's result, an approval, a limit, an error, a
// change of the setup) is one numbered [Record]. The state of a session is a fold over these records, and
// conversation, user interfaces, saving and resuming are views of them. Whatever a decision depends on is
// therefore in a record: see [Setup].
//
// Deltas, which only show something growing, are transient: they carry no number, and are dropped once
// the record that contains them is in the log and everybody watching has seen them, or has fallen too
// far behind.
//
// A [Log] takes records in and lets any number of readers follow, each at its own pace. Appending
// never blocks and never drops a durable record. A [Store] keeps logs beyond the life of the process.
package event
