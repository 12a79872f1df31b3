package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// crew runs a session whose agents follow scripts, by the first word of their task, and returns the session. A real
// program uses a real model instead, and a prompt that describes the work.
func crew(scripts map[string][]llmtest.Turn) *agent.Session {
	place, err := local.New(local.Config{Dir: "."})
	if err != nil {
		panic(err)
	}
	model := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		name, answers := "", 0
		for _, m := range r.Messages {
			if m.Role == llm.RoleUser && name == "" {
				text := m.Text()
				name, _, _ = strings.Cut(text[strings.LastIndex(text, "\n")+1:], " ")
			}
			if m.Role == llm.RoleAssistant {
				answers++
			}
		}
		return scripts[name][answers]
	}}
	s, err := agent.New(agent.Config{Client: model, Model: "m", Env: place, Owned: []io.Closer{place}, Subagents: agent.Subagents{Teams: true}})
	if err != nil {
		panic(err)
	}
	if out, err := s.Submit(context.Background(), llm.Text{Text: "lead"}); err != nil {
		fmt.Println(err)
	} else {
		fmt.Println(out.Text)
	}
	return s
}

type args map[string]any

// do is an answer with tool calls: names and arguments in turn.
func do(calls ...any) (t llmtest.Turn) {
	for i := 0; i < len(calls); i += 2 {
		b, err := json.Marshal(calls[i+1])
		if err != nil {
			panic(err)
		}
		t.Parts = append(t.Parts, llm.ToolCall{Name: calls[i].(string), Arguments: string(b)})
	}
	return t
}

// Explorers look at different parts of a project at the same time. They can only read.
func ExampleSubagents_explorers() {
	s := crew(map[string][]llmtest.Turn{
		"lead": {
			do("spawn_agent", args{"name": "api", "agent_type": "Explore", "task": "api: how are requests routed?"},
				"spawn_agent", args{"name": "db", "agent_type": "Explore", "task": "db: where are queries built?"}),
			do("wait", args{"agent_id": "api"}, "wait", args{"agent_id": "db"}),
			llmtest.Say("Routes are in router.go, queries in query.go."),
		},
		"api:": {llmtest.Say("In router.go.")},
		"db:":  {llmtest.Say("In query.go.")},
	})
	defer s.Close()
	for _, a := range s.Agents()[1:] {
		fmt.Println(a.Name, a.Type, a.Status)
	}
	// Output:
	// Routes are in router.go, queries in query.go.
	// api Explore completed
	// db Explore completed
}

// Team members send each other messages while they work.
func ExampleSubagents_mail() {
	s := crew(map[string][]llmtest.Turn{
		"lead": {
			do("team_create", args{"name": "parser", "members": []string{"coder", "tester"}},
				"spawn_agent", args{"name": "coder", "task": "code"}),
			do("wait", args{"agent_id": "coder"}),
			do("spawn_agent", args{"name": "tester", "task": "test"}),
			do("wait", args{"agent_id": "tester"}),
			llmtest.Say("The parser is written and tested."),
		},
		"code": {do("send_message", args{"to": "tester", "message": "Test Parse with empty input."}), llmtest.Say("Done.")},
		"test": {do("send_message", args{"to": "main", "message": "Parse passes."}), llmtest.Say("Done.")},
	})
	defer s.Close()
	for r := range s.Events(context.Background(), 0) {
		if d, ok := r.Data.(event.SteeringInjected); ok && d.Source == event.SourceMail {
			fmt.Printf("%q to %q\n", d.Message.Text(), r.Agent)
		}
		if r.Seq == s.Last() {
			break
		}
	}
	// Output:
	// The parser is written and tested.
	// "Message from agent coder (team parser)\n\nTest Parse with empty input." to "2"
	// "Message from agent tester (team parser)\n\nParse passes." to ""
}

// Workers take tasks from a queue. A task that is blocked by another starts after it.
func ExampleSubagents_queue() {
	next := do("task_update", args{"claim": true})
	s := crew(map[string][]llmtest.Turn{
		"lead": {
			do("task_create", args{"subject": "write the parser"},
				"task_create", args{"subject": "test the parser", "blocked_by": []string{"task_1"}},
				"task_create", args{"subject": "write the docs"}),
			do("spawn_agent", args{"name": "ann", "task": "one"}), do("wait", args{"agent_id": "ann"}),
			do("spawn_agent", args{"name": "bob", "task": "two"}), do("wait", args{"agent_id": "bob"}),
			llmtest.Say("All tasks are completed."),
		},
		"one": {next, next, do("task_update", args{"task_id": "task_1", "status": "completed"}), do("task_update", args{"task_id": "task_3", "status": "completed"}), llmtest.Say("Done.")},
		"two": {next, do("task_update", args{"task_id": "task_2", "status": "completed", "output": "12 tests pass"}), llmtest.Say("Done.")},
	})
	defer s.Close()
	for _, d := range s.Tasks() {
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%s %s by %s: %s %s", d.ID, d.Status, d.Owner, d.Subject, d.Output)))
	}
	// Output:
	// All tasks are completed.
	// task_1 completed by ann: write the parser
	// task_2 completed by bob: test the parser 12 tests pass
	// task_3 completed by ann: write the docs
}

// Several agents try the same task, and a judge chooses the best result.
func ExampleSubagents_bestOf() {
	s := crew(map[string][]llmtest.Turn{
		"lead": {
			do("spawn_agent", args{"name": "first", "task": "quick"}, "spawn_agent", args{"name": "second", "task": "careful"}),
			do("wait", args{"agent_id": "first"}, "wait", args{"agent_id": "second"}),
			do("spawn_agent", args{"name": "judge", "task": "judge 1: Sort it. 2: Use a heap."}),
			do("wait", args{"agent_id": "judge"}),
			llmtest.Say("Use a heap."),
		},
		"quick":   {llmtest.Say("Sort it.")},
		"careful": {llmtest.Say("Use a heap.")},
		"judge":   {llmtest.Say("2 is better.")},
	})
	defer s.Close()
	fmt.Println(len(s.Agents()), "agents,", s.Total().Turns, "model calls")
	// Output:
	// Use a heap.
	// 4 agents, 8 model calls
}
