package lsp

import (
	"testing"

	"github.com/reins-agent/reins/env"
)

func TestPositions_CountInTheServersUnits(t *testing.T) {
	const line = "s := \"é😀\"; x" // é is 2 bytes, and the emoji 4 bytes or 2 UTF-16 units
	for _, c := range []struct {
		enc  encoding
		x    int // units before x
		char int
	}{{utf8Units, 15, 11}, {utf16Units, 12, 11}, {utf32Units, 11, 11}} {
		if got := c.enc.units(line[:len(line)-1]); got != c.x {
			t.Errorf("%s: the text before x has %d units, want %d", c.enc, got, c.x)
		}
		if got := line[c.enc.offset(line, c.x):]; got != "x" {
			t.Errorf("%s: unit %d is at %q, want x", c.enc, c.x, got)
		}
		if got := c.enc.column(line, c.x); got != c.char {
			t.Errorf("%s: x is character %d, want %d", c.enc, got, c.char)
		}
		if got := c.enc.offset(line, 1000); got != len(line) {
			t.Errorf("%s: a column after the end is at %d, want %d", c.enc, got, len(line))
		}
		p := Point{Line: 1, Symbol: "x"}
		if at, err := p.find(newText(line), c.enc); err != nil || at.Character != c.x {
			t.Errorf("%s: symbol x found at %+v, %v; want column %d", c.enc, at, err, c.x)
		}
		p = Point{Line: 1, Column: c.char + 1}
		if at, err := p.find(newText(line), c.enc); err != nil || at.Character != c.x {
			t.Errorf("%s: character %d found at %+v, %v; want column %d", c.enc, c.char+1, at, err, c.x)
		}
	}
}

func TestText_AppliesEditsToAllLineEndings(t *testing.T) {
	edit := func(line, from, to int, s string) textEdit {
		return textEdit{span{position{line, from}, position{line, to}}, s}
	}
	for _, c := range []struct {
		text, want string
		edits      []textEdit
	}{
		{"😀 old\r\nold\rx old\n", "😀 new\r\nnew\rx new\n", []textEdit{edit(2, 2, 5, "new"), edit(0, 3, 6, "new"), edit(1, 0, 3, "new")}},
		{"a\n", "a\nb", []textEdit{edit(5, 0, 0, "b")}},
		{"ab", "a12b", []textEdit{edit(0, 1, 1, "1"), edit(0, 1, 1, "2")}},
	} {
		if got, err := newText(c.text).apply(c.edits, utf16Units); err != nil || got != c.want {
			t.Errorf("%q: got %q, %v; want %q", c.text, got, err, c.want)
		}
	}
	if got, err := newText("abcd").apply([]textEdit{edit(0, 0, 3, "x"), edit(0, 2, 4, "y")}, utf16Units); err == nil {
		t.Errorf("overlapping edits: got %q and no error", got)
	}
}

func TestConvert_ADiagnosticWithoutASeverityIsAnError(t *testing.T) {
	for given, want := range map[int]Severity{0: Error, 1: Error, 2: Warning, 4: Hint, 5: Error} {
		if got := new(client).convert("f", nil, diagnostic{Severity: given}).Severity; got != want {
			t.Errorf("severity %d is %s, want %s", given, got, want)
		}
	}
}

func TestPoint_FindsWholeWords(t *testing.T) {
	for _, c := range []struct {
		line, name string
		want       int
	}{
		{"xs := x + y", "x", 6}, {"fmt.Println(Print)", "Print", 12}, {"a.B(b)", "a.B", 2}, {"prefix", "ref", 1}, {"x", "y", -1},
		{"é.Größe = 1", "Größe", 3}, {"Find()", "pkg.Find", 0},
	} {
		if got := word(c.line, c.name); got != c.want {
			t.Errorf("%q in %q: found at %d, want %d", c.name, c.line, got, c.want)
		}
	}
}

func TestURIs_KeepThePath(t *testing.T) {
	for _, c := range []struct{ platform, path, uri string }{
		{"linux", "/a b/ü#?.go", "file:///a%20b/%C3%BC%23%3F.go"},
		{"linux", "/100%/x:y.go", "file:///100%25/x:y.go"},
		{"windows", `C:\dir\a.go`, "file:///C:/dir/a.go"},
	} {
		p := env.PathsOf(c.platform)
		if got := uriOf(p, c.path); got != c.uri {
			t.Errorf("the URI of %s is %s, want %s", c.path, got, c.uri)
		}
		if got, ok := pathOf(p, c.uri); !ok || got != c.path {
			t.Errorf("the path of %s is %q, want %s", c.uri, got, c.path)
		}
	}
	for _, uri := range []string{"untitled:1", "http://host/a.go", "file://host/a.go", "%", "file:a.go"} {
		if got, ok := pathOf(env.PathsOf("linux"), uri); ok {
			t.Errorf("the path of %s is %q, want none", uri, got)
		}
	}
	if got, ok := pathOf(env.PathsOf("linux"), "file:///w/../../etc/passwd"); !ok || got != "/etc/passwd" {
		t.Errorf("got %q, want the clean path /etc/passwd", got)
	}
}
