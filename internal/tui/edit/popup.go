package edit

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Item is an entry of a popup. Label and Detail are clean.
type Item struct {
	Label, Detail string
	insert        string
	weak          bool // it only resembles the typed text
	note          bool // it cannot be inserted
}

// source is where popup items come from.
type source int

const (
	commands source = iota
	files
	found // in the history
)

// Popup is a list of completions below the draft.
type Popup struct {
	Items    []Item
	Selected int
	kind     source
	word     span // what an item replaces
	moved    bool // the user selected an item
	exact    bool // the word needs no completion
}

// Move moves the selection by n items, from the end to the start and back.
func (p *Popup) Move(n int) {
	p.moved = true
	if len(p.Items) > 0 {
		p.Selected = ((p.Selected+n)%len(p.Items) + len(p.Items)) % len(p.Items)
	}
}

// Popup returns the completions, or nil.
func (e *Editor) Popup() *Popup { return e.popup }

// Close closes the popup and the search in the history.
func (e *Editor) Close() {
	if e.popup != nil && e.popup.kind != found {
		e.closed = e.popup.word.from
	}
	e.popup, e.search = nil, nil
}

// page is how far page up and page down move.
const page = 8

// popupAction runs a popup action, and reports whether the action has a meaning now.
func (e *Editor) popupAction(a keys.Action) bool {
	p := e.popup
	switch a {
	case keys.ListUp:
		p.Move(-1)
	case keys.ListDown:
		p.Move(1)
	case keys.ListPageUp:
		p.Move(-min(page, p.Selected))
	case keys.ListPageDown:
		p.Move(min(page, max(len(p.Items)-1-p.Selected, 0)))
	case keys.ListCancel:
		e.Close()
	case keys.ListComplete:
		e.accept()
	case keys.ListAccept:
		if !p.takesEnter() {
			return false
		}
		e.accept()
	default:
		return false
	}
	return true
}

// takesEnter reports whether enter completes the word. Otherwise it sends the message: a finished line is never changed
// by a completion that the user did not select.
func (p *Popup) takesEnter() bool {
	return p.moved || !p.exact && !p.Items[p.Selected].weak
}

// accept inserts the selected item.
func (e *Editor) accept() {
	p, b := e.popup, &e.buf
	item := p.Items[p.Selected]
	if item.note {
		return
	}
	b.begin(other)
	b.replace(p.word.from, p.word.to, item.insert)
	e.popup, e.closed = nil, p.word.from
	if strings.HasSuffix(item.insert, "/") { // a directory: its files are next
		e.closed = -1
		e.openPopup(false)
	}
}

// complete opens, updates or closes the popup after the text has changed.
func (e *Editor) complete() {
	word := e.buf.wordAt(e.buf.caret)
	if e.closed >= 0 && e.closed != word.from {
		e.closed = -1
	}
	e.popup = nil
	if e.closed < 0 {
		e.openPopup(false)
	}
}

// openPopup opens the popup for the word at the caret, and reports whether it has items. asked is whether the user wants
// completions, also for a word that needs none.
func (e *Editor) openPopup(asked bool) bool {
	b := &e.buf
	word := b.wordAt(b.caret)
	if b.caret == word.from {
		return false
	}
	typed := b.text[word.from:b.caret]
	p := &Popup{word: span{word.from, b.caret}}
	switch {
	case word.from == 0 && typed[0] == '/' && e.opts.Commands != nil:
		p.kind = commands
		p.matchCommands(e.opts.Commands(), typed[1:])
	case e.opts.Files != nil && strings.HasPrefix(strings.TrimPrefix(typed, "("), "@"):
		p.kind = files
		p.word.from += strings.IndexByte(typed, '@')
		p.matchFiles(e.opts.Files, strings.ReplaceAll(b.text[p.word.from+1:b.caret], `\ `, " "))
	}
	if len(p.Items) == 0 || len(p.Items) == 1 && !asked && strings.TrimSpace(p.Items[0].insert) == b.text[p.word.from:b.caret] {
		return false
	}
	e.popup = p
	return true
}

// Refresh updates the completions after the index of files has changed.
func (e *Editor) Refresh() {
	if e.search != nil || e.popup != nil && e.popup.moved {
		return
	}
	if e.closed < 0 {
		e.popup = nil
		e.openPopup(false)
	}
}

// wordAt returns the word around a position: up to blanks that have no backslash before them.
func (b *Buffer) wordAt(at int) span {
	from := at
	for from > 0 && (!strings.ContainsRune(" \t\n", rune(b.text[from-1])) || b.text[from-1] == ' ' && from > 1 && b.text[from-2] == '\\') {
		from--
	}
	to := at
	for to < len(b.text) && !strings.ContainsRune(" \t\n", rune(b.text[to])) {
		to++
	}
	return span{from, to}
}

// Command is a command that the user can type as "/name arguments".
type Command struct {
	Name, Summary, Arguments string
}

// matchCommands lists the commands for the typed text: first commands that begin with it.
func (p *Popup) matchCommands(list []Command, typed string) {
	query := strings.ToLower(typed)
	for _, match := range []func(name string) bool{
		func(name string) bool { return strings.HasPrefix(name, query) },
		func(name string) bool { return !strings.HasPrefix(name, query) && strings.Contains(name, query) },
	} {
		for _, c := range list {
			name := strings.ToLower(c.Name)
			if !match(name) {
				continue
			}
			p.exact = p.exact || c.Name == typed
			p.Items = append(p.Items, Item{
				Label:  text.Clean(strings.TrimSpace("/" + c.Name + " " + c.Arguments)),
				Detail: text.Clean(c.Summary),
				insert: "/" + c.Name + " ",
				weak:   !strings.HasPrefix(name, query),
			})
		}
	}
}

// Finder finds files by path fragments.
type Finder interface {
	// Find returns the paths that match best, and a note about what they lack, or "". It must be fast: it runs with each
	// key.
	Find(query string, limit int) (list []Found, note string)
}

// Found is a file or a directory, whose path ends with a slash.
type Found struct {
	Path string
	Weak bool // its path has the query's letters, but not next to each other
}

// maxFiles is the number of files in a popup.
const maxFiles = 50

// matchFiles lists the files for the typed text.
func (p *Popup) matchFiles(list Finder, typed string) {
	found, note := list.Find(typed, maxFiles)
	for _, f := range found {
		p.exact = p.exact || f.Path == typed
		if f.Path == typed && strings.HasSuffix(typed, "/") {
			continue // the user wants a file in it
		}
		insert := "@" + strings.ReplaceAll(f.Path, " ", `\ `)
		if !strings.HasSuffix(insert, "/") {
			insert += " "
		}
		p.Items = append(p.Items, Item{Label: text.Clean(f.Path), insert: insert, weak: f.Weak || typed == ""})
	}
	if note != "" {
		p.Items = append(p.Items, Item{Label: text.Clean(note), weak: true, note: true})
	}
}
