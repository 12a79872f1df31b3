package lsp

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/search"
)

const (
	maxDocuments = 32      // open at the same time
	maxDocument  = 4 << 20 // bytes
	maxFiles     = 20_000  // files that are checked for changes
)

// document is a file that is open in the server. The server uses the text that it was sent, not the file.
type document struct {
	path    string
	text    string
	version int
	stamp   stamp
	sent    int // number of publications before the text was sent
	used    int
}

// stamp changes when a file's content changes, except in rare cases.
type stamp struct {
	size int64
	mod  time.Time
}

func (c *client) stampOf(ctx context.Context, path string) (stamp, error) {
	info, err := c.env.Stat(ctx, path)
	return stamp{info.Size, info.ModTime}, err
}

func (c *client) id(path string) map[string]any {
	return map[string]any{"uri": uriOf(c.paths, path)}
}

// open sends a file's current content, unless the server already has it, and returns the document.
func (c *client) open(ctx context.Context, path string) (document, error) {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	return c.send(ctx, path)
}

// send is like open; c.syncing is held.
func (c *client) send(ctx context.Context, path string) (d document, err error) {
	at, err := c.stampOf(ctx, path)
	if err != nil {
		return d, err
	}
	content, err := env.ReadFile(ctx, c.env, path, maxDocument)
	if err != nil {
		return d, err
	}
	t, err := decode(path, content)
	if err != nil {
		return d, err
	}
	key := c.paths.Key(path)
	c.uses++
	if open := c.docs[key]; open != nil {
		open.used, open.stamp = c.uses, at
		if open.text == t.s {
			return *open, nil
		}
		open.version++
		open.text, open.sent = t.s, c.publications()
		id := c.id(path)
		id["version"] = open.version
		changes := []any{map[string]any{"text": t.s}}
		err := c.conn.notify("textDocument/didChange", map[string]any{"textDocument": id, "contentChanges": changes})
		return *open, err
	}
	if len(c.docs) >= maxDocuments {
		oldest := slices.MinFunc(slices.Collect(maps.Values(c.docs)), func(a, b *document) int { return a.used - b.used })
		c.shut(oldest.path)
	}
	open := &document{
		path:    path,
		text:    t.s,
		version: 1,
		stamp:   at,
		sent:    c.publications(),
		used:    c.uses,
	}
	c.docs[key] = open
	return *open, c.conn.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uriOf(c.paths, path), "languageId": c.server.language(c.paths, path), "version": 1, "text": t.s,
	}})
}

// shut closes a document; c.syncing is held.
func (c *client) shut(path string) {
	if key := c.paths.Key(path); c.docs[key] != nil {
		delete(c.docs, key)
		_ = c.conn.notify("textDocument/didClose", map[string]any{"textDocument": c.id(path)})
	}
}

// saved tells the server that files were written, created or deleted.
func (c *client) saved(ctx context.Context, paths []string) {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	var events []any
	for _, p := range paths {
		at, err := c.stampOf(ctx, p)
		kind := fileChanged
		switch _, known := c.files[p]; {
		case errors.Is(err, fs.ErrNotExist):
			kind = fileDeleted
			c.shut(p)
			delete(c.files, p)
		case err != nil:
			continue
		case c.files != nil:
			if !known {
				kind = fileCreated
			}
			c.files[p] = at
		}
		events = append(events, c.event(p, kind))
	}
	c.tell(events)
	for _, p := range paths {
		if c.docs[c.paths.Key(p)] != nil {
			c.mu.Lock()
			c.due = c.server.CheckToken != ""
			c.mu.Unlock()
			_ = c.conn.notify("textDocument/didSave", map[string]any{"textDocument": c.id(p)})
		}
	}
}

// Types of file changes.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)

func (c *client) event(path string, kind int) any {
	return map[string]any{"uri": uriOf(c.paths, path), "type": kind}
}

func (c *client) tell(events []any) {
	if len(events) > 0 {
		_ = c.conn.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
	}
}

// refresh tells the server which files changed on disk: open documents and, if c.stale is set, all other files.
func (c *client) refresh(ctx context.Context) {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	for _, d := range slices.Collect(maps.Values(c.docs)) {
		at, err := c.stampOf(ctx, d.path)
		switch {
		case err != nil:
			c.shut(d.path)
		case at != d.stamp:
			_, _ = c.send(ctx, d.path)
		}
	}
	if c.stale.Swap(false) {
		c.tell(c.scan(ctx))
	}
}

// scan lists the files for the server and returns the changes since the last scan. In a workspace with too many files
// it returns none.
func (c *client) scan(ctx context.Context) (events []any) {
	var patterns []string
	for _, s := range c.server.suffixes() {
		patterns = append(patterns, "*."+s)
	}
	found, err := search.Glob(ctx, c.env, search.GlobQuery{
		Pattern: "**/{" + strings.Join(append(patterns, c.server.Files...), ",") + "}",
		Path:    c.root,
		Limit:   maxFiles,
		Timeout: 5 * time.Second,
	})
	if err != nil || found.Summary.Partial {
		c.files = nil
		return nil
	}
	now := make(map[string]stamp, len(found.Files))
	for _, f := range found.Files {
		p, at := c.paths.Clean(f.Path), stamp{f.Size, f.ModTime}
		now[p] = at
		switch before, known := c.files[p]; {
		case c.files == nil:
		case !known:
			events = append(events, c.event(p, fileCreated))
		case before != at:
			events = append(events, c.event(p, fileChanged))
		}
	}
	for p := range c.files {
		if _, still := now[p]; !still {
			events = append(events, c.event(p, fileDeleted))
		}
	}
	c.files = now
	return events
}
