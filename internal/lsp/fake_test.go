package lsp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// fake is a language server for tests, for files with the extension .fk. A line "ERR text" is an error, and every word
// is a symbol that is defined in its file's first line "def word". It does not diagnose texts with "SILENT". The mode
// selects how it misbehaves.
type fake struct {
	mode string
	root string
	enc  encoding
	docs map[string]string // by URI
	vers map[string]int

	loaded bool
	told   bool       // the client was told to try again
	mu     sync.Mutex // held while a message is written
}

// serveFake runs the server until its input ends.
func serveFake(mode string, enc encoding) {
	f := &fake{mode: mode, enc: enc, docs: map[string]string{}, vers: map[string]int{}}
	if mode == "dies" {
		fmt.Fprintln(os.Stderr, "cannot load")
		os.Exit(3)
	}
	var in framer
	buf := make([]byte, 32<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return
		}
		if err := in.write(buf[:n], f.message); err != nil {
			panic(err)
		}
	}
}

func (f *fake) out(m message) {
	b, err := encode(m)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mode == "noise" {
		fmt.Print("loading\nContent-Type: x\n{broken\n\n", string(frame([]byte(`{"jsonrpc":`))), string(frame([]byte(`{"id":4711,"result":[]}`))), string(frame([]byte(`{"id":"x"}`))))
	}
	if _, err := os.Stdout.Write(b); err != nil {
		os.Exit(1)
	}
}

func (f *fake) message(b []byte) {
	var m received
	if err := json.Unmarshal(b, &m); err != nil {
		panic(err)
	}
	var p struct {
		RootURI      string
		TextDocument struct {
			URI, Text string
			Version   int
		}
		ContentChanges []struct{ Text string }
		Position       position
		NewName        string
		Changes        []struct {
			URI  string
			Type int
		}
		Capabilities struct {
			Experimental struct{ ServerStatusNotification bool }
		}
	}
	_ = json.Unmarshal(m.Params, &p)
	doc := p.TextDocument
	switch m.Method {
	case "initialize":
		f.root = strings.TrimPrefix(p.RootURI, "file://")
		result := map[string]any{"capabilities": map[string]any{"positionEncoding": f.enc, "diagnosticProvider": f.mode == "pull" || f.mode == "checks"}}
		f.out(message{ID: m.ID, Result: result})
		if p.Capabilities.Experimental.ServerStatusNotification {
			f.status(true)
		}
		f.begin()
	case "textDocument/didOpen":
		f.set(doc.URI, doc.Text, doc.Version)
	case "textDocument/didChange":
		f.set(doc.URI, p.ContentChanges[0].Text, doc.Version)
	case "textDocument/didSave":
		if f.mode == "checks" {
			go f.check(doc.URI, f.docs[doc.URI])
		}
	case "textDocument/didClose":
		delete(f.docs, doc.URI)
	case "workspace/didChangeWatchedFiles":
		for _, c := range p.Changes {
			f.tell("watched-"+filepath.Base(c.URI), c.Type)
		}
	case "$/cancelRequest":
		f.tell("cancelled", 0)
	case "shutdown":
		f.out(message{ID: m.ID, Result: json.RawMessage("null")})
	case "exit":
		if f.mode != "stays" {
			os.Exit(0)
		}
	case "textDocument/diagnostic":
		if f.mode == "checks" {
			f.answerTwice(m)
			return
		}
		f.out(message{ID: m.ID, Result: map[string]any{"kind": "full", "items": f.errorsOf(f.docs[doc.URI])}})
	case "textDocument/documentSymbol":
		if f.mode == "loads" {
			f.progress("begin")
		}
		f.out(message{ID: m.ID, Result: []any{}})
		f.tell("begun", 0)
	case "fake/load":
		f.progress("end")
	default:
		if len(m.ID) > 0 && m.Method != "" {
			f.request(m, doc.URI, p.Position, p.NewName)
		}
	}
}

// status reports whether the server has finished its work in the background.
func (f *fake) status(quiescent bool) {
	f.out(message{Method: "experimental/serverStatus", Params: map[string]any{"health": "ok", "quiescent": quiescent}})
}

// check does what rust-analyzer does after a save: it runs the compiler and sends the errors when it has nothing else to do.
func (f *fake) check(uri, text string) {
	step := func(method string, params map[string]any) {
		time.Sleep(3 * settleTime / 2)
		f.out(message{Method: method, Params: params})
	}
	step("$/progress", map[string]any{"token": "fake/check/0", "value": map[string]any{"kind": "begin"}})
	f.status(false)
	step("$/progress", map[string]any{"token": "fake/check/0", "value": map[string]any{"kind": "end"}})
	step("textDocument/publishDiagnostics", map[string]any{"uri": uri, "diagnostics": f.errorsOf(text)})
	f.status(true)
}

// answerTwice finds nothing itself, and asks to try again first.
func (f *fake) answerTwice(m received) {
	if f.told = !f.told; f.told {
		f.out(message{ID: m.ID, Error: &rpcError{Code: codeContentModified, Message: "content modified"}})
		return
	}
	f.out(message{ID: m.ID, Result: map[string]any{"kind": "full", "items": []any{}}})
}

// progress reports that the project is being loaded.
func (f *fake) progress(kind string) {
	f.out(message{Method: "$/progress", Params: map[string]any{"token": 1, "value": map[string]any{"kind": kind}}})
	f.loaded = kind == "end"
}

// begin misbehaves after the start.
func (f *fake) begin() {
	switch f.mode {
	case "deaf":
		r, _, _ := os.Pipe()
		_, _ = r.Read(make([]byte, 1)) // for ever
	case "flood":
		for i := range 5000 {
			f.out(message{Method: "textDocument/publishDiagnostics", Params: map[string]any{"uri": fmt.Sprintf("file:///f%d.fk", i), "diagnostics": f.errorsOf("ERR x")}})
		}
	case "asks":
		for i, method := range []string{"workspace/configuration", "client/registerCapability", "window/workDoneProgress/create", "workspace/applyEdit", "made/up"} {
			f.out(message{ID: json.RawMessage(fmt.Sprint(100 + i)), Method: method, Params: map[string]any{"items": []any{map[string]any{"section": "fake"}}}})
		}
	}
}

// tell tells the test about an event, by diagnostics for a file. Their version is the event's number.
func (f *fake) tell(name string, number int) {
	f.out(message{Method: "textDocument/publishDiagnostics", Params: map[string]any{"uri": "file:///" + name, "version": number, "diagnostics": []any{}}})
}

func (f *fake) set(uri, text string, version int) {
	f.docs[uri], f.vers[uri] = text, version
	if f.mode == "pull" || f.mode == "silent" || f.mode == "checks" || strings.Contains(text, "SILENT") {
		return
	}
	params := map[string]any{"uri": uri, "diagnostics": f.errorsOf(text)}
	if f.mode != "unversioned" {
		params["version"] = version
	}
	f.out(message{Method: "textDocument/publishDiagnostics", Params: params})
}

func (f *fake) errorsOf(text string) []any {
	list := []any{}
	for n, line := range newText(text).start {
		_ = line
		if i := strings.Index(newText(text).line(n), "ERR "); i >= 0 {
			said := newText(text).line(n)
			at := position{n, f.enc.units(said[:i])}
			list = append(list, map[string]any{"range": span{at, at}, "severity": 1, "source": "fake", "message": said[i+4:]})
		}
	}
	return list
}

// files returns the text of every document in the workspace, by URI.
func (f *fake) files() map[string]string {
	all := map[string]string{}
	names, _ := filepath.Glob(filepath.Join(f.root, "*.fk"))
	for _, name := range names {
		b, _ := os.ReadFile(name)
		all["file://"+name] = string(b)
	}
	for uri, text := range f.docs {
		all[uri] = text
	}
	return all
}

func (f *fake) request(m received, uri string, at position, newName string) {
	t := newText(f.docs[uri])
	switch {
	case f.mode == "silent":
		f.tell("asked", 0)
		return
	case f.mode == "crash":
		fmt.Fprintln(os.Stderr, strings.Repeat("loading a file\n", 1000)+"panic: broken") // more than is kept
		os.Exit(2)
	}
	rest := t.s[t.offset(at, f.enc):]
	name := rest
	if i := strings.IndexAny(rest, " \r\n"); i >= 0 {
		name = rest[:i]
	}
	var found []any
	edits := map[string][]textEdit{}
	for i, doc := range slices.Sorted(maps.Keys(f.files())) {
		if f.mode == "loads" && !f.loaded && i > 0 {
			break
		}
		t := newText(f.files()[doc])
		for n := range t.start {
			i := word(t.line(n), name)
			if i < 0 || m.Method == "textDocument/definition" && !strings.HasPrefix(t.line(n), "def ") {
				continue
			}
			start := position{n, f.enc.units(t.line(n)[:i])}
			where := span{start, position{n, start.Character + f.enc.units(name)}}
			found = append(found, map[string]any{"uri": doc, "range": where})
			edits[doc] = append(edits[doc], textEdit{where, newName})
		}
	}
	result := any(found)
	switch m.Method {
	case "textDocument/hover":
		result = map[string]any{"contents": map[string]any{"kind": "markdown", "value": "word " + name}}
	case "textDocument/rename":
		switch f.mode {
		case "escape":
			edits["file:///etc/hostname"] = []textEdit{{NewText: "x"}}
		case "moves":
			result = map[string]any{"documentChanges": []any{map[string]any{"kind": "rename", "oldUri": uri, "newUri": uri + "x"}}}
			f.out(message{ID: m.ID, Result: result})
			return
		}
		result = map[string]any{"changes": edits}
	}
	f.out(message{ID: m.ID, Result: result})
}
