package project_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/tool"
)

// work lets an agent work on a task as `reins run` does. README.md shows it.
func work(ctx context.Context, task string) error {
	session, err := project.Open(ctx, project.Options{}, func(c *coding.Config) { c.Session.Approve = approve })
	if err != nil {
		return err
	}
	_, err = session.Submit(ctx, llm.NewText(task))
	return errors.Join(err, session.Close())
}

// approve decides on calls that the permissions of the user and of the project do not allow.
func approve(_ context.Context, r tool.Request) (tool.Approval, error) {
	fmt.Println("approved:", r.Spec.Name)
	return tool.Approval{Allow: true}, nil
}

// The user's configuration allows edits, so that nobody is asked. The model is a script on a test server.
func ExampleOpen() {
	server := llmtest.NewServer(llmtest.Play(
		llmtest.Call("write_file", `{"file_path":"hello.txt","content":"hello\n"}`), llmtest.Say("There is a hello.txt now."),
	))
	defer server.Close()
	defer inTempDir(map[string]string{"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": server.BaseURL("anthropic")},
		"provider = \"anthropic\"\n[permissions]\nmode = \"acceptEdits\"\n[sandbox]\nmode = \"off\"\n")()
	err := work(context.Background(), "Write a hello.txt.")
	written, _ := os.ReadFile("hello.txt")
	fmt.Printf("%q %v\n", written, err)
	// Output:
	// "hello\n" <nil>
}

// A host can show what it loaded before it opens a session.
func ExampleLoad() {
	defer inTempDir(nil, "model = \"claude-opus-5-5\"\n[permissions]\nallow = [\"Bash(go test:*)\", \"Bahs(ls)\"]\n")()
	p, err := project.Load(context.Background(), project.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Settings.Model, p.Trusted)
	for _, n := range p.Notes() {
		fmt.Println(n.Kind, n)
	}
	// Output:
	// claude-opus-5-5 false
	// setting ~/config.toml:3: permissions.allow Bahs(ls) is ignored: unknown tool "Bahs" in the rule Bahs(ls); did you mean Bash(ls)?
}

// inTempDir changes to a temporary directory with a user configuration, and sets variables, until the returned function
// is called.
func inTempDir(vars map[string]string, configuration string) func() {
	dir, err := os.MkdirTemp("", "reins-example-")
	if err != nil {
		panic(err)
	}
	here, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	home := dir + "-home"
	set := map[string]string{"HOME": home, "REINS_HOME": home + "/state", "REINS_CONFIG": home + "/config.toml"}
	for name, value := range vars {
		set[name] = value
	}
	before := make(map[string]string)
	for name, value := range set {
		before[name] = os.Getenv(name)
		os.Setenv(name, value)
	}
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(home+"/config.toml", []byte(configuration), 0o600), os.Chdir(dir)); err != nil {
		panic(err)
	}
	return func() {
		_ = os.Chdir(here)
		for name, value := range before {
			os.Setenv(name, value)
		}
		_ = os.RemoveAll(dir)
		_ = os.RemoveAll(home)
	}
}

func TestReadme_ShowsTheExampleThatIsRun(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(source), "func work(")
	example, _, _ = strings.Cut(example, "\n}\n")
	if example = "func work(" + example + "\n}"; !strings.Contains(string(readme), "```go\n"+example+"\n```") {
		t.Errorf("README.md does not show the example as it is run:\n%s", example)
	}
}
