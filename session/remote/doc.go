// Package remote lets programs use a session of another process as if it was their own.
//
// [Server] serves a [session.Handle] over HTTP, and [Connect] returns a Handle that uses such a server. Events are server-sent
// events whose IDs are record numbers; transient records have none. A client reconnects by itself: it misses no durable
// record, yields none twice, and repeats no change that the server has made.
//
// A Server checks no access. [Listen] provides the Unix socket on which the process that has a session open can be reached
// by other processes of the same user, and [Attach] connects to it.
package remote
