package patch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reins-agent/reins/coding/patch"
	"github.com/reins-agent/reins/coding/textfile"
)

// seeds adds the patches of the scenarios, with a file each.
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

// Parse never panics; what it accepts is complete, and what it refuses is
// refused at a line of the patch.
func FuzzParse(f *testing.F) {
	seeds(f, func(text, _ string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		p, err := patch.Parse(text)
		if err != nil {
			var syntax *patch.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error of type %T", err)
			}
			if lines := strings.Count(text, "\n") + 1; syntax.Line < 1 || syntax.Line > lines {
				t.Fatalf("error at line %d of %d", syntax.Line, lines)
			}
			return
		}
		for _, op := range p.Ops {
			checkOp(t, op)
		}
	})
}

func checkOp(t *testing.T, op patch.Op) {
	t.Helper()
	switch op := op.(type) {
	case patch.Add:
		if op.Path == "" || op.Content != "" && !strings.HasSuffix(op.Content, "\n") {
			t.Fatalf("incomplete: %+v", op)
		}
	case patch.Delete:
		if op.Path == "" {
			t.Fatalf("incomplete: %+v", op)
		}
	case patch.Update:
		if op.Path == "" || len(op.Hunks) == 0 {
			t.Fatalf("incomplete: %+v", op)
		}
		for _, h := range op.Hunks {
			if len(h.Lines) == 0 || h.Line <= op.Line {
				t.Fatalf("incomplete: %+v", h)
			}
		}
	}
}

// Planning never panics and never changes its input. An updated file is text
// that ends with a newline, and a patch that only has context changes nothing
// else.
func FuzzApply(f *testing.F) {
	seeds(f, func(text, content string) { f.Add([]byte(content), text) })
	f.Add([]byte("\xff\xfea\x00\r\x00\n\x00"), update("@@\n-a\n+b\n"))
	f.Add([]byte("a\rb\n\n"), "@@\n-b\n")
	f.Add([]byte("a\r\nb"), " a\n+c\n-b\n\n@@ x\n+d\n")
	f.Fuzz(func(t *testing.T, content []byte, text string) {
		p, err := patch.Parse(text)
		if err != nil {
			// Most mutations break the frame; what is inside may still do.
			if p, err = patch.Parse(update(text)); err != nil {
				return
			}
		}
		before := string(content)
		plan, err := p.Plan(everywhere(content), patch.Options{})
		if string(content) != before {
			t.Fatal("the input changed")
		}
		if err != nil {
			var failure *patch.Error
			if !errors.As(err, &failure) || len(plan.Ops) > 0 {
				t.Fatalf("error of type %T with %d operations", err, len(plan.Ops))
			}
			return
		}
		for _, op := range plan.Ops {
			if op, ok := op.(patch.Rewrite); ok {
				checkRewrite(t, op, p)
			}
		}
	})
}

// everywhere is a Source with the same content at every path.
type everywhere []byte

func (e everywhere) Read(string) ([]byte, error) { return e, nil }
func (e everywhere) Exists(string) (bool, error) { return true, nil }

func checkRewrite(t *testing.T, op patch.Rewrite, p patch.Patch) {
	t.Helper()
	if before, err := textfile.Decode(op.Before); err != nil || before.Encoding() != textfile.UTF8 {
		return // what follows reads the bytes as UTF-8
	}
	file, err := textfile.Decode(op.Content)
	if err != nil {
		t.Fatalf("%q became %q: %v", op.Before, op.Content, err)
	}
	if !file.Endings().Final {
		t.Fatalf("%q became %q without a final newline", op.Before, op.Content)
	}
	if len(p.Ops) == 1 && onlyContext(p.Ops[0].(patch.Update)) && strings.TrimRight(string(op.Before), "\r\n") != strings.TrimRight(string(op.Content), "\r\n") {
		t.Fatalf("context alone changed %q to %q", op.Before, op.Content)
	}
}

func onlyContext(op patch.Update) bool {
	for _, h := range op.Hunks {
		for _, line := range h.Lines {
			if line.Op != patch.Keep {
				return false
			}
		}
	}
	return true
}
