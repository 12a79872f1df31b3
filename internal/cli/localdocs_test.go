package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"github.com/reins-agent/reins/internal/exchanges"
)

// TestDocs_CommandsForLocalModelsRun runs the commands of docs/local-models.md, in order, on a machine with Ollama and
// llama.cpp, and compares the output that the page shows.
func TestDocs_CommandsForLocalModelsRun(t *testing.T) {
	data, err := os.ReadFile("../../docs/local-models.md")
	if err != nil {
		t.Fatal(err)
	}
	ollama := exchanges.Serve(t, func(r exchanges.Request) string {
		switch {
		case r.Path == "/v1/models":
			return `{"data":[{"id":"nomic-embed-text:latest","owned_by":"library"},{"id":"qwen3-coder:latest","owned_by":"library"}]}`
		case r.Path == "/api/show" && strings.Contains(r.Body, "nomic"):
			return `{"capabilities":["embedding"]}`
		case r.Path == "/api/show":
			return `{"capabilities":["completion","tools"]}`
		case r.Path == "/api/ps":
			return `{"models":[{"name":"qwen3-coder:latest","context_length":32768}]}`
		case strings.Contains(r.Body, `"stream":true`):
			return "ollama-call-answer"
		}
		return "ollama-text"
	})
	llama := exchanges.Serve(t, func(r exchanges.Request) string {
		return map[string]string{"/v1/models": "llamacpp-models", "/v1/chat/completions": "llamacpp-text"}[r.Path]
	})
	m := newMachine(t, at("Ollama", ollama))
	here := strings.NewReplacer("http://127.0.0.1:11434", ollama.URL, "http://127.0.0.1:8080", llama.URL)
	page := here.Replace(string(data))
	ran := 0
	for _, block := range regexp.MustCompile("(?s)```(console|toml)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if block[1] == "toml" {
			m.configure(block[2])
			continue
		}
		var output string
		for line := range strings.Lines(block[2]) {
			command, isCommand := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			switch {
			case !isCommand && !strings.Contains(output, strings.TrimSpace(line)):
				t.Errorf("the page shows a line that is not printed:\n%s\n%s", line, output)
			case isCommand && strings.HasPrefix(command, "reins "):
				args, err := shell.Fields(command, nil)
				if err != nil {
					t.Fatal(err)
				}
				out, side := m.reins(0, args[1:]...)
				output = out + side
				ran++
			}
		}
	}
	if ran < 10 {
		t.Errorf("%d commands ran; the page has more", ran)
	}
}
