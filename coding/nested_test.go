package coding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// write writes files below the working directory.
func (g *openRig) write(files map[string]string) {
	g.Helper()
	for name, content := range files {
		path := filepath.Join(g.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			g.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			g.Fatal(err)
		}
	}
}

func readCall(file string) llmtest.Turn { return llmtest.Call("read_file", `{"file_path":"`+file+`"}`) }

func TestNestedDocs_AreGivenOnceAndAgainAfterACompaction(t *testing.T) {
	g := newOpenRig(t)
	g.write(map[string]string{
		"AGENTS.md": "Root.", "sub/CLAUDE.md": "Nested: @more.md", "sub/more.md": "More.",
		"sub/a.txt": "a", "sub/b.txt": "b", "sub/deep/c.txt": "c", "x.txt": "x",
	})
	g.model = llmtest.Play(
		readCall("x.txt"), readCall("sub/a.txt"), readCall("sub/b.txt"),
		llmtest.Call("write_file", `{"file_path":"sub/deep/new.txt","content":"n"}`), llmtest.Say("done"),
		readCall("sub/deep/c.txt"), llmtest.Say("done"), readCall("sub/deep/c.txt"), llmtest.Say("done"),
	)
	config := Config{Model: "gpt-5.6", Session: agent.Config{
		Policy: policy.AllowAll{}, Compaction: agent.Compaction{NoModel: true},
	}}
	s := g.open(config)
	submit := func(s *agent.Session) {
		t.Helper()
		if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	submit(s)
	const block = `<project_instructions path="sub/CLAUDE.md" trusted="no">` + "\nNested: @more.md\n</project_instructions>"
	for i, text := range results(s) {
		if has := strings.Contains(text, block) && strings.Contains(text, "\nMore.\n"); has != (i == 1) {
			t.Errorf("result %d: got %q", i, text)
		}
	}
	first, last := g.model.Requests()[0], g.model.Requests()[4]
	if first.Messages[0].Text() != last.Messages[0].Text() {
		t.Error("the system prompt changed")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	config.Resume = s.ID()
	s = g.open(config)
	submit(s)
	if got := results(s); strings.Contains(got[len(got)-1], "Nested:") {
		t.Errorf("given again after a resume: %q", got)
	}
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	submit(s)
	if got := results(s); !strings.Contains(got[len(got)-1], block) {
		t.Errorf("not given after a compaction: %q", got[len(got)-1])
	}
}

// results returns the results of calls that the model has seen.
func results(s *agent.Session) (list []string) {
	for _, m := range s.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				list = append(list, r.Text())
			}
		}
	}
	return list
}
