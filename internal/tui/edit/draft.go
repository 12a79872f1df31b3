package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/internal/filelock"
)

// Draft is a draft as it is saved.
type Draft struct {
	Parts []Part `json:"parts"`
	Caret int    `json:"caret"` // in bytes, where a fold counts as one character
}

// Part is text, a folded paste or an image in a draft.
type Part struct {
	Text  string `json:"text,omitempty"`
	Paste string `json:"paste,omitempty"`
	Image *Image `json:"image,omitempty"`
}

// Draft returns the draft to be saved.
func (e *Editor) Draft() Draft {
	d := Draft{Caret: e.buf.caret}
	for rest := e.buf.text; rest != ""; {
		c := cluster(rest)
		if f := e.buf.fold(c); f != nil && (f.pasted() || f.Image != nil) {
			p := Part{Image: f.Image}
			if f.Image == nil {
				p.Paste = f.Text
			}
			d.Parts, rest = append(d.Parts, p), rest[len(c):]
			continue
		}
		n := len(c)
		if at := strings.IndexFunc(rest[n:], isFold); at < 0 {
			n = len(rest)
		} else {
			n += at
		}
		d.Parts, rest = append(d.Parts, Part{Text: e.buf.expand(rest[:n])}), rest[n:]
	}
	return d
}

// Restore replaces the draft by a saved one.
func (e *Editor) Restore(d Draft) {
	e.Clear()
	b := &e.buf
	b.begin(other)
	for _, p := range d.Parts {
		s := b.admit(p.Text)
		switch {
		case p.Image != nil:
			s = b.addImage(*p.Image)
		case p.Paste != "":
			s = b.addPaste(plain(p.Paste))
		}
		b.replace(len(b.text), len(b.text), s)
	}
	b.caret = b.snap(min(max(d.Caret, 0), len(b.text)))
}

// saveAfter is how long a change waits for others before the draft is saved.
const saveAfter = 500 * time.Millisecond

// maxDrafts is the number of drafts in a directory, one for each running program.
const maxDrafts = 64

// DraftFile saves this program's draft, so that a crash loses at most the last second. It is safe for concurrent use.
type DraftFile struct {
	path string
	lock *os.File
	save func(path string, data []byte, mode os.FileMode) error

	writing sync.Mutex // held while the file changes, so that Save does not wait for the disk
	mu      sync.Mutex
	pending *Draft
	timer   *time.Timer
	err     error
}

// OpenDraft returns a file for drafts in a directory, which it creates, and a draft that an ended program left without
// sending it. Each file belongs to one program at a time.
func OpenDraft(dir string) (*DraftFile, Draft, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Draft{}, fmt.Errorf("cannot save drafts: %w", err)
	}
	var free *DraftFile
	for n := 1; n <= maxDrafts; n++ {
		f, err := takeDraft(filepath.Join(dir, fmt.Sprintf("draft-%d.json", n)))
		if err != nil {
			return nil, Draft{}, errors.Join(fmt.Errorf("cannot save drafts: %w", err), free.release())
		}
		if f == nil { // another program has it
			continue
		}
		d, exists := f.read()
		if len(d.Parts) > 0 {
			return f, d, free.release()
		}
		if free == nil {
			free = f
		} else if err := f.release(); err != nil {
			return nil, Draft{}, errors.Join(err, free.release())
		}
		if !exists && !lockExists(dir, n+1) {
			break
		}
	}
	if free == nil {
		return nil, Draft{}, fmt.Errorf("cannot save drafts: %d programs have drafts in %s", maxDrafts, dir)
	}
	return free, Draft{}, nil
}

func lockExists(dir string, n int) bool {
	_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("draft-%d.json.lock", n)))
	return err == nil
}

// takeDraft locks a file, or returns nil if another program has it.
func takeDraft(path string) (*DraftFile, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if ok, err := filelock.Try(lock); err != nil || !ok {
		return nil, errors.Join(err, lock.Close())
	}
	return &DraftFile{path: path, lock: lock, save: atomicfile.Write}, nil
}

func (f *DraftFile) release() error {
	if f == nil {
		return nil
	}
	return errors.Join(filelock.Unlock(f.lock), f.lock.Close()) // a process that is being forked has the file too
}

// read returns the saved draft, which is empty if it cannot be read.
func (f *DraftFile) read() (d Draft, exists bool) {
	data, err := os.ReadFile(f.path)
	if err != nil || json.Unmarshal(data, &d) != nil {
		return Draft{}, !errors.Is(err, fs.ErrNotExist)
	}
	return d, true
}

// Save saves a draft within half a second, unless another one replaces it. An empty draft removes the file. It does not
// wait for the disk, and returns the error that an earlier save met.
func (f *DraftFile) Save(d Draft) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err
	f.err = nil
	if f.lock == nil {
		return err
	}
	if f.pending == nil {
		f.timer = time.AfterFunc(saveAfter, f.flush)
	}
	f.pending = &d
	return err
}

// flush writes the pending draft.
func (f *DraftFile) flush() {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.mu.Lock()
	d := f.pending
	f.pending = nil
	f.mu.Unlock()
	if d == nil {
		return
	}
	if err := f.write(*d); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = fmt.Errorf("cannot save the draft: %w", err)
	}
}

func (f *DraftFile) write(d Draft) error {
	if len(d.Parts) == 0 {
		if err := os.Remove(f.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return f.save(f.path, data, 0o600)
}

// Close saves the last draft and gives the file to the next program.
func (f *DraftFile) Close() error {
	f.flush()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	if f.timer != nil {
		f.timer.Stop()
	}
	err := errors.Join(f.err, f.release())
	f.lock = nil
	return err
}
