package session

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"

	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
)

// DiffOptions selects what to compare. The zero value shows the agent's changes since the last prompt
// that changed files.
type DiffOptions struct {
	Session string `json:"session"`
	From    string `json:"from,omitempty"` // a state; default the one before the last prompt that changed files
	To      string `json:"to,omitempty"`   // a state; default the current files

	// Paths limits the comparison to these files and directories. They are absolute, or relative to the working
	// directory of the process.
	Paths []string `json:"paths,omitempty"`

	All  bool `json:"all,omitempty"`  // without From, compare files that only others changed, too
	Stat bool `json:"stat,omitempty"` // only count the lines
}

// Change is a changed file.
type Change struct {
	Path string                `json:"path"` // relative to the session directory, with slashes
	Kind checkpoint.ChangeKind `json:"change"`
}

// FileDiff is the difference between two states of a file.
type FileDiff struct {
	Change
	Others  bool   `json:"others,omitempty"` // only others changed the file, not the agent; without From
	Binary  bool   `json:"binary,omitempty"` // or too large to compare line by line
	Added   int    `json:"added"`            // lines
	Removed int    `json:"removed"`
	Diff    string `json:"diff,omitempty"` // unified, as for "git apply"
}

// Diff compares two states of a session's files, file by file. The session may be running.
//
// Without From, it reports the agent's changes. Files that only others changed, such as the user or another session,
// have Others set and, without All, neither lines nor a difference.
//
// If the session changed no files, the error is [ErrUnchanged]. Other errors are a *[StateError], a *[DirError], or wrap
// [checkpoint.ErrNotFound].
func (m *Manager) Diff(ctx context.Context, o DiffOptions) iter.Seq2[FileDiff, error] {
	return func(yield func(FileDiff, error) bool) {
		c, err := m.compare(ctx, o)
		if err != nil {
			yield(FileDiff{}, err)
			return
		}
		for _, change := range c.changes {
			d := FileDiff{Change: Change{change.Path, change.Kind}, Others: c.others[change.Path]}
			if !d.Others || o.All {
				d, err = d.compared(ctx, c.checkpoints, change, o.Stat)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// comparison is what differs between two states.
type comparison struct {
	checkpoints *checkpoint.Store
	changes     []checkpoint.Change
	others      map[string]bool // paths that only others changed
}

func (m *Manager) compare(ctx context.Context, o DiffOptions) (*comparison, error) {
	s, err := m.Find(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	h, err := m.history(ctx, s)
	if err != nil {
		return nil, err
	}
	from, to, err := h.span(o.From, o.To)
	if err != nil {
		return nil, err
	}
	paths, err := resolvePaths(o.Paths)
	if err != nil {
		return nil, err
	}
	c := &comparison{}
	if c.checkpoints, err = m.checkpoints(s.ID, h.dir(from)); err != nil {
		return nil, err
	}
	if to == "" {
		if to, _, err = c.checkpoints.Take(ctx, "reins diff"); err != nil {
			return nil, err
		}
	}
	changes, err := c.checkpoints.Diff(ctx, from, to, paths...)
	c.changes = onlyFiles(changes)
	if o.From == "" && o.To == "" {
		c.others = m.othersOf(ctx, h, c.changes)
	}
	return c, err
}

// span returns the checkpoints to compare. to is "" for the current files.
func (h *history) span(a, b string) (from, to checkpoint.ID, err error) {
	if a == "" {
		if from = h.last(); from == "" {
			return "", "", ErrUnchanged
		}
	} else if from, err = h.find(a); err != nil {
		return "", "", err
	}
	if b != "" {
		to, err = h.find(b)
	}
	return from, to, err
}

// othersOf returns the changes since the last prompt that only others made. It is empty if that
// is not known.
func (m *Manager) othersOf(ctx context.Context, h *history, changes []checkpoint.Change) map[string]bool {
	s := h.session
	u, ok := event.Replay(h.records).LastFiles()
	if !ok || !u.Traced || u.Untraced != "" {
		return nil
	}
	since := h.inputs[max(h.input(u.Since), 0)].Time
	u.Disclaim(ctx, m.Store, s.ID, s.Dir, since, env.PathsOf(runtime.GOOS))
	others := map[string]bool{}
	for _, c := range changes {
		if _, ok := u.Wrote[c.Path]; !ok {
			others[c.Path] = true
		}
	}
	return others
}

// onlyFiles drops changes of directories.
func onlyFiles(changes []checkpoint.Change) []checkpoint.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c checkpoint.Change) bool { return c.Dir() })
}

// compared returns the difference with its lines.
func (d FileDiff) compared(ctx context.Context, checkpoints *checkpoint.Store, c checkpoint.Change, stat bool) (FileDiff, error) {
	text, err := checkpoints.Unified(ctx, c)
	if err != nil {
		return d, err
	}
	d.count(text)
	if !stat {
		d.Diff = text
	}
	return d, nil
}

// count counts added and removed lines in a unified diff.
func (d *FileDiff) count(text string) {
	inHunk := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "diff "): // a link that became a file has two parts
			inHunk = false
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
			d.Binary = d.Binary || strings.HasPrefix(line, "Binary files ")
		case strings.HasPrefix(line, "+"):
			d.Added++
		case strings.HasPrefix(line, "-"):
			d.Removed++
		}
	}
}
