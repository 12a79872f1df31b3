package coding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestOpen_CondensesALongResultOnceAndForAll(t *testing.T) {
	line := strings.Repeat("x", 999) + "\n"
	for name, c := range map[string]struct {
		char string
		off  bool
	}{"ASCII": {"x", false}, "three bytes": {"字", false}, "off": {"x", true}} {
		t.Run(name, func(t *testing.T) {
			g := newOpenRig(t)
			text := strings.ReplaceAll(strings.Repeat(line, 50)+"ERROR: the middle\n"+strings.Repeat(line, 50), "x", c.char)
			if err := os.WriteFile(filepath.Join(g.dir, "long"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			var seen []string // the result in each request
			g.model.Reply = func(n int, r *llm.Request) llmtest.Turn {
				for _, m := range r.Messages {
					for _, p := range m.Parts {
						if res, ok := p.(llm.ToolResult); ok {
							seen = append(seen, res.Text())
						}
					}
				}
				if n == 0 {
					return llmtest.Call("read_file", `{"file_path":"long"}`)
				}
				return llmtest.Say("ok")
			}
			s := g.open(Config{Model: "m", NoCompaction: c.off})
			for range 2 {
				if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
					t.Fatal(err)
				}
			}
			if len(seen) != 2 || seen[0] != seen[1] {
				t.Fatalf("%d results, want the same twice", len(seen))
			}
			if got := strings.Contains(seen[0], "ERROR: the middle"); got == c.off {
				t.Errorf("the error is kept: %v", got)
			}
			if n := utf8.RuneCountInString(seen[0]); n > 51_000 || n < 20_000 {
				t.Errorf("the model sees %d characters", n)
			}
		})
	}
}
