package media

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestIngest_FilesAreReadAndImagesMadeFit(t *testing.T) {
	dir := t.TempDir()
	small := asPNG(smooth(40, 30))
	file := filepath.Join(dir, "photo.jpg") // a PNG
	notes := filepath.Join(dir, "notes.pdf")
	for path, data := range map[string][]byte{file: small, notes: []byte("%PDF-1.4 notes")} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parts := []llm.Part{
		llm.Text{Text: "look"},
		llm.Image{Media: llm.Media{Path: file}},
		llm.Image{Media: llm.Media{URL: "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(small)}},
		llm.Image{Media: llm.Media{URL: "https://example.org/cat.png"}},
		llm.Image{Media: llm.Media{Data: asPNG(smooth(9000, 20))}, Detail: "high"},
		llm.Document{Media: llm.Media{Path: notes}},
		llm.Audio{Media: llm.Media{Data: []byte("RIFF"), MIME: "audio/wav"}},
		llm.Document{},
	}
	before := append([]llm.Part(nil), parts...)
	got, err := Ingest(parts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		if img, ok := parts[i].(llm.Image); ok && img.Path != before[i].(llm.Image).Path {
			t.Error("the caller's parts were changed")
		}
	}
	for i := 1; i <= 2; i++ {
		if img := got[i].(llm.Image); !bytes.Equal(img.Data, small) || img.MIME != "image/png" || img.Path != "" || img.URL != "" {
			t.Errorf("image %d: %s, path %q, URL %q, %d bytes", i, img.MIME, img.Path, img.URL, len(img.Data))
		}
	}
	if img := got[3].(llm.Image); img.URL != "https://example.org/cat.png" || img.Data != nil {
		t.Errorf("a reference became %+v", img)
	}
	if img := got[4].(llm.Image); img.Detail != "high" || len(img.Data) == 0 || bytes.Equal(img.Data, before[4].(llm.Image).Data) {
		t.Error("an image that is too wide was not scaled, or lost its detail")
	}
	if doc := got[5].(llm.Document); doc.MIME != "application/pdf" || doc.Name != "notes.pdf" || doc.Path != "" || len(doc.Data) == 0 {
		t.Errorf("the document is %s, %q", doc.MIME, doc.Name)
	}
}

func TestIngest_ErrorsNameThePart(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.png")
	for name, tt := range map[string]struct {
		part llm.Part
		says string
	}{
		"not an image":  {llm.Image{Media: llm.Media{Data: []byte("hello"), MIME: "image/png"}}, "cannot use part 2 of the input"},
		"missing file":  {llm.Document{Media: llm.Media{Path: missing}}, "none.png"},
		"a directory":   {llm.Audio{Media: llm.Media{Path: t.TempDir()}}, "not a regular file"},
		"a browser's":   {llm.Image{Media: llm.Media{URL: "blob:https://example.org/1"}}, "pass the data instead"},
		"a broken data": {llm.Image{Media: llm.Media{URL: "data:image/png;base64,!"}}, "invalid data URI"},
	} {
		_, err := Ingest([]llm.Part{llm.Text{Text: "x"}, tt.part})
		if llm.KindOf(err) != llm.ErrInvalidRequest || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "part 2") {
			t.Errorf("%s: got %v, want an error that says %q", name, err, tt.says)
		}
	}
}

func TestFitAll_OmitsInvalidImagesWithANote(t *testing.T) {
	good := llm.Image{Media: llm.Media{Data: asPNG(smooth(4, 4))}}
	bad := llm.Image{Media: llm.Media{Data: []byte("hello")}}
	usable, note := FitAll([]llm.Image{good, bad, good, bad})
	if len(usable) != 2 || usable[0].MIME != "image/png" || strings.Count(note, "\n[image omitted: ") != 2 {
		t.Errorf("%d images, note %q", len(usable), note)
	}
	if usable, note := FitAll(nil); usable != nil || note != "" {
		t.Errorf("%v, %q", usable, note)
	}
}
