package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reins-agent/reins/coding/edit"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/search"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Page is lines of a file, or an image.
type Page struct {
	Lines []string // without their endings
	First int      // the number of the first line, from 1
	Total int      // how many lines the file has

	Encoding, Ending string
	Notebook         bool   // the lines are a rendering of the notebook's cells
	Source           []byte // the file as it is

	Image         *llm.Image // instead of lines
	Width, Height int        // of the image; 0 is not known
}

// Last is the number of the last line, one less than First if there are none.
func (p Page) Last() int { return p.First + len(p.Lines) - 1 }

// Written is a file that was created or replaced.
type Written struct {
	Path    string // for showing
	Created bool
	Old     []byte // nil if it was created or too large to look at
	New     []byte
	Note    string // what was kept of the old content's style
}

// Edited is a file in which text was replaced, or that was created if the text to replace was empty.
type Edited struct {
	Path string // for showing
	edit.Result
	Created *Written
}

// Patched is the changes that a patch made.
type Patched struct {
	Changes []Change
	Notes   []string
}

// Change is one file of a patch: A added, M modified, D deleted.
type Change struct {
	Letter byte
	Path   string
	From   string // the path that it had before, if it was moved
}

// Report lists the changed files, added ones first, then modified, then deleted, and the notes. whole
// says that all of the patch was applied.
func (p Patched) Report(whole bool) string {
	var b strings.Builder
	if whole {
		b.WriteString("Success. ")
	}
	b.WriteString("Updated the following files:\n")
	for _, letter := range []byte("AMD") {
		for _, c := range p.Changes {
			if c.Letter == letter {
				fmt.Fprintf(&b, "%c %s\n", letter, c.Path)
			}
		}
	}
	for _, n := range p.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// Paths are the files that the patch changed, under their old and new names.
func (p Patched) Paths() []string {
	var paths []string
	for _, c := range p.Changes {
		paths = append(paths, c.Path)
		if c.From != "" {
			paths = append(paths, c.From)
		}
	}
	return paths
}

// Listing is the entries of a directory, each directory before what is in it.
type Listing struct {
	Entries []Entry
	Ignored int  // entries that the call left out
	Partial bool // there are more entries than are listed
}

// Entry is one entry of a directory.
type Entry struct {
	Path string // below the directory that was asked for, with slashes
	Info env.FileInfo
	// Unreadable says that a directory could not be listed.
	Unreadable bool
}

// Found is what a search found, in path order.
type Found struct {
	Files   []search.FileMatch
	Summary search.Summary
}

// Ran is a command that was run to its end.
type Ran struct {
	PID    int
	Output tool.Output
	Exit   env.Exit
	// Timeout was the command's, and Max the longest that it could have asked for.
	Timeout, Max time.Duration
	Silent       bool // it was ended because it printed nothing for so long
	Interrupted  bool // by the end of the call
}

// Err says how the command failed, or is nil. The message holds for every tool; presentations may
// add advice of their own.
func (r Ran) Err() *tool.Error {
	switch {
	case r.Silent:
		return &tool.Error{Code: tool.ShellTimeout, Message: fmt.Sprintf("The command was ended because it printed nothing for %v.", r.Timeout)}
	case r.Exit.TimedOut:
		return &tool.Error{Code: tool.ShellTimeout, Message: fmt.Sprintf("The command timed out after %d ms.", r.Timeout.Milliseconds())}
	case r.Interrupted && r.Exit.Code != 0:
		return &tool.Error{Code: tool.Cancelled, Message: "The command was interrupted. Its output until then is shown above."}
	case r.Exit.Signal != "":
		return &tool.Error{Code: tool.ShellExitError, Message: fmt.Sprintf("The command was ended by %s (exit code %d).", r.Exit.Signal, r.Exit.Code)}
	case r.Exit.Code != 0:
		return &tool.Error{Code: tool.ShellExitError, Message: fmt.Sprintf("The command exited with code %d.", r.Exit.Code)}
	}
	return nil
}

// Started is a process in the background.
type Started struct {
	ID  ID
	PID int
	At  time.Time
}

// News is what a background process printed since it was last asked.
type News struct {
	ID      ID
	PID     int
	Command string
	TTY     bool
	Text    string
	More    bool // it has ended, and there is more text than this
	Running bool
	Exit    env.Exit // if it has ended
}

// Fail returns a failure of a call as an error.
func Fail(code tool.Code, format string, args ...any) error {
	return tool.Failure(code, format, args...).Error
}

// Failed returns the result of a call whose operation failed.
func Failed(err error) (tool.Result, error) {
	var known *tool.Error
	if errors.As(err, &known) {
		return tool.Result{Error: known}, nil
	}
	return tool.Result{}, err
}
