// Package event is what happened in a session, as records in a log.
//
// Every durable fact (an input, an assistant's message, a tool's result, a limit, an error) is one
// numbered [Record]. History, user interfaces, persistence and resuming are views of these records;
// nothing else is the truth. Deltas, which only show something growing, are transient: they carry
// no number, and go once the record that contains them is in the log and everybody watching has
// seen them, or has fallen too far behind.
//
// A [Log] takes records in and lets any number of readers follow, each at its own pace. Appending
// never blocks and never drops a durable record.
package event
