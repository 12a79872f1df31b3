// Package filestore keeps sessions in a directory, as files that a person can read.
//
//	DIR/
//	  ID/                one directory per session, its name the id in lower case
//	    log.jsonl        the truth: a header, records and descriptions, one JSON object per line
//	    meta.json        what the log says about the session as a whole, for listing; a cache
//	    blobs/HASH       what was too large for a record, by its SHA-256
//	    torn.jsonl       the ends of lines that a crash cut off, kept for those who want to look
//	  .locks/ID          held, by a lock of the operating system, while somebody writes
//	  .leases/ID         held while commands of the session may be alive
//
// Directories are private to the user (0700), and so are files (0600).
//
// # The log
//
// The log only grows. Every line ends in a checksum of what stands before it in the line, so that
// damage is found wherever it is, and stays within its line. [Writer.Append] returns when its
// records are on the disk; those that arrive while the disk is busy share the next flush. A crash
// can leave the last line unfinished: readers pass over it, and the next writer moves it out of
// the way. A damaged line elsewhere is never removed. [Store.Load] reports where it is and goes on
// behind it if the caller does.
//
// meta.json is written after what it covers is on the disk. So if it knows of more than the log has,
// the log has lost its end, which no crash does, or all of it. Readers report that as damage. The
// next writer puts a line of the same size, which is no sound one, in the place of a lost end, and
// goes on behind it: what is lost stays reported, and no number is given to another record.
//
// # Several processes
//
// Any number of processes may use one directory. A session has one writer at a time; the system
// gives its lock back when the process ends, however it ends. Commands may outlive a killed process
// for a moment; whoever ends them holds the lease, and the next writer waits for that (see
// [event.Leaser]), so that nothing of the old process happens after it. Readers need no lock and do not
// write, so that they work on a disk that is full or read-only. They see records that are written
// but not flushed yet.
//
// # Listing
//
// meta.json says how much of the log it covers. If the log is longer, because it is being written
// or the writer was killed, only the rest is read; if meta.json is missing or damaged, or the log
// is shorter than it says, the whole log is. So no sound log depends on it.
package filestore
