package filestore

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// work generates a session like real work on code: rounds of thinking, tool calls and results of 1 to 60 kB, and
// sometimes user input. It always generates the same session.
type work struct {
	random *rand.Rand
	code   []string // lines
	seq    event.Seq
	call   int
}

func newWork() *work {
	w := &work{random: rand.New(rand.NewPCG(1, 2))}
	lines := []string{
		"func (s *Server) handle%d(w http.ResponseWriter, r *http.Request) error {",
		"\tif err := json.NewDecoder(r.Body).Decode(&req%d); err != nil {",
		"\t\treturn fmt.Errorf(\"handler %d: cannot decode %%q: %%w\", r.URL.Path, err)",
		"\t}",
		"\tfor i, item := range items[%d:] {",
		"\t\tif i > 0 && item.Next <= last { // größer als zuvor → weiter",
		"\t\t\tlog.Printf(\"item\\t%d: <%%s>\\n\", item.Name)",
		"\tconst label%d = \"日本語 😀\"",
		"",
		"./internal/server/handler_%d.go:120:\treturn nil, nil",
		"}",
		"--- FAIL: TestHandler_%d (0.00s)",
		"The change keeps the order of the entries; see docs/notes-%d.md for the reasons behind it.",
	}
	for range 4000 {
		line := lines[w.random.IntN(len(lines))]
		if strings.Contains(line, "%") {
			line = fmt.Sprintf(line, w.random.IntN(10_000))
		}
		w.code = append(w.code, line+"\n")
	}
	return w
}

// text returns about the given amount of code.
func (w *work) text(size int) string {
	var b strings.Builder
	for i := w.random.IntN(len(w.code)); b.Len() < size; i++ {
		b.WriteString(w.code[i%len(w.code)])
	}
	return b.String()
}

// size returns a random size, more likely small than large.
func (w *work) size(least, most int) int {
	x := w.random.Float64()
	return int(float64(least) * math.Pow(float64(most)/float64(least), x*x*x))
}

func (w *work) record(d event.Data) event.Record {
	w.seq++
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC).Add(time.Duration(w.seq) * time.Second)
	return event.Record{Seq: w.seq, Time: at, Session: "2026-01-02-a-session", Data: d}
}

// round returns one round's records: up to the model's answer, and up to the start of the next call.
func (w *work) round() (answer, results []event.Record) {
	w.call++
	usage := llm.Usage{Input: 4000, Output: 300, Reasoning: 100, CacheRead: 90_000, Raw: json.RawMessage(`{"input_tokens":4000,"output_tokens":300,"cache_read_input_tokens":90000}`)}
	m := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		llm.Thinking{Text: w.text(w.size(200, 4000)), State: llm.State{Dialect: "anthropic", Model: "model-1", Data: []byte(strings.Repeat("c2lnbmF0dXJl", 30))}},
		llm.Text{Text: w.text(w.size(50, 1500))},
	}}
	answer = append(answer, w.record(event.ModelCallEnd{Call: w.call, Model: "model-1", Usage: usage, Duration: 3 * time.Second, Finish: "tool_calls"}))
	end := w.record(nil)
	answer = append(answer, end)
	for i := range 1 + w.random.IntN(3) {
		id := fmt.Sprintf("toolu_%d_%d", w.call, i)
		arguments, _ := json.Marshal(map[string]any{"file_path": "internal/server/handler.go", "old_string": w.text(w.size(50, 2000)), "offset": 100})
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "edit_file", Arguments: string(arguments)})
		answer = append(answer, w.record(event.ToolCallStart{ID: id, Name: "edit_file", Arguments: arguments}))
		output := w.text(w.size(1000, 60_000))
		seen := output
		if len(seen) > 30_000 {
			seen = seen[:15_000] + "\n[... cut ...]\n" + seen[len(seen)-15_000:]
			seen = strings.ToValidUTF8(seen, "?")
		}
		results = append(results, event.Record{Data: event.ToolCallEnd{ID: id, Name: "edit_file", Output: tool.Text(output), Model: seen, Fields: map[string]any{"exit_code": 0}, Duration: time.Second}})
	}
	answer[1].Data = event.TextEnd{Call: w.call, ID: fmt.Sprint("msg_", w.call), Message: m}
	if w.random.IntN(20) == 0 {
		results = append(results, event.Record{Data: event.UserInput{Message: llm.UserText(w.text(w.size(50, 5000)))}})
	}
	results = append(results, event.Record{Data: event.ModelCallStart{Call: w.call + 1, Provider: "anthropic", Model: "model-1", Messages: 2 * w.call}})
	for i, r := range results {
		results[i] = w.record(r.Data)
	}
	return answer, results
}
