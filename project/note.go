package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/config"
)

// NoteKind is what a note is about.
type NoteKind string

// The kinds of notes.
const (
	NoteTrust    NoteKind = "trust"    // files that are ignored because the project is not trusted
	NoteSetting  NoteKind = "setting"  // a setting that is ignored
	NoteSandbox  NoteKind = "sandbox"  // commands are not confined
	NoteHook     NoteKind = "hook"     // a hook that does not run
	NoteServer   NoteKind = "server"   // an MCP server that is not used, or not yet
	NoteProvider NoteKind = "provider" // which provider is used, if the first of several was chosen
	NoteModel    NoteKind = "model"    // which model is used, and when it ends
	NoteSession  NoteKind = "session"  // a problem of an open session
)

// Note is a problem that does not keep the project from being used, or a fact that the user should know.
type Note struct {
	Kind NoteKind `json:"kind"`
	Text string   `json:"text"` // one sentence; the home directory in paths is ~
}

func (n Note) String() string { return n.Text }

// Notes returns the notes so far, oldest first.
func (p *Project) Notes() []Note {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.notes)
}

// notef adds a note.
func (p *Project) notef(kind NoteKind, format string, args ...any) {
	n := Note{kind, fmt.Sprintf(format, args...)}
	p.mu.Lock()
	p.notes = append(p.notes, n)
	p.mu.Unlock()
	if p.options.Note != nil {
		p.options.Note(n)
	}
}

// noteSettings adds the notes about settings, except notes that earlier uses of the project had.
func (p *Project) noteSettings(earlier bool) {
	for _, n := range p.Settings.Notes {
		if earlier && said(n) {
			continue
		}
		n.Origin.Name = p.Short(n.Origin.Name)
		p.notef(NoteSetting, "%v", n)
	}
}

// said reports whether a note about a file of a project is given only once. What would have restricted an agent is
// said every time.
func said(n config.Note) bool {
	restricts := strings.HasPrefix(n.Key, "permissions.deny") || strings.HasPrefix(n.Key, "permissions.ask")
	return (n.Origin.Layer == config.LayerProject || n.Origin.Layer == config.LayerLocal) && !restricts
}
