package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
)

type demo struct {
	host     Host
	provider string
	keep     bool
}

func newDemo(h Host) *cobra.Command {
	d := demo{host: h}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run an offline demo against a scripted model",
		Long: `Run an offline demo: an agent fixes a failing test in a small Go project. It
needs no API key and no network. The model is a script behind a local HTTP
server. The demo runs once for each of the four wire protocols. Everything else
works as in "reins run".`,
		Args: wantArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&d.provider, "provider", "", "use only the protocol of openai, anthropic, gemini or chat")
	cmd.Flags().BoolVar(&d.keep, "keep", false, "keep the project directories")
	return cmd
}

// demoStops are the protocols of the demo.
var demoStops = []struct{ provider, dialect, model, title string }{
	{"openai", openai.Name, "", "OpenAI Responses; edits with apply_patch"},
	{"anthropic", anthropic.Name, "", "Anthropic Messages; edits with edit_file"},
	{"gemini", gemini.Name, "", "Gemini generateContent; edits with edit_file"},
	{"chat", chat.Name, "demo-model", "Chat Completions, for OpenAI-compatible servers; edits with edit_file"},
}

func (d demo) run(ctx context.Context) error {
	if d.provider != "" && !slices.Contains([]string{"openai", "anthropic", "gemini", "chat"}, d.provider) {
		return usagef("unknown provider %q: use openai, anthropic, gemini or chat", d.provider)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the demo needs the go command: install Go from https://go.dev/dl")
	}
	w := d.host.Stdout
	fmt.Fprintln(w, "The model in this demo is scripted: a local server plays its answers and makes up token")
	fmt.Fprintln(w, "counts. Nothing is billed. Everything else is real: the protocols, the HTTP traffic, the")
	fmt.Fprintln(w, "agent, its tools, and the tests that they run. The first test also compiles the standard")
	fmt.Fprintln(w, "library, which can take half a minute.")
	for _, stop := range demoStops {
		if d.provider != "" && d.provider != stop.provider {
			continue
		}
		fmt.Fprintf(w, "\n── %s\n> %s\n", stop.title, demoTask)
		if err := d.show(ctx, stop.provider, stop.dialect, stop.model); err != nil {
			return err
		}
	}
	return nil
}

// show lets the agent fix a new project over one protocol.
func (d demo) show(ctx context.Context, provider, dialect, model string) error {
	dir, err := os.MkdirTemp("", "reins-demo-"+provider+"-")
	if err != nil {
		return err
	}
	if d.keep {
		defer fmt.Fprintf(d.host.Stdout, "Project directory: %s\n", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	for name, content := range demoProject {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	server := llmtest.NewServer(&llmtest.Script{Reply: demoScript{provider}.reply})
	defer server.Close()
	if err := d.runner(provider, model, server.BaseURL(dialect), dir).run(ctx, []string{demoTask}); err != nil {
		return err
	}
	return d.showDiff(dir)
}

// runner returns the runner of "reins run --yes --no-save", with all output on standard output. It uses no configuration
// of the user.
func (d demo) runner(provider, model, url, dir string) *runner {
	h := d.host
	h.Stdin, h.Stderr = strings.NewReader(""), h.Stdout
	h.systemDir = dir // where no configuration is
	h.Getenv = func(name string) string {
		switch name {
		case "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "REINS_CHAT_API_KEY":
			return "demo"
		}
		return ""
	}
	settings := []config.Override{
		{Key: "provider", Value: provider, Name: "demo"},
		{Key: "model", Value: model, Name: "demo"},
		{Key: "base_url", Value: url, Name: "demo"},
		{Key: "sandbox.mode", Value: "off", Name: "demo"},
		{Key: "lsp.enabled", Value: "false", Name: "demo"},
	}
	flags := run{
		connection: connection{given: settings},
		dir:        dir,
		yes:        true,
		noSave:     true,
		timeout:    10 * time.Minute,
	}
	r := newRunner(h, newTextView(h), flags)
	// The project uses only the standard library, so go must not look for modules or toolchains.
	r.vars = map[string]string{"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
	return r
}

// showDiff prints the changes to the project.
func (d demo) showDiff(dir string) error {
	w := d.host.Stdout
	fmt.Fprintln(w, "\nChanges to the project:")
	for name, before := range demoProject {
		after, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if diff := show.Unified(name, before, string(after)); diff != "" {
			fmt.Fprint(w, show.Diff(diff, "  ", 100, d.host.colours(w)))
		}
	}
	return nil
}

const (
	demoTask   = "The tests fail. Find out why and fix the code."
	demoReview = "Review the function Make in slug.go: does it do what its comment says for every title?"
)

// demoProject maps file names to contents. Its function turns every space into a hyphen, even at the ends.
var demoProject = map[string]string{
	"go.mod": "module example.com/slug\n\ngo 1.21\n",
	"slug.go": `// Package slug turns page titles into names for URLs.
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

// demoScript is the model of the demo, with the tools of one provider's profile.
type demoScript struct{ provider string }

// reply returns the next turn of the agent or of its reviewer. The request shows which one is next.
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
		act("I'll run the tests first to see what fails.", nil, call("shell", "command", "go test ./...")),
		act("Leading, trailing and repeated spaces go wrong. I'll look at the code.", sees("--- FAIL: TestMake"),
			call("read_file", "file_path", "slug.go"), call("grep", "pattern", `slug\.Make|Make\(`)),
		act("Each space becomes a hyphen. Splitting the title into words handles all of them.", sees("ReplaceAll"), d.edit()),
		act("Now I'll run the tests again.", nil, call("shell", "command", "go test ./...")),
		act("They pass. I'll ask for a review.", sees("ok"), call("spawn_agent", "task", demoReview, "agent_type", "Explore")),
		act("", sees("running"), call("wait", "agent_id", "1")),
		act("The tests failed because `Make` turned every space into a hyphen. It now splits the title into words "+
			"and joins them, and the tests pass. The review found no other problems.", sees("Looks good")),
	}
}

func (d demoScript) reviewTurns() []llmtest.Turn {
	return []llmtest.Turn{
		act("", nil, call("read_file", "file_path", "slug.go")),
		act("Looks good: strings.Fields drops leading and trailing spaces and treats repeated ones as one.", sees("strings.Fields")),
	}
}

// edit returns the call that changes the code, with the edit tool of the provider's profile.
func (d demoScript) edit() llm.ToolCall {
	if d.provider == "openai" {
		patch := "*** Begin Patch\n*** Update File: slug.go\n@@\n-" + demoOld + "\n+" + demoNew + "\n*** End Patch"
		return llm.ToolCall{Name: "apply_patch", Arguments: patch, Custom: true}
	}
	return call("edit_file", "file_path", "slug.go", "old_string", demoOld, "new_string", demoNew)
}

// act returns a turn with text and tool calls. The check examines its request.
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

// call returns a tool call. Its arguments alternate names and values.
func call(name string, args ...string) llm.ToolCall {
	object := make(map[string]string)
	for i := 0; i+1 < len(args); i += 2 {
		object[args[i]] = args[i+1]
	}
	b, err := json.Marshal(object)
	if err != nil {
		panic(err) // strings always marshal
	}
	return llm.ToolCall{Name: name, Arguments: string(b)}
}

// sees checks that the last tool results contain a text, so that the script does not claim anything untrue.
func sees(text string) func(*llm.Request) error {
	return func(r *llm.Request) error {
		last := r.Messages[len(r.Messages)-1]
		for _, p := range last.Parts {
			if res, ok := p.(llm.ToolResult); ok && strings.Contains(res.Text(), text) {
				return nil
			}
		}
		return fmt.Errorf("the script expects %q in the last tool results", text)
	}
}
