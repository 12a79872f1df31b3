package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

const (
	maxFound   = 2000 // files with diagnostics
	maxPerFile = 500
	settleTime = 200 * time.Millisecond // how long to wait for more diagnostics after some without a version
	checkTime  = 3 * time.Second        // how long to wait for a check to start after a save
)

// Severity is how serious a diagnostic is.
type Severity int

// The severities.
const (
	Error   Severity = 1
	Warning Severity = 2
	Info    Severity = 3
	Hint    Severity = 4
)

func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Info:
		return "info"
	}
	return "hint"
}

// Diagnostic is a problem that a server found in a file.
type Diagnostic struct {
	Path     string
	Line     int // from 1
	Column   int // in characters, from 1
	Severity Severity
	Source   string // the checker and its code, such as "compiler UndeclaredName"
	Message  string
}

// findings are a file's diagnostics.
type findings struct {
	path    string
	pushed  []diagnostic
	pulled  []diagnostic
	version int // document version; 0 if the server did not report it
	seq     int
}

// published records diagnostics that the server sent.
func (c *client) published(params json.RawMessage) {
	var p struct {
		URI         string
		Version     int
		Diagnostics []diagnostic
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path, ok := pathOf(c.paths, p.URI)
	if !ok {
		return
	}
	c.record(path, func(f *findings) {
		f.pushed, f.version = p.Diagnostics[:min(len(p.Diagnostics), maxPerFile)], p.Version
	})
}

// record changes a file's findings and wakes goroutines that wait for them.
func (c *client) record(path string, change func(*findings)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.paths.Key(path)
	f, known := c.found[key]
	if !known && len(c.found) >= maxFound {
		return
	}
	c.seq++
	f.path, f.seq = path, c.seq
	change(&f)
	c.found[key] = f
	close(c.changed)
	c.changed = make(chan struct{})
}

// publications returns the number of publications so far.
func (c *client) publications() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq
}

// findings returns a file's diagnostics, and a channel that is closed when new diagnostics arrive.
func (c *client) findings(path string) (findings, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found[c.paths.Key(path)], c.changed
}

// check waits until the server has diagnosed a document.
func (c *client) check(ctx context.Context, d document) error {
	if c.pull {
		if err := c.pullOf(ctx, d.path); err != nil || c.server.CheckToken == "" {
			return err
		}
		return c.checked(ctx)
	}
	for {
		f, changed := c.findings(d.path)
		var settled <-chan time.Time
		switch {
		case f.version >= d.version && f.seq > d.sent:
			return nil
		case f.version == 0 && f.seq > d.sent: // more may follow
			settled = time.After(settleTime)
		}
		select {
		case <-changed:
		case <-settled:
			return nil
		case <-c.conn.gone:
			return c.conn.ended()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pullOf requests a document's diagnostics.
func (c *client) pullOf(ctx context.Context, path string) error {
	request := c.server.diagnose
	if request == nil {
		request = standardPull
	}
	got, err := request(ctx, c, path)
	if err == nil {
		c.record(path, func(f *findings) { f.pulled = got[:min(len(got), maxPerFile)] })
	}
	return err
}

func standardPull(ctx context.Context, c *client, path string) ([]diagnostic, error) {
	var got struct{ Items []diagnostic }
	err := c.request(ctx, "textDocument/diagnostic", map[string]any{"textDocument": c.id(path)}, &got)
	return got.Items, err
}

// known returns the diagnostics of all files for which of returns true, or of all files if it is nil.
func (c *client) known(of func(path string) bool) (all []Diagnostic) {
	c.syncing.Lock()
	defer c.syncing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, f := range c.found {
		if of != nil && !of(f.path) {
			continue
		}
		var t *text
		if d := c.docs[key]; d != nil {
			lines := newText(d.text)
			t = &lines
		}
		for _, d := range slices.Concat(f.pushed, f.pulled) {
			all = append(all, c.convert(f.path, t, d))
		}
	}
	slices.SortFunc(all, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			a.Line-b.Line,
			a.Column-b.Column,
			int(a.Severity-b.Severity),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(all)
}

// convert converts a document's diagnostic. Without the text, columns are in the server's encoding.
func (c *client) convert(path string, t *text, d diagnostic) Diagnostic {
	at := d.Range.Start
	if t != nil {
		at.Character = c.enc.column(t.line(at.Line), at.Character)
	}
	var code string
	if json.Unmarshal(d.Code, &code) != nil {
		code = string(d.Code)
	}
	source := d.Source
	if code != "" && code != "null" {
		source += " " + code
	}
	if d.Severity < int(Error) || d.Severity > int(Hint) {
		d.Severity = int(Error)
	}
	return Diagnostic{
		Path:   path,
		Line:   at.Line + 1,
		Column: at.Character + 1,

		Severity: Severity(d.Severity),
		Source:   clean(source, 60),
		Message:  clean(d.Message, 400),
	}
}
