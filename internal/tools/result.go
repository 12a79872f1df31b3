package tools

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/edit"
	"github.com/reins-agent/reins/internal/patch"
	"github.com/reins-agent/reins/internal/search"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Results of operations. Their Fields methods return values for programs, which are the same for all tools of
// an operation.

// Page holds lines from a file, or an image.
type Page struct {
	Lines []string // without their endings
	First int      // first line number, from 1
	Total int      // number of lines in the file

	Encoding, Ending string
	Source           []byte // the file's bytes

	Image         *llm.Image // instead of lines
	Width, Height int        // in pixels; 0 if unknown
}

// Last returns the last line number, or First-1 if there are none.
func (p Page) Last() int { return p.First + len(p.Lines) - 1 }

// Fields describes the file.
func (p Page) Fields() map[string]any {
	if p.Image != nil {
		return nil
	}
	return map[string]any{"encoding": p.Encoding, "line_ending": p.Ending, "total_lines": p.Total}
}

// Written is a file that was created or replaced.
type Written struct {
	Path    string // as shown
	Created bool
	Old     []byte // nil if the file was created, or too large to read
	New     []byte
	Note    string // about the encoding and line endings that were kept

	Artifacts tool.Artifacts
}

// Fields describes the file.
func (w Written) Fields() map[string]any {
	return map[string]any{"bytes_written": len(w.New), "created": w.Created}
}

// Edited is a file with replaced text, or a file that was created.
type Edited struct {
	Path string // as shown
	edit.Result
	Created *Written
}

// Fields describes the replacement or the created file.
func (e Edited) Fields() map[string]any {
	if e.Created != nil {
		return e.Created.Fields()
	}
	return map[string]any{"replacements": e.Replacements, "match": string(e.Match)}
}

// Patched holds the changes made by a patch.
type Patched struct {
	Changes   []patch.FileOp
	Notes     []string
	Artifacts tool.Artifacts
}

// Fields counts the changed files.
func (p Patched) Fields() map[string]any { return map[string]any{"files": len(p.Changes)} }

// Report lists the changed files and the notes: added files first, then modified, then deleted. whole
// reports whether the whole patch was applied.
func (p Patched) Report(whole bool) string {
	var b strings.Builder
	if whole {
		b.WriteString("Success. ")
	}
	b.WriteString("Updated the following files:\n")
	for _, action := range []patch.Action{patch.Add, patch.Update, patch.Delete} {
		for _, c := range p.Changes {
			if c.Action == action {
				fmt.Fprintf(&b, "%c %s\n", action, c.Path)
			}
		}
	}
	for _, n := range p.Notes {
		b.WriteString(n + "\n")
	}
	return b.String()
}

// Paths returns the changed files' old and new paths.
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

// Listing holds directory entries. Each directory precedes its entries.
type Listing struct {
	Entries []Entry
	Ignored int  // number of skipped entries
	Partial bool // there are more entries
}

// Entry is one directory entry.
type Entry struct {
	Path       string // relative to the listed directory, with slashes
	Info       env.FileInfo
	Unreadable bool // a directory that could not be listed
}

// Fields counts the entries.
func (l Listing) Fields() map[string]any {
	return map[string]any{"entries": len(l.Entries), "partial": l.Partial}
}

// Found is a search result, in path order.
type Found struct {
	Files   []search.FileMatch
	Summary search.Summary
}

// Fields counts the matches.
func (f Found) Fields() map[string]any {
	return map[string]any{"matches": f.Summary.Matches, "files": f.Summary.Files, "partial": f.Summary.Partial}
}

// Ran is a finished foreground command.
type Ran struct {
	PID         int
	Output      tool.Output
	Exit        env.Exit
	Timeout     time.Duration // of the command
	Max         time.Duration // the maximum timeout
	Silent      bool          // stopped because it printed nothing until the timeout
	Interrupted bool          // the call was cancelled
}

// Err returns how the command failed, or nil.
func (r Ran) Err() *tool.Error {
	switch {
	case r.Silent:
		return tool.Errorf(tool.ShellTimeout, "The command was stopped because it printed nothing for %v.", r.Timeout)
	case r.Exit.TimedOut:
		return tool.Errorf(tool.ShellTimeout, "The command timed out after %d ms.", r.Timeout.Milliseconds())
	case r.Interrupted && r.Exit.Code != 0:
		return tool.Errorf(tool.Cancelled, "The command was interrupted. Its output so far is shown above.")
	case r.Exit.Signal != "":
		return tool.Errorf(tool.ShellExitError, "The command was killed by %s (exit code %d).", r.Exit.Signal, r.Exit.Code)
	case r.Exit.Code != 0:
		return tool.Errorf(tool.ShellExitError, "The command exited with code %d.", r.Exit.Code)
	}
	return nil
}

// Fields describes how the command ended.
func (r Ran) Fields() map[string]any { return exitFields(r.Exit) }

func exitFields(exit env.Exit) map[string]any {
	fields := map[string]any{"exit_code": exit.Code, "timed_out": exit.TimedOut, "duration_ms": exit.Duration.Milliseconds()}
	if exit.Signal != "" {
		fields["signal"] = exit.Signal
	}
	if exit.Orphans > 0 {
		fields["background_processes"] = exit.Orphans
	}
	if exit.Dropped > 0 {
		fields["dropped_bytes"] = exit.Dropped
	}
	if len(exit.Blocked) > 0 {
		fields["blocked"] = exit.Blocked
	}
	if len(exit.Refused) > 0 {
		fields["refused_hosts"] = exit.Refused
	}
	return fields
}

// Started is a background process that was started.
type Started struct {
	ID  ID
	PID int
	At  time.Time
}

// Fields identifies the process.
func (s Started) Fields() map[string]any {
	return map[string]any{"id": string(s.ID), "pid": s.PID, "started": s.At.Format(time.RFC3339)}
}

// Artifacts returns the artifacts of the call that started the process and left it running.
func (s Started) Artifacts(command string) tool.Artifacts {
	return tool.Artifacts{CommandsRun: []string{command}, Background: string(s.ID)}
}

// News is new output from a background process.
type News struct {
	ID      ID
	PID     int
	Command string
	Text    string
	More    bool // the process has ended, and there is more output
	Running bool
	Exit    env.Exit // if the process has ended
}

// Fields identifies the process and describes how it ended, if it has.
func (n News) Fields() map[string]any {
	fields := map[string]any{"id": string(n.ID), "pid": n.PID, "command": n.Command, "running": n.Running}
	if !n.Running {
		maps.Copy(fields, exitFields(n.Exit))
	}
	return fields
}
