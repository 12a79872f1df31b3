package wire_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00"

func TestInline_ReadsLocalFilesAndFindsTheirType(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct{ data, want string }{
		"picture.png":   {png, "image/png"},
		"wrong.txt":     {png, "image/png"}, // by content
		"paper.pdf":     {"%PDF-1.7\n", "application/pdf"},
		"no-extension":  {"GIF89a....", "image/gif"},
		"page.html":     {"just words", "text/html"}, // by name
		"words.unknown": {"just words", "text/plain"},
		"bytes.unknown": {"\x00\x01\x02", "application/octet-stream"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := wire.Inline(llm.Media{Path: path})
		if err != nil || string(m.Data) != tt.data || m.MIME != tt.want || m.Name != name {
			t.Errorf("%s: %q, %q, %v; want %q", name, m.MIME, m.Name, err, tt.want)
		}
	}
}

func TestInline_KeepsGivenTypes(t *testing.T) {
	for _, data := range []string{png, "\x00\x01"} {
		m, err := wire.Inline(llm.Media{Data: []byte(data), MIME: "application/x-own", Name: "mine"})
		if err != nil || m.MIME != "application/x-own" || m.Name != "mine" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func TestInline_DetectsImageTypes(t *testing.T) {
	for _, tt := range []struct{ given, data, want string }{
		{"image/png", "\xff\xd8\xff\xe0....", "image/jpeg"},
		{"image/jpeg", png, "image/png"},
		{"image/jpg", "\xff\xd8\xff\xe0....", "image/jpeg"},
		{"application/octet-stream", "GIF89a....", "image/gif"},
		{"image/heic", "\x00\x00\x00\x18ftypheic", "image/heic"},
		{"image/png", "no image at all", "image/png"},
	} {
		m, err := wire.Inline(llm.Media{Data: []byte(tt.data), MIME: tt.given})
		if err != nil || m.MIME != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.given, m.MIME, err, tt.want)
		}
		uri := "data:" + tt.given + ";base64," + base64.StdEncoding.EncodeToString([]byte(tt.data))
		want := strings.Replace(uri, tt.given, tt.want, 1)
		if !strings.HasPrefix(tt.given, "image/") {
			want = uri
		}
		if got := wire.TrueDataURI(uri); got != want {
			t.Errorf("%s became %s, want %s", uri, got, want)
		}
	}
	for _, uri := range []string{"", "https://example.com/a.png", "data:", "data:image/png;base64,", "data:image/png;base64,%", "data:image/png,abc"} {
		if got := wire.TrueDataURI(uri); got != uri {
			t.Errorf("%q became %q", uri, got)
		}
	}
}

func TestInline_URLStaysAReference(t *testing.T) {
	m, err := wire.Inline(llm.Media{URL: "https://example.com/a/b.png?size=big"})
	if err != nil || m.Data != nil || m.URL == "" || m.MIME != "image/png" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestInline_DataURIBecomesData(t *testing.T) {
	m, err := wire.Inline(llm.Media{URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))})
	if err != nil || string(m.Data) != png || m.URL != "" || m.MIME != "image/png" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestInline_RefusesUnsupportedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, m := range map[string]llm.Media{
		"nothing":        {},
		"a missing file": {Path: filepath.Join(dir, "none")},
		"a directory":    {Path: dir},
		"no comma":       {URL: "data:image/png;base64"},
		"bad base64":     {URL: "data:image/png;base64,%%%"},
		"bad escape":     {URL: "data:text/plain,%zz"},
	} {
		if got, err := wire.Inline(m); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestInline_HugeFilesAreRefusedBeforeTheyAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.bin")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(101 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.Inline(llm.Media{Path: path}); err == nil || !strings.Contains(err.Error(), "100 MiB") {
		t.Errorf("the error is %v", err)
	}
}

func TestParseDataURI(t *testing.T) {
	for uri, want := range map[string]struct{ kind, data string }{
		"data:text/plain;base64,aGk=":               {"text/plain", "hi"},
		"data:text/plain;charset=utf-8;base64,aGk=": {"text/plain", "hi"},
		"data:;base64,aGk=":                         {"", "hi"},
		"data:text/plain,a%20b,c":                   {"text/plain", "a b,c"},
		"data:,":                                    {"", ""},
	} {
		kind, data, err := wire.ParseDataURI(uri)
		if err != nil || kind != want.kind || string(data) != want.data {
			t.Errorf("%s: %q, %q, %v", uri, kind, data, err)
		}
	}
}
