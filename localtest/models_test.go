package localtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/reins-agent/reins/localtest/gguf"
)

// model is a scripted model. Its template counts the answers so far, and ends the prompt with the next answer's cue.
type model struct {
	name     string
	script   gguf.Model
	template string
	window   int // num_ctx; 0 means the server's default, 4096 without a GPU
}

// Parts of templates. Ollama derives a model's capabilities from them: it has tools if the template mentions .Tools,
// calls begin with the text after .ToolCalls, and thinking is between the texts around .Thinking.
const (
	begin    = `{{- $said := "" }}{{ range .Messages }}<|{{ .Role }}|>`
	thinking = `{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}`
	content  = `{{ .Content }}`
	calls    = `{{ if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{ end }}</tool_call>{{ end }}`
	counting = `{{ if eq .Role "assistant" }}{{ $said = print $said "x" }}{{ end }}{{ end }}`
	tools    = `{{ if .Tools }}{{ range .Tools }}{{ . }}
{{ end }}{{ end }}`
	cue = `<|answer{{ len $said }}|>`

	full     = begin + thinking + content + calls + counting + tools + cue
	noThink  = begin + content + calls + counting + tools + cue
	textOnly = begin + content + counting + cue
)

const (
	greeting = "Hello from a real server with scripted weights. Grüße, 世界 🎉!"
	window   = 32768 // for models that run the whole loop
)

// call is a model's text for tool calls with the given names and arguments.
func call(list ...string) string {
	text := "<tool_call>\n"
	for c := range slices.Chunk(list, 2) {
		text += fmt.Sprintf("{\"name\": %q, \"arguments\": %s}\n", c[0], c[1])
	}
	return text + "</tool_call>"
}

var editing = gguf.Model{Answers: []string{
	"<think>The file comes first.</think>I read the file." + call("read_file", `{"file_path": "greeting.txt"}`),
	"Now I change it." + call("edit_file", `{"file_path": "greeting.txt", "old_string": "hello", "new_string": "goodbye"}`),
	"<think>Both calls worked.</think>The greeting is now goodbye.",
}}

var reading = gguf.Model{Answers: []string{
	"I read both." + call("read_file", `{"file_path": "greeting.txt"}`, "read_file", `{"file_path": "other.txt"}`),
	"Both have been read.",
}}

// endless never stops, also when it is told to continue.
var endless = gguf.Model{Endless: true, Answers: []string{
	"This loop never ends, and ", "It goes on and on and ", "Still no end in sight, so ", "Again from the beginning: ", "Once more, ",
}}

// models are the models on the shared server, oldest first. Ollama lists the newest first.
var models = []model{
	{name: "think", script: gguf.Model{Answers: []string{"<think>Two and two. Let me see.</think>It is four."}}, template: full, window: window},
	{name: "inline", script: gguf.Model{Answers: []string{"<think>Two and two. Let me see.</think>\n\nIt is four."}}, template: noThink, window: window},
	{name: "edit", script: editing, template: full, window: window},
	{name: "edit-default", script: editing, template: full},
	{name: "two", script: reading, template: full, window: window},
	{name: "swallowed", script: gguf.Model{Answers: []string{call("no_such_tool", `{"path": "greeting.txt"}`)}}, template: full, window: window},
	{name: "endless", script: endless, template: full, window: window},
	{name: "text", script: gguf.Model{Answers: []string{greeting}}, template: full, window: window},
	{name: "no-tools", script: gguf.Model{Answers: []string{greeting}}, template: textOnly, window: window},
}

// create gives a model to the server.
func (s *server) create(m model) error {
	for _, page := range []string{"../docs/tools.md", "../docs/events.md"} { // English and JSON
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		m.script.Sample += string(text)
	}
	m.script.Context = 131072
	var weights bytes.Buffer
	if err := m.script.Write(&weights); err != nil {
		return fmt.Errorf("model %s: %w", m.name, err)
	}
	// More threads are slower: there is so little to compute that they only wait for each other.
	modelfile := "FROM ./model.gguf\nTEMPLATE \"\"\"" + m.template + "\"\"\"\nPARAMETER num_thread 1\n"
	if m.window > 0 {
		modelfile += fmt.Sprintf("PARAMETER num_ctx %d\n", m.window)
	}
	for name, data := range map[string][]byte{"model.gguf": weights.Bytes(), "Modelfile": []byte(modelfile)} {
		if err := os.WriteFile(filepath.Join(s.home, name), data, 0o600); err != nil {
			return err
		}
	}
	cmd := s.command("create", m.name, "-f", "Modelfile")
	cmd.Dir = s.home
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ollama create %s: %w\n%s", m.name, err, out)
	}
	return nil
}
