// Package edit has the message draft: a multi-line editor with completion, history and vim mode. Editor and Buffer
// do no I/O. Other parts read and write the files that a draft needs: its history, the saved draft, an external editor,
// and images.
package edit

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Options configure an editor. All are optional.
type Options struct {
	Keys     *keys.Map
	Rule     text.Rule
	History  *History
	Files    Finder           // for completions of @file
	Commands func() []Command // for completions of /command
}

// Editor edits a message draft.
type Editor struct {
	buf    Buffer
	opts   Options
	keys   *keys.Map
	layout layout
	width  int
	top    int // first visible row

	popup  *Popup
	closed int // where the word starts whose popup the user closed, or -1

	recalled int // how many entries back in the history
	stash    Entry
	search   *search
	vim      *vim
}

// New returns an empty editor.
func New(o Options) *Editor {
	e := &Editor{opts: o, keys: o.Keys, width: 80, closed: -1}
	if e.keys == nil {
		e.keys = keys.Default()
	}
	if e.keys.Vim {
		e.vim = &vim{e: e}
	}
	e.buf.goal = -1
	return e
}

// Outcome is what a key did.
type Outcome struct {
	Handled bool
	// Action is what the caller has to do: submit, open an editor, quit. It is empty if the key has no meaning in the
	// draft.
	Action keys.Action
}

var handled = Outcome{Handled: true}

// Handle handles a key.
func (e *Editor) Handle(k keys.Key) Outcome {
	if e.search != nil {
		return e.searchKey(k)
	}
	if e.popup != nil {
		if a, ok := e.keys.Find(k, keys.List); ok && e.popupAction(a) {
			return handled
		}
	}
	if e.vim != nil && e.vim.key(k) {
		return handled
	}
	if a, ok := e.keys.Find(k, keys.Editor); ok {
		return e.Do(a)
	}
	if k.Text != "" && k.Mods&(keys.Alt|keys.Ctrl|keys.Super) == 0 {
		e.Insert(k.Text)
		return handled
	}
	return Outcome{}
}

// Do runs an editor action. An action that needs more than the draft is returned: see [Outcome].
func (e *Editor) Do(a keys.Action) Outcome {
	version, recalled, opened := e.buf.version, e.recalled, e.popup
	out := e.do(a)
	switch {
	case e.recalled != recalled:
	case e.buf.version != version:
		e.changed()
	case out.Handled && e.popup == opened:
		e.popup = nil // the caret left the word
	}
	return out
}

func (e *Editor) do(a keys.Action) Outcome {
	b := &e.buf
	switch a {
	case keys.Submit:
		return e.enter()
	case keys.Newline:
		b.insert("\n")
	case keys.CompleteOrQueue, keys.DeleteOrQuit:
		if a == keys.DeleteOrQuit && b.text != "" {
			b.remove(b.caret, b.next(b.caret))
			break
		}
		if a == keys.CompleteOrQueue && e.openPopup(true) {
			break
		}
		return Outcome{Action: a}
	case keys.HistorySearch:
		if e.opts.History == nil {
			return Outcome{Action: a}
		}
		e.startSearch()
	case keys.HistoryPrev:
		e.recall(1)
	case keys.HistoryNext:
		e.recall(-1)
	case keys.CaretUp:
		e.vertical(-1)
	case keys.CaretDown:
		e.vertical(1)
	case keys.ShowPaste:
		b.show()
	default:
		if !b.do(a) {
			return Outcome{Action: a}
		}
	}
	return handled
}

// do runs the actions that need only the text.
func (b *Buffer) do(a keys.Action) bool {
	at, line := b.caret, b.line(b.caret)
	switch a {
	case keys.CharLeft:
		b.move(b.prev(at))
	case keys.CharRight:
		b.move(b.next(at))
	case keys.WordLeft:
		b.move(b.wordLeft(at))
	case keys.WordRight:
		b.move(b.wordRight(at))
	case keys.LineStart:
		b.move(line.from)
	case keys.LineEnd:
		b.move(line.to)
	case keys.TextStart:
		b.move(0)
	case keys.TextEnd:
		b.move(len(b.text))
	case keys.DeleteLeft:
		b.remove(b.prev(at), at)
	case keys.DeleteRight:
		b.remove(at, b.next(at))
	case keys.KillWordLeft:
		b.kill(b.wordLeft(at), at)
	case keys.KillWordRight:
		b.kill(at, b.wordRight(at))
	case keys.KillLineLeft:
		b.kill(line.from, at)
	case keys.KillLineRight:
		if line.to == at && at < len(b.text) {
			line.to++
		}
		b.kill(at, line.to)
	case keys.Yank:
		b.yank()
	case keys.YankPop:
		b.yankPop()
	case keys.Undo:
		b.undo()
	case keys.Redo:
		b.redo()
	default:
		return false
	}
	return true
}

// enter inserts a line break after a backslash. Otherwise the draft is to be submitted.
func (e *Editor) enter() Outcome {
	b := &e.buf
	if at := b.caret; at > 0 && b.text[at-1] == '\\' && !strings.HasSuffix(b.text[:at-1], "\\") {
		b.begin(other)
		b.replace(at-1, at, "\n")
		return handled
	}
	return Outcome{Action: keys.Submit}
}

// vertical moves the caret up or down by one row, or into the history at the first and last row.
func (e *Editor) vertical(by int) {
	b := &e.buf
	e.layout.of(b, e.width, e.opts.Rule)
	row := e.layout.row(b.caret) + by
	if row < 0 || row >= len(e.layout.rows) {
		e.recall(-by)
		return
	}
	column := b.goal
	if column < 0 {
		column = e.layout.column(b.caret)
	}
	b.begin(moving)
	b.caret, b.goal = e.layout.at(row, column), column
}

// Insert types a text.
func (e *Editor) Insert(s string) {
	e.buf.insert(s)
	e.changed()
}

// changed updates what depends on the text.
func (e *Editor) changed() {
	e.recalled = 0
	e.complete()
}

// Paste inserts a pasted text. It never submits. A text with more than 5 lines or 1,000 characters is folded.
func (e *Editor) Paste(s string) {
	if e.search != nil {
		e.searchText(plain(s))
		return
	}
	e.buf.paste(s)
	e.recalled, e.popup = 0, nil
}

// PasteImage inserts an image.
func (e *Editor) PasteImage(i Image) {
	e.buf.image(i)
	e.popup = nil
}

// Empty reports whether the draft has no text.
func (e *Editor) Empty() bool { return e.buf.text == "" }

// Version returns a number that changes whenever the text does.
func (e *Editor) Version() int { return e.buf.version }

// Message is a draft as it is sent.
type Message struct {
	Text   string
	Images []Image
	Entry  Entry // for the history
}

// Message returns the draft as it is sent: with the text of folded pastes.
func (e *Editor) Message() Message {
	m := Message{Text: e.buf.expand(e.buf.text), Entry: e.buf.entry()}
	for _, c := range foldsOf(e.buf.text) {
		if f := e.buf.fold(c); f != nil && f.Image != nil {
			m.Images = append(m.Images, *f.Image)
		}
	}
	return m
}

// Take returns the draft as it is sent, adds it to the history, and empties it.
func (e *Editor) Take() (Message, error) {
	m := e.Message()
	e.Clear()
	if e.opts.History == nil || strings.TrimSpace(m.Text) == "" {
		return m, nil
	}
	return m, e.opts.History.Add(m.Entry)
}

// Clear empties the draft.
func (e *Editor) Clear() {
	e.buf.reset()
	e.popup, e.search, e.closed = nil, nil, -1
	e.recalled, e.stash, e.top = 0, Entry{}, 0
	if e.vim != nil {
		e.vim.reset()
	}
}

// SetText replaces the draft by a text, such as a message that was taken back from the queue. It can be undone.
func (e *Editor) SetText(s string) { e.setEntry(Entry{Text: s}) }

func (e *Editor) setEntry(n Entry) {
	e.buf.set(e.buf.refer(n))
	e.popup, e.closed = nil, -1
}

// Shell returns the command line in a draft such as "!go test", which the user wants to run.
func (m Message) Shell() (command string, ok bool) {
	command, ok = strings.CutPrefix(m.Text, "!")
	if command = strings.TrimSpace(command); !ok || command == "" {
		return "", false
	}
	return command, true
}

// View lays out the draft in at most the given number of columns and rows.
func (e *Editor) View(width, rows int) View {
	e.width = max(width, 2)
	e.layout.of(&e.buf, e.width, e.opts.Rule)
	all := len(e.layout.rows)
	rows = min(max(rows, 1), all)
	caret := e.layout.row(e.buf.caret)
	e.top = max(min(e.top, caret, all-rows), caret-rows+1)
	return View{
		Lines: e.layout.render(e.top, e.top+rows),
		X:     min(e.layout.column(e.buf.caret), e.width-1),
		Y:     caret - e.top,
		Above: e.top,
		Below: all - rows - e.top,
	}
}
