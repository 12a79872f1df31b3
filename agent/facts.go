package agent

import (
	"slices"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// maxFiles bounds the files that facts remember.
const maxFiles = 200

// facts are what no summary may lose.
type facts struct {
	files []string // that were changed, the latest last
	plan  string   // the last one, as the model gave it
}

// note takes in a call that has ended.
func (f *facts) note(c llm.ToolCall, end event.ToolCallEnd) {
	if end.Error == nil && isPlan(c.Name) {
		f.plan = c.Arguments
	}
	for _, name := range end.Artifacts.FilesChanged {
		files := slices.DeleteFunc(slices.Clone(f.files), func(s string) bool { return s == name })
		f.files = append(files, name)
		if len(f.files) > maxFiles {
			f.files = f.files[1:]
		}
	}
}

// isPlan reports whether a tool keeps the model's plan, under any of the names that vendors give it.
func isPlan(name string) bool {
	switch name {
	case "update_plan", "todo_write", "TodoWrite", "write_todos":
		return true
	}
	return false
}
