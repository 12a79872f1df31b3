package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

const (
	demoTask   = "The tests fail. Find out why and fix the code."
	demoReview = "Review the function Make in slug.go: does it keep its promise for every title?"
)

// demoProject is the project by file name. Its function leaves hyphens at the ends.
var demoProject = map[string]string{
	"go.mod": "module example.com/slug\n\ngo 1.21\n",
	"slug.go": `// Package slug makes the names of pages.
package slug

import "strings"

// Make turns a title into a slug: lower-case words, joined by single hyphens.
func Make(title string) string {
	return strings.ReplaceAll(strings.ToLower(title), " ", "-")
}
`,
	"slug_test.go": `package slug

import "testing"

func TestMake(t *testing.T) {
	for title, want := range map[string]string{
		"Hello World":     "hello-world",
		"  Spaced   out ": "spaced-out",
	} {
		if got := Make(title); got != want {
			t.Errorf("Make(%q) = %q, want %q", title, got, want)
		}
	}
}
`,
}

const (
	demoOld = `	return strings.ReplaceAll(strings.ToLower(title), " ", "-")`
	demoNew = `	return strings.Join(strings.Fields(strings.ToLower(title)), "-")`
)

// demoScript is the model of the demo: what it says and does in each turn, with the tools of one
// provider's profile.
type demoScript struct{ provider string }

// reply plays the next turn of a conversation, which is the agent's or its reviewer's. How far that
// has got shows in the request.
func (d demoScript) reply(_ int, r *llm.Request) llmtest.Turn {
	turns, task, done := d.turns(), "", 0
	for _, m := range r.Messages {
		switch {
		case m.Role == llm.RoleAssistant:
			done++
		case m.Role == llm.RoleUser && task == "":
			task = m.Text()
		}
	}
	if strings.Contains(task, demoReview) {
		turns = d.reviewTurns()
	}
	if done >= len(turns) {
		return llmtest.Turn{Check: func(*llm.Request) error { return fmt.Errorf("the demo has no turn %d", done+1) }}
	}
	return turns[done]
}

func (d demoScript) turns() []llmtest.Turn {
	return []llmtest.Turn{
		act("I run the tests first, to see what fails.", nil, call("shell", "command", "go test ./...")),
		act("Spaces at the ends and in a row go wrong. I look at the code.", sees("--- FAIL: TestMake"),
			call("read_file", "file_path", "slug.go"), call("grep", "pattern", `slug\.Make|Make\(`)),
		act("Each space becomes a hyphen of its own. Splitting into words handles them all.", sees("ReplaceAll"), d.edit()),
		act("Now the tests again.", nil, call("shell", "command", "go test ./...")),
		act("They pass. A second pair of eyes should look at it.", sees("ok"), call("spawn_agent", "task", demoReview, "agent_type", "Explore")),
		act("", sees("running"), call("wait", "agent_id", "1")),
		act("The tests failed because `Make` turned every space into a hyphen. It now splits the title into words "+
			"and joins those, and the tests pass. The reviewer found nothing else.", sees("Looks good")),
	}
}

func (d demoScript) reviewTurns() []llmtest.Turn {
	return []llmtest.Turn{
		act("", nil, call("read_file", "file_path", "slug.go")),
		act("Looks good: strings.Fields drops the spaces at the ends and treats runs of them as one.", sees("strings.Fields")),
	}
}

// edit is the change in the form that the provider's models know best.
func (d demoScript) edit() llm.ToolCall {
	if d.provider == "openai" {
		patch := "*** Begin Patch\n*** Update File: slug.go\n@@\n-" + demoOld + "\n+" + demoNew + "\n*** End Patch"
		return llm.ToolCall{Name: "apply_patch", Arguments: patch, Custom: true}
	}
	return call("edit_file", "file_path", "slug.go", "old_string", demoOld, "new_string", demoNew)
}

// act is a turn in which the model says something and calls tools. The check looks at the request
// before it.
func act(text string, check func(*llm.Request) error, calls ...llm.ToolCall) llmtest.Turn {
	t := llmtest.Turn{Check: check}
	if text != "" {
		t.Parts = append(t.Parts, llm.Text{Text: text})
	}
	for _, c := range calls {
		t.Parts = append(t.Parts, c)
	}
	return t
}

// call is a tool call with arguments given as names and values.
func call(name string, args ...string) llm.ToolCall {
	object := make(map[string]string)
	for i := 0; i+1 < len(args); i += 2 {
		object[args[i]] = args[i+1]
	}
	b, err := json.Marshal(object)
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return llm.ToolCall{Name: name, Arguments: string(b)}
}

// sees checks that the last results show a text, so that the script does not pretend to have seen
// what was not there.
func sees(text string) func(*llm.Request) error {
	return func(r *llm.Request) error {
		last := r.Messages[len(r.Messages)-1]
		for _, p := range last.Parts {
			if res, ok := p.(llm.ToolResult); ok && strings.Contains(res.Text(), text) {
				return nil
			}
		}
		return fmt.Errorf("the script expects to see %q now", text)
	}
}
