package lsptools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// serveFake is a language server for files with the extension .fk: a line "ERR text" is an error, and old is a symbol.
// The mode says how it behaves: "silent" sends no diagnostics, and "grows" finds a further file at the second rename.
func serveFake(mode string) {
	var root string
	renames := 0
	in := bufio.NewReader(os.Stdin)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				RootURI      string
				TextDocument struct {
					URI, Text string
					Version   int
				}
				ContentChanges []struct{ Text string }
				NewName        string
			}
		}
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		if err := json.Unmarshal(body, &m); err != nil {
			panic(err)
		}
		var result any = []any{}
		doc := m.Params.TextDocument
		switch m.Method {
		case "initialize":
			root = strings.TrimPrefix(m.Params.RootURI, "file://")
			result = map[string]any{"capabilities": map[string]any{}}
		case "textDocument/didChange":
			doc.Text = m.Params.ContentChanges[0].Text
			fallthrough
		case "textDocument/didOpen":
			if mode != "silent" {
				write(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{"uri": doc.URI, "version": doc.Version, "diagnostics": problems(doc.Text)}})
			}
		case "textDocument/rename", "textDocument/references":
			renames++
			names, _ := filepath.Glob(filepath.Join(root, "*.fk"))
			if mode == "grows" && renames == 1 {
				names = names[1:]
			}
			edits, places := map[string]any{}, []any{}
			for _, name := range names {
				b, _ := os.ReadFile(name)
				var list []any
				for n, line := range strings.Split(string(b), "\n") {
					if i := strings.Index(line, "old"); i >= 0 {
						where := map[string]any{"start": map[string]any{"line": n, "character": i}, "end": map[string]any{"line": n, "character": i + 3}}
						list = append(list, map[string]any{"range": where, "newText": m.Params.NewName})
						places = append(places, map[string]any{"uri": "file://" + name, "range": where})
					}
				}
				edits["file://"+name] = list
			}
			if result = places; m.Method == "textDocument/rename" {
				result = map[string]any{"changes": edits}
			}
		case "exit":
			return
		}
		if m.ID != nil {
			write(map[string]any{"id": m.ID, "result": result})
		}
	}
}

func problems(text string) []any {
	list := []any{}
	for n, line := range strings.Split(text, "\n") {
		if said, ok := strings.CutPrefix(line, "ERR "); ok {
			at := map[string]any{"line": n, "character": 0}
			list = append(list, map[string]any{"range": map[string]any{"start": at, "end": at}, "severity": 1, "message": said})
		}
	}
	return list
}

func write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(b), b)
}
