package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The protocol's types, with the fields that are used. Lines and columns count from 0.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
	// LocationLink fields:
	TargetURI       string `json:"targetUri"`
	TargetSelection span   `json:"targetSelectionRange"`
}

// locations decodes a Location, a list of them, a list of LocationLinks, or null.
type locations []location

func (l *locations) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		b = append(append([]byte("["), b...), ']')
	}
	if err := json.Unmarshal(b, (*[]location)(l)); err != nil {
		return err
	}
	for i, x := range *l {
		if x.TargetURI != "" {
			(*l)[i] = location{URI: x.TargetURI, Range: x.TargetSelection}
		}
	}
	return nil
}

type diagnostic struct {
	Range    span            `json:"range"`
	Severity int             `json:"severity"`
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

// documentSymbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type documentSymbol struct {
	Name      string           `json:"name"`
	Kind      int              `json:"kind"`
	Selection span             `json:"selectionRange"`
	Children  []documentSymbol `json:"children"`
	Location  *location        `json:"location"`
	Container string           `json:"containerName"`
}

// callItem is a CallHierarchyItem, which is sent back unchanged.
type callItem struct {
	raw       json.RawMessage
	Name      string `json:"name"`
	Kind      int    `json:"kind"`
	URI       string `json:"uri"`
	Selection span   `json:"selectionRange"`
}

func (c *callItem) UnmarshalJSON(b []byte) error {
	type plain callItem
	if err := json.Unmarshal(b, (*plain)(c)); err != nil {
		return err
	}
	c.raw = append(json.RawMessage(nil), b...)
	return nil
}

func (c callItem) MarshalJSON() ([]byte, error) { return c.raw, nil }

// markup is a hover's text: MarkupContent, a MarkedString, or a list of MarkedStrings.
type markup string

func (m *markup) UnmarshalJSON(b []byte) error {
	var list []markup
	var content struct{ Language, Value string }
	switch {
	case len(b) > 0 && b[0] == '[':
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		for i, part := range list {
			if i > 0 {
				*m += "\n\n"
			}
			*m += part
		}
		return nil
	case len(b) > 0 && b[0] == '{':
		err := json.Unmarshal(b, &content)
		if *m = markup(content.Value); content.Language != "" {
			*m = markup("```" + content.Language + "\n" + content.Value + "\n```")
		}
		return err
	}
	return json.Unmarshal(b, (*string)(m))
}

// workspaceEdit is a change of several documents.
type workspaceEdit struct {
	Changes         map[string][]textEdit `json:"changes"`
	DocumentChanges []struct {
		Kind         string `json:"kind"` // file operation; "" for edits
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
		Edits []textEdit `json:"edits"`
	} `json:"documentChanges"`
}

// byURI returns the edits of each document. File operations are an error.
func (w workspaceEdit) byURI() (map[string][]textEdit, error) {
	if len(w.DocumentChanges) == 0 {
		return w.Changes, nil
	}
	edits := make(map[string][]textEdit)
	for _, c := range w.DocumentChanges {
		if c.Kind != "" {
			return nil, fmt.Errorf("this rename would also %s files, which is not supported", c.Kind)
		}
		edits[c.TextDocument.URI] = append(edits[c.TextDocument.URI], c.Edits...)
	}
	return edits, nil
}

var symbolKinds = strings.Fields(`file module namespace package class method property field constructor enum interface function
	variable constant string number boolean array object key null enum-member struct event operator type-parameter`)

// kindName returns a symbol kind's name.
func kindName(kind int) string {
	if kind < 1 || kind > len(symbolKinds) {
		return "symbol"
	}
	return symbolKinds[kind-1]
}

// capabilities are the client's capabilities.
var capabilities = json.RawMessage(`{
	"general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
	"workspace": {
		"configuration": true, "workspaceFolders": true, "didChangeWatchedFiles": {"dynamicRegistration": true},
		"workspaceEdit": {"documentChanges": true}, "symbol": {}
	},
	"window": {"workDoneProgress": true},
	"experimental": {"serverStatusNotification": true},
	"textDocument": {
		"synchronization": {"didSave": true},
		"publishDiagnostics": {"versionSupport": true},
		"diagnostic": {},
		"definition": {"linkSupport": true}, "references": {}, "rename": {}, "callHierarchy": {},
		"hover": {"contentFormat": ["markdown", "plaintext"]},
		"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}
	}
}`)

// initialized is the result of initialize.
type initialized struct {
	Capabilities struct {
		PositionEncoding encoding        `json:"positionEncoding"`
		Diagnostics      json.RawMessage `json:"diagnosticProvider"`
	} `json:"capabilities"`
}
