package compact_test

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/llm"
)

func Example() {
	var meter compact.Meter
	var messages []llm.Message
	say := func(msg llm.Message) {
		messages = append(messages, msg)
		meter.Add(msg)
	}
	say(llm.UserText("Find out why the build is slow."))
	for i := range 10 {
		call := llm.ToolCall{ID: fmt.Sprint("call_", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"log%d.txt"}`, i)}
		say(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{call}})
		say(llm.ToolResults(llm.TextResult(call, strings.Repeat("compiling ...\n", 1000), false)))
	}

	goal := compact.Goal{Tokens: 4000}
	edit, ok := compact.Clear(meter, messages, goal)
	if cleared, err := edit.Apply(messages); ok && err == nil {
		fmt.Println("clearing old results is enough:", goal.Met(meter, cleared))
	}
	if summary, ok := compact.Prepare(meter, messages, goal); ok {
		// Send summary.Messages to the model; its answer is the summary.
		answer := llm.AssistantText("The linker takes most of the time; see log3.txt.")
		edit, err := summary.Finish(answer, llm.FinishStop, compact.Facts{Files: []string{"log3.txt"}})
		if err != nil {
			fmt.Println(err) // try compact.Fallback next
			return
		}
		messages, _ = edit.Apply(messages)
		meter.Reset(messages)
	}
	fmt.Println("summarised:", goal.Met(meter, messages))
	// Output:
	// clearing old results is enough: false
	// summarised: true
}
