//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// taskDone is the last message of the model.
const taskDone = "The task is done."

// taskStep is a tool call of a task. Each one that changes something leaves its own marker once.
type taskStep string

const (
	reads  taskStep = "read"
	looks  taskStep = "look" // at the file to be edited
	edits  taskStep = "edit"
	shells taskStep = "shell"
	floods taskStep = "flood" // prints more than fits into a record
	leaves taskStep = "leave" // leaves a process behind
)

// longTask lists rounds of calls.
var longTask = [][]taskStep{
	{reads, reads, reads},
	{shells},
	{reads, looks, edits, shells},
	{floods},
	{looks, edits, edits},
	{shells, reads, reads, shells},
	{leaves, looks, edits},
	{reads, reads, reads, reads},
	{floods, shells},
	{looks, edits, shells},
}

// task is a model that works on a task. Its next call depends only on the conversation. It repeats an
// interrupted call with a new marker.
type task struct {
	rounds [][]taskStep
	dir    string

	mu       sync.Mutex
	markers  int
	problems []string
}

// newTask creates the workspace of a task.
func newTask(t *testing.T, rounds [][]taskStep) *task {
	t.Helper()
	k := &task{rounds: rounds, dir: t.TempDir()}
	for name, text := range map[string]string{"read.txt": "something to read\n", "notes.txt": "END\n", "journal.txt": ""} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func (k *task) problem(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.problems = append(k.problems, fmt.Sprintf(format, args...))
}

func (k *task) reply(_ int, r *llm.Request) llmtest.Turn {
	rest := k.rest(r.Messages)
	if len(rest) == 0 {
		return llmtest.Say(taskDone)
	}
	turn := llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "Going on with it."}}}
	for _, s := range rest {
		k.mu.Lock()
		k.markers++
		marker := fmt.Sprintf("m%03d", k.markers)
		k.mu.Unlock()
		turn.Parts = append(turn.Parts, s.call(marker))
	}
	return turn
}

// rest returns the remaining calls of the current round, or the next round.
func (k *task) rest(messages []llm.Message) []taskStep {
	round, rest := 0, k.rounds[0]
	for i, m := range messages {
		if m.Role != llm.RoleAssistant || len(m.ToolCalls()) == 0 {
			continue
		}
		results := resultsOf(messages[i+1:])
		if len(rest) != len(results) {
			k.problem("%d calls have %d results", len(rest), len(results))
			return nil
		}
		var again []taskStep
		for i, s := range rest {
			switch text := results[i].Text(); {
			case interrupted(text) && s == edits: // it may have changed the file
				again = append(again, looks, s)
			case interrupted(text):
				again = append(again, s)
			case !strings.Contains(text, s.says()):
				k.problem("a call to %s failed: %.300s", s, text)
			}
		}
		if rest = again; len(rest) > 0 {
			continue
		}
		if round++; round == len(k.rounds) {
			return nil
		}
		rest = k.rounds[round]
	}
	return rest
}

// interrupted reports whether a result is that of an interrupted call.
func interrupted(result string) bool { return strings.Contains(result, "interrupted: ") }

// resultsOf returns the leading tool results of messages.
func resultsOf(messages []llm.Message) (results []llm.ToolResult) {
	for _, m := range messages {
		if m.Role == llm.RoleAssistant {
			break
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, r)
			}
		}
	}
	return results
}

// says returns a part of the output of a successful call.
func (s taskStep) says() string {
	switch s {
	case reads:
		return "something to read"
	case looks:
		return "END"
	case edits:
		return "1 replacement"
	}
	return "marked"
}

func (s taskStep) call(marker string) llm.ToolCall {
	name, args := "shell", ""
	mark := fmt.Sprintf("echo %[1]s $$ >> journal.txt; echo marked %[1]s", marker)
	switch s {
	case reads:
		name, args = "read_file", `{"file_path":"read.txt"}`
	case looks:
		name, args = "read_file", `{"file_path":"notes.txt"}`
	case edits:
		name, args = "edit_file", fmt.Sprintf(`{"file_path":"notes.txt","old_string":"END","new_string":"%s\nEND"}`, marker)
	case shells:
		args = fmt.Sprintf(`{"command":%q}`, mark)
	case floods:
		args = fmt.Sprintf(`{"command":%q}`, mark+"; printf '%0100000d' 7")
	case leaves:
		args = fmt.Sprintf(`{"command":%q}`, fmt.Sprintf("sleep 600 >/dev/null 2>&1 & echo %[1]s $! >> journal.txt; echo marked %[1]s", marker))
	}
	return llm.ToolCall{ID: "call_" + marker, Name: name, Arguments: args}
}

// ran counts the effects of calls, by marker.
func (k *task) ran(t *testing.T) map[string]int {
	t.Helper()
	times := make(map[string]int)
	for _, name := range []string{"journal.txt", "notes.txt"} {
		for line := range strings.Lines(k.read(t, name)) {
			if marker := strings.Fields(line)[0]; marker != "END" {
				times[marker]++
			}
		}
	}
	return times
}

// processes returns the process IDs of the commands and of their children.
func (k *task) processes(t *testing.T) (pids []int) {
	t.Helper()
	for line := range strings.Lines(k.read(t, "journal.txt")) {
		pid, err := strconv.Atoi(strings.Fields(line)[1])
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func (k *task) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(k.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
