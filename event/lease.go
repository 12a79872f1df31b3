package event

import "os"

// Holder keeps a file open for as long as processes that it started may be alive, also if this
// process is killed. An environment that ends the commands of a killed host is one.
type Holder interface {
	// Hold covers the processes that are started after it. The file stays open until release.
	Hold(f *os.File) (release func())
}

// Leaser is a Writer that can keep its session reserved beyond the death of this process.
type Leaser interface {
	// Lease lets nobody open the session while h has processes that a killed host left behind: who
	// opens it waits. It ends when the writer is closed.
	Lease(h Holder) error
}
