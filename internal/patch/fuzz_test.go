package patch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reins-agent/reins/internal/textfile"
)

// seeds adds the patches from the scenarios, with a file each.
func seeds(f *testing.F, add func(text, content string)) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var text, content string
		for _, file := range txtar.Parse(data).Files {
			if file.Name == "patch" {
				text = string(file.Data)
			} else if strings.HasPrefix(file.Name, "in/") && content == "" {
				content = string(file.Data)
			}
		}
		add(text, content)
	}
}

// Parse never panics. A patch that it accepts is complete, and an error names a line in the patch.
func FuzzParse(f *testing.F) {
	seeds(f, func(text, _ string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var at int
			if _, scan := fmt.Sscanf(err.Error(), "invalid patch, line %d:", &at); scan != nil {
				t.Fatalf("error %q names no line", err)
			}
			if lines := strings.Count(text, "\n") + 1; at < 1 || at > lines {
				t.Fatalf("error at line %d of %d", at, lines)
			}
			return
		}
		for _, op := range p.Ops {
			if op.Path == "" || op.Content != "" && !strings.HasSuffix(op.Content, "\n") || (op.Action == Update) != (len(op.hunks) > 0) {
				t.Fatalf("incomplete: %+v", op)
			}
			for _, h := range op.hunks {
				if len(h.lines) == 0 || h.line <= op.Line {
					t.Fatalf("incomplete: %+v", h)
				}
			}
		}
	})
}

// Plan never panics and never changes its input. An updated file is text that ends with a newline. A
// patch with only context changes nothing else.
func FuzzApply(f *testing.F) {
	seeds(f, func(text, content string) { f.Add([]byte(content), text) })
	f.Add([]byte("\xff\xfea\x00\r\x00\n\x00"), update("@@\n-a\n+b\n"))
	f.Add([]byte("a\rb\n\n"), "@@\n-b\n")
	f.Add([]byte("a\r\nb"), " a\n+c\n-b\n\n@@ x\n+d\n")
	f.Fuzz(func(t *testing.T, content []byte, text string) {
		p, err := Parse(text)
		if err != nil {
			// Most mutations break the frame; the inside may still be valid.
			if p, err = Parse(update(text)); err != nil {
				return
			}
		}
		before := string(content)
		plan, err := p.Plan(everywhere(content), Options{})
		if string(content) != before {
			t.Fatal("the input changed")
		}
		if err != nil {
			var failure *Error
			if !errors.As(err, &failure) || len(plan.Ops) > 0 {
				t.Fatalf("error of type %T with %d operations", err, len(plan.Ops))
			}
			return
		}
		if slices.ContainsFunc(p.Ops, func(op Op) bool { return op.Action != Update }) {
			return
		}
		for _, op := range plan.Ops {
			checkUpdate(t, content, op.Content, p)
		}
	})
}

// everywhere is a Source with the same content at every path.
type everywhere []byte

func (e everywhere) Read(string) ([]byte, error) { return e, nil }
func (e everywhere) Exists(string) (bool, error) { return true, nil }

func checkUpdate(t *testing.T, before, after []byte, p Patch) {
	t.Helper()
	if file, err := textfile.Decode(before); err != nil || file.Encoding() != textfile.UTF8 {
		return // the checks below read the bytes as UTF-8
	}
	file, err := textfile.Decode(after)
	if err != nil {
		t.Fatalf("%q became %q: %v", before, after, err)
	}
	if text := file.Text(); len(text) > 0 && !bytes.ContainsRune([]byte("\r\n"), rune(text[len(text)-1])) {
		t.Fatalf("%q became %q without a final newline", before, after)
	}
	if len(p.Ops) == 1 && onlyContext(p.Ops[0]) && strings.TrimRight(string(before), "\r\n") != strings.TrimRight(string(after), "\r\n") {
		t.Fatalf("context alone changed %q to %q", before, after)
	}
}

func onlyContext(op Op) bool {
	for _, h := range op.hunks {
		if slices.ContainsFunc(h.lines, func(l hunkLine) bool { return l.op != keep }) {
			return false
		}
	}
	return true
}
