package engine

import (
	"maps"
	"time"

	"github.com/reins-agent/reins/env"
)

// The fields are what programs get of a result, beside the text that a model reads. They do not depend
// on the tool that presents it.

// Fields describes the file that a page is of.
func (p Page) Fields() map[string]any {
	if p.Image != nil {
		return nil
	}
	return map[string]any{"encoding": p.Encoding, "line_ending": p.Ending, "total_lines": p.Total}
}

// Fields describes what was written.
func (w Written) Fields() map[string]any {
	return map[string]any{"bytes_written": len(w.New), "created": w.Created}
}

// Fields describes the replacement, or the file that was created.
func (e Edited) Fields() map[string]any {
	if e.Created != nil {
		return e.Created.Fields()
	}
	return map[string]any{"replacements": e.Replacements, "match": string(e.Match)}
}

// Fields counts the changed files.
func (p Patched) Fields() map[string]any { return map[string]any{"files": len(p.Changes)} }

// Fields counts the entries.
func (l Listing) Fields() map[string]any {
	return map[string]any{"entries": len(l.Entries), "partial": l.Partial}
}

// Fields counts what was found.
func (f Found) Fields() map[string]any {
	return map[string]any{"matches": f.Summary.Matches, "files": f.Summary.Files, "partial": f.Summary.Partial}
}

// Fields says how the command ended.
func (r Ran) Fields() map[string]any { return exitFields(r.Exit) }

// Fields names the process.
func (s Started) Fields() map[string]any {
	return map[string]any{"id": string(s.ID), "pid": s.PID, "started": s.At.Format(time.RFC3339)}
}

// Fields names the process and says how it ended, if it has.
func (n News) Fields() map[string]any {
	fields := map[string]any{"id": string(n.ID), "pid": n.PID, "command": n.Command, "running": n.Running}
	if !n.Running {
		maps.Copy(fields, exitFields(n.Exit))
	}
	return fields
}

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
	return fields
}
