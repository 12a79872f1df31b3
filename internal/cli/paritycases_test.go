//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

var parityCases = []struct {
	name string
	run  func(b *bench)
}{
	{"Simple file creation task", func(b *bench) {
		b.submit("Create hello.py.", does(b.create("hello.py", "print('Hello')")), llmtest.Say("Created."))
		b.wantFile("hello.py", "print('Hello')\n")
	}},
	{"Read file, then edit it", func(b *bench) {
		b.write("hello.py", "print('Hello')\n")
		b.submit("Say goodbye instead.",
			does(call("read_file", "file_path", "hello.py")),
			act("", sees("print('Hello')"), b.edit("hello.py", "print('Hello')", "print('Goodbye')")),
			llmtest.Say("Changed."))
		b.wantFile("hello.py", "print('Goodbye')\n")
	}},
	{"Multi-file edit in one session", func(b *bench) {
		b.write("a.txt", "one\n")
		b.write("b.txt", "one\n")
		b.submit("Change a.txt and b.txt.", does(call("read_file", "file_path", "a.txt"), call("read_file", "file_path", "b.txt")),
			does(b.edit("a.txt", "one", "two"), b.edit("b.txt", "one", "two")), llmtest.Say("Both."))
		b.submit("Once more.", does(b.edit("a.txt", "two", "three")), does(b.edit("b.txt", "two", "three")), llmtest.Say("Again."))
		b.wantFile("a.txt", "three\n")
		b.wantFile("b.txt", "three\n")
	}},
	{"Shell command execution", func(b *bench) {
		b.submit("Run it.", does(call("shell", "command", "echo out; echo err >&2; exit 3")), llmtest.Say("It failed."))
		b.wantContains(b.result(), "out", "err", "code 3")
		if end := b.ends("shell")[0]; end.Fields["exit_code"] != 3 {
			b.Errorf("the fields are %v", end.Fields)
		}
	}},
	{"Shell command timeout handling", func(b *bench) {
		limit := 300 * time.Millisecond
		for begun := false; !begun && limit < time.Minute; limit *= 4 { // a busy machine may need more to start it
			b.submit("Run it.", does(object("shell", map[string]any{"command": "echo begun; sleep 600", "timeout_ms": limit.Milliseconds()})), llmtest.Say("Too slow."))
			b.wantContains(b.result(), fmt.Sprintf("timed out after %v", limit), "timeout_ms")
			begun = strings.Contains(b.result(), "begun")
		}
		b.wantContains(b.result(), "begun")
		if end := b.ends("shell")[0]; end.Error == nil || end.Error.Code != "ShellTimeout" {
			b.Errorf("the error is %v", end.Error)
		}
	}},
	{"Grep + glob to find files", func(b *bench) {
		b.write("a.go", "package a\nfunc Needle() {}\n")
		b.write("b.go", "package a\n")
		b.write("c.txt", "Needle\n")
		b.submit("Find it.",
			does(call("glob", "pattern", "*.go")),
			act("", sees("b.go"), call("grep", "pattern", "func Needle")),
			act("It is in a.go.", sees("a.go")))
		if got := b.result(); strings.Contains(got, "c.txt") {
			b.Errorf("grep found %q", got)
		}
	}},
	{"Multi-step task (read -> analyze -> edit)", func(b *bench) {
		b.write("sum.sh", "echo $((2+2))5\n")
		b.submit("It prints 45 instead of 4. Fix it.",
			act("I look at it.", nil, call("read_file", "file_path", "sum.sh")),
			act("There is a stray 5.", sees("$((2+2))5"), b.edit("sum.sh", "echo $((2+2))5", "echo $((2+2))")),
			act("I try it.", nil, call("shell", "command", "sh sum.sh")),
			act("It prints 4 now.", sees("4")))
		b.wantFile("sum.sh", "echo $((2+2))\n")
	}},
	{"Tool output truncation (large file)", func(b *bench) {
		b.write("big.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 1500)+"the end\n")
		b.submit("Read it.", does(call("read_file", "file_path", "big.txt")), llmtest.Say("It is long."))
		b.wantContains(b.result(), "[WARNING: Tool output was truncated.", "the end")
		if n := len(b.result()); n > 60_000 {
			b.Errorf("the model sees %d bytes", n)
		}
		if end := b.ends("read_file")[0]; end.Output.Len() < 150_000 {
			b.Errorf("the event has only %d bytes of output", end.Output.Len())
		}
	}},
	{"Parallel tool calls (if supported)", func(b *bench) {
		var calls []llm.ToolCall
		for i := range 5 {
			name := fmt.Sprintf("%d.txt", i)
			b.write(name, "content "+name+"\n")
			calls = append(calls, call("read_file", "file_path", name))
		}
		b.submit("Read them.", does(calls...), llmtest.Say("Read."))
		results := b.results()
		if len(results) != len(calls) {
			b.Fatalf("the model sees %d results", len(results))
		}
		for i, r := range results {
			b.wantContains(r, fmt.Sprintf("content %d.txt", i))
		}
	}},
	{"Steering mid-task", func(b *bench) {
		steer := does(call("shell", "command", "true"))
		steer.Check = func(*llm.Request) error { return b.session.Steer(llm.Text{Text: "Use tabs."}) }
		b.submit("Format it.", steer, llmtest.Turn{
			Parts: []llm.Part{llm.Text{Text: "With tabs, then."}},
			Check: func(r *llm.Request) error {
				if last := r.Messages[len(r.Messages)-1]; last.Role != llm.RoleUser || last.Text() != "Use tabs." {
					return fmt.Errorf("the request ends with a message of the %s: %q", last.Role, last.Text())
				}
				return nil
			},
		})
	}},
	{"Reasoning effort change", func(b *bench) {
		for _, effort := range []string{"low", "high"} {
			b.session.SetEffort(effort)
			b.submit("Think.", llmtest.Say("Thought."))
			if got := b.seen[0].Effort; got != effort {
				b.Errorf("the request asks for effort %q, want %q", got, effort)
			}
		}
	}},
	{"Subagent spawn and wait", func(b *bench) {
		b.write("secret.txt", "the answer is 42\n")
		b.child = []llmtest.Turn{does(call("read_file", "file_path", "secret.txt")), act("It says 42.", sees("answer"))}
		b.submit("Ask somebody.",
			does(call("spawn_agent", "task", childTask+" What does secret.txt say?")),
			does(call("wait", "agent_id", "1")),
			act("42.", sees("It says 42.")))
		nested := slices.ContainsFunc(b.all(), func(r event.Record) bool {
			d, ok := r.Data.(event.ToolCallEnd)
			return ok && r.Agent == "1" && d.Name == "read_file"
		})
		if !nested {
			b.Error("the subagent's tool call is not in the session's events")
		}
	}},
	{"Loop detection triggers warning", func(b *bench) {
		turns := slices.Repeat([]llmtest.Turn{does(call("glob", "pattern", "*.none"))}, 10)
		b.submit("Find it.", append(turns, llmtest.Say("It is not there."))...)
		last := b.seen[len(b.seen)-1].Messages
		b.wantContains(last[len(last)-1].Text(), "Loop detected")
		if !slices.ContainsFunc(b.all(), func(r event.Record) bool { _, ok := r.Data.(event.LoopDetection); return ok }) {
			b.Error("there is no LOOP_DETECTION event")
		}
	}},
	{"Error recovery (tool fails, model retries)", func(b *bench) {
		b.write("a.txt", "one\n")
		b.submit("Change it.",
			does(call("read_file", "file_path", "a.txt")),
			does(b.edit("a.txt", "not there", "two")),
			does(call("no_such_tool", "x", "y")),
			act("", sees("Unknown tool"), call("read_file", "nonsense", "a.txt")),
			act("", sees("Invalid arguments"), b.edit("a.txt", "one", "two")),
			llmtest.Say("Now."))
		ends := b.ends(b.editTool())
		if len(ends) != 2 || ends[0].Error == nil || ends[0].Error.Code != "EditConflict" || ends[1].Error != nil {
			b.Errorf("the edits ended so: %+v", ends)
		}
		b.wantFile("a.txt", "two\n")
	}},
	{"Provider-specific editing format works", func(b *bench) {
		b.write("old.txt", "a\nb\nb\n")
		if b.provider == "openai" {
			b.submit("Edit.", does(call("read_file", "file_path", "old.txt")), does(patchCall("*** Add File: new.txt\n+new\n*** Update File: old.txt\n*** Move to: moved.txt\n@@\n a\n-b\n+c\n b")), llmtest.Say("Done."))
			b.wantFile("moved.txt", "a\nc\nb\n")
			b.wantFile("new.txt", "new\n")
		} else {
			b.submit("Edit.", does(call("read_file", "file_path", "old.txt")), does(object("edit_file", map[string]any{"file_path": "old.txt", "old_string": "b", "new_string": "c", "replace_all": true})), llmtest.Say("Done."))
			b.wantFile("old.txt", "a\nc\nc\n")
		}
		b.checkEditTools()
	}},
}

// checkEditTools checks which editing tool the provider was offered.
func (b *bench) checkEditTools() {
	b.Helper()
	other := map[string]string{"apply_patch": "edit_file", "edit_file": "apply_patch"}[b.editTool()]
	offered := false
	for _, d := range b.seen[0].Tools {
		switch d.Name {
		case b.editTool():
			offered = true
			if freeform := d.Freeform != nil; freeform != (b.provider == "openai") {
				b.Errorf("%s takes text instead of JSON: %v", d.Name, freeform)
			}
		case other:
			b.Errorf("%s is offered as well", other)
		}
	}
	if !offered {
		b.Errorf("%s is not offered", b.editTool())
	}
	if !json.Valid(b.server.Bodies()[0]) {
		b.Error("the request is not JSON")
	}
}
