package edit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/filelock"
)

// History file limits.
const (
	keptEntries = 1000
	keptBytes   = 8 << 20
)

// Entry is a message in the history: its whole text, and which parts were folded.
type Entry struct {
	Text  string   `json:"text"`
	Folds [][2]int `json:"folds,omitempty"`
}

// entry returns the draft for the history.
func (b *Buffer) entry() Entry {
	var out strings.Builder
	var n Entry
	for s := b.text; s != ""; {
		at := strings.IndexFunc(s, isFold)
		if at < 0 {
			out.WriteString(s)
			break
		}
		out.WriteString(s[:at])
		c := cluster(s[at:])
		if f := b.fold(c); f != nil {
			from := out.Len()
			out.WriteString(f.content())
			if f.pasted() {
				n.Folds = append(n.Folds, [2]int{from, out.Len()})
			}
		}
		s = s[at+len(c):]
	}
	n.Text = out.String()
	return n
}

// refer returns an entry's text with folds.
func (b *Buffer) refer(n Entry) string {
	var out strings.Builder
	from := 0
	for _, f := range n.Folds {
		if f[0] < from || f[1] < f[0] || f[1] > len(n.Text) {
			continue // not a file that we wrote
		}
		out.WriteString(b.admit(n.Text[from:f[0]]))
		out.WriteString(b.addPaste(plain(n.Text[f[0]:f[1]])))
		from = f[1]
	}
	out.WriteString(b.admit(n.Text[from:]))
	return out.String()
}

// History is the messages that the user has sent in a project. Several programs can use the file. It is not for
// concurrent use.
type History struct {
	path    string
	entries []Entry // the last one last
	read    int64   // bytes of the file
	file    fs.FileInfo
}

// OpenHistory reads a history file, which need not exist. Its directory is created when the first message is added.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	return h, h.Refresh()
}

// Refresh reads what other programs have added.
func (h *History) Refresh() error {
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		h.entries, h.read, h.file = nil, 0, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	if h.file == nil || !os.SameFile(h.file, info) || info.Size() < h.read {
		h.entries, h.read = nil, 0
	}
	h.file = info
	if info.Size() == h.read {
		return nil
	}
	if _, err := f.Seek(h.read, io.SeekStart); err != nil {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, 4*keptBytes))
	if err != nil {
		return fmt.Errorf("cannot read the history: %w", err)
	}
	end := bytes.LastIndexByte(data, '\n') + 1 // the rest is being written
	h.read += int64(end)
	for line := range bytes.Lines(data[:end]) {
		var n Entry
		if json.Unmarshal(line, &n) == nil && n.Text != "" {
			h.entries = append(h.entries, n)
		}
	}
	h.entries = kept(h.entries)
	return nil
}

// kept returns the entries within the limits.
func kept(list []Entry) []Entry {
	size, from := 0, len(list)
	for from > 0 && len(list)-from < keptEntries {
		size += len(list[from-1].Text)
		if size > keptBytes {
			break
		}
		from--
	}
	return slices.Clone(list[from:])
}

// Len returns the number of messages.
func (h *History) Len() int { return len(h.entries) }

// Back returns the message that is n messages back, from 1.
func (h *History) Back(n int) Entry { return h.entries[len(h.entries)-n] }

// Add adds a message, unless it is the same as the last one. It keeps the last 1,000 messages, and at most 8 MiB.
func (h *History) Add(n Entry) error {
	if err := h.Refresh(); err != nil {
		return err
	}
	if h.Len() > 0 && h.Back(1).Text == n.Text {
		return nil
	}
	if err := h.append(n); err != nil {
		return fmt.Errorf("cannot save the message in the history: %w", err)
	}
	return h.Refresh()
}

func (h *History) append(n Entry) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(h.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if full, err := h.full(); err != nil || full {
		return errors.Join(err, h.rewrite(n))
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// full reports whether the file has twice as much as is kept.
func (h *History) full() (bool, error) {
	if h.read > 2*keptBytes {
		return true, nil
	}
	f, err := os.Open(h.path)
	if err != nil {
		return false, nil // it is created
	}
	defer f.Close()
	lines := 0
	r := bufio.NewReader(f)
	for {
		switch _, err := r.ReadSlice('\n'); {
		case err == nil:
			lines++
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF:
			return lines >= 2*keptEntries, nil
		default:
			return false, err
		}
	}
}

// rewrite writes the file anew with the kept entries.
func (h *History) rewrite(n Entry) error {
	if err := h.Refresh(); err != nil {
		return err
	}
	var data bytes.Buffer
	for _, n := range kept(append(h.entries, n)) {
		line, err := json.Marshal(n)
		if err != nil {
			return err
		}
		data.Write(append(line, '\n'))
	}
	return atomicfile.Write(h.path, data.Bytes(), 0o600)
}

// lock locks a file against other programs.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := filelock.Wait(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("another program holds %s: %w", path, err), f.Close())
	}
	return func() { f.Close() }, nil
}

// Search returns how many messages back the messages are that contain a text, newest first, without repetitions. Letters
// match in any case unless the text has capitals.
func (h *History) Search(query string, limit int) (back []int) {
	fold := query == strings.ToLower(query)
	seen := map[string]bool{}
	for n := 1; n <= h.Len() && len(back) < limit; n++ {
		s := h.Back(n).Text
		found := strings.Contains(s, query)
		if fold && !found {
			found = strings.Contains(strings.ToLower(s), query)
		}
		if found && !seen[s] {
			seen[s] = true
			back = append(back, n)
		}
	}
	return back
}
