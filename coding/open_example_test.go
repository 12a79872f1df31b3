package coding_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// fix lets an agent work on a task in the current directory. README.md shows it.
func fix(ctx context.Context, task string) error {
	session, err := coding.Open(ctx, coding.Config{Model: "claude-sonnet-5-5", Session: agent.Config{Approve: approve}})
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		for r := range session.Events(ctx, 0) {
			watch(r) // every step, as it happens
		}
	})
	_, err = session.Submit(ctx, llm.NewText(task))
	return errors.Join(err, session.Close())
}

// approve decides on calls that the policy does not allow by itself.
func approve(_ context.Context, r tool.Request) (tool.Approval, error) {
	fmt.Println("approved:", r.Spec.Name)
	return tool.Approval{Allow: true}, nil
}

// watch prints what the agent says.
func watch(r event.Record) {
	if d, ok := r.Data.(event.TextEnd); ok && d.Message.Text() != "" {
		fmt.Println(d.Message.Text())
	}
}

// The model here is a script on a test server with Anthropic's protocol. With a real key in
// ANTHROPIC_API_KEY it would be the real model.
func ExampleOpen() {
	server := llmtest.NewServer(llmtest.Play(
		llmtest.Call("write_file", `{"file_path":"hello.txt","content":"hello\n"}`), llmtest.Say("There is a hello.txt now."),
	))
	defer server.Close()
	defer inTempDir(map[string]string{"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.BaseURL("anthropic")})()
	err := fix(context.Background(), "Write a hello.txt.")
	written, _ := os.ReadFile("hello.txt")
	fmt.Printf("%q %v\n", written, err)
	// Output:
	// approved: write_file
	// There is a hello.txt now.
	// "hello\n" <nil>
}

// inTempDir changes to a temporary directory and sets variables until the returned function is called.
func inTempDir(vars map[string]string) func() {
	dir, err := os.MkdirTemp("", "reins-example-")
	if err != nil {
		panic(err)
	}
	home, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	vars["REINS_HOME"] = dir + "-state"
	before := make(map[string]string)
	for name, value := range vars {
		before[name] = os.Getenv(name)
		os.Setenv(name, value)
	}
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	return func() {
		_ = os.Chdir(home)
		for name, value := range before {
			os.Setenv(name, value)
		}
		_ = os.RemoveAll(dir)
		_ = os.RemoveAll(dir + "-state")
	}
}

func TestReadme_ShowsTheExampleThatIsRun(t *testing.T) {
	source, err := os.ReadFile("open_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(source), "func fix(")
	example, _, _ = strings.Cut(example, "\n}\n")
	example = "func fix(" + example + "\n}"
	if !strings.Contains(string(readme), "```go\n"+example+"\n```") {
		t.Errorf("README.md does not show the example as it is run:\n%s", example)
	}
	if n := strings.Count(example, "\n") + 1; n > 15 {
		t.Errorf("the example has %d lines", n)
	}
	lines := strings.Split(string(readme), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "go get github.com/reins-agent/reins") }) ||
		!slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "go install github.com/reins-agent/reins/cmd/reins@") }) {
		t.Error("README.md does not say how to get the module and the command")
	}
}
