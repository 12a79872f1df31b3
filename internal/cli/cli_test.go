package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"reins": func() {
			h := Process()
			h.systemDir = os.Getenv("TEST_SYSTEM_DIR")
			os.Exit(Main(h))
		},
		"mcpserver": mcpServer,
	})
}

// tests are all tests of the package.
type tests struct{ *testing.M }

// atEnd removes what the tests share.
var atEnd []func()

// Run runs the tests.
func (t tests) Run() int {
	defer func() {
		for _, f := range atEnd {
			f()
		}
	}()
	return t.M.Run()
}

// canary is the API key of all tests. It must never be shown.
const canary = "sk-test-0123456789abcdef"

// quickExit keeps the race detector from waiting a second at the end of each process.
const quickExit = "GORACE=atexit_sleep_ms=0"

// TestScripts runs the scripts in testdata. Each has its own model server at $SERVER, which obeys the
// prompt; see reply. The script command "exits CODE COMMAND..." checks the exit code of a command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			server := newModelServer()
			e.Defer(server.Close)
			e.Setenv("SERVER", server.BaseURL("anthropic"))
			if u, err := url.Parse(server.BaseURL("anthropic")); err == nil {
				e.Setenv("ADDR", u.Host)
			}
			e.Setenv("CANARY_API_KEY", canary)
			repo, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			e.Setenv("REPO", repo)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("REINS_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "userconfig"))
			e.Setenv("TEST_SYSTEM_DIR", filepath.Join(e.WorkDir, "etc"))
			e.Vars = append(e.Vars, quickExit)
			caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
			build, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
			e.Setenv("GOCACHE", build)
			e.Setenv("GOMODCACHE", modules)
			return err
		},
		Cmds:          scriptCommands,
		UpdateScripts: *updateScripts,
	})
}

var updateScripts = flag.Bool("update", false, "rewrite docs/commands.md and the files that scripts in testdata compare with")

// scriptCommands are the commands of the scripts.
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"exits": exits, "newsession": newSession, "holdsession": holdSession, "spoil": spoil,
}

// newModelServer starts a server for the model of reply. It accepts only the canary as its key.
func newModelServer() *llmtest.Server {
	return llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: reply}, Key: canary})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("the exit code is %d, want %d", code, want)
	}
	for _, out := range []string{ts.ReadFile("stdout"), ts.ReadFile("stderr")} {
		if strings.Contains(out, canary) {
			ts.Fatalf("the API key is shown")
		}
	}
}

// reply plays a model that obeys the prompt: one of the words below, or lines of the form "call TOOL
// JSON", one for each turn. In the end it repeats the last tool result. The prompt is the first message,
// or the last one with such lines.
func reply(_ int, r *llm.Request) llmtest.Turn {
	const watched = "Do what these comments"
	prompt, stage := "", 0
	for _, m := range r.Messages {
		switch {
		case m.Role == llm.RoleAssistant:
			stage++
		case m.Role == llm.RoleUser && strings.HasPrefix(m.Text(), watched):
			_, prompt, _ = strings.Cut(m.Text(), ": ")
			stage = 0
		case m.Role == llm.RoleUser && (prompt == "" || strings.HasPrefix(m.Text(), "call ")):
			prompt, stage = m.Text(), 0
			if t, ok := m.Parts[0].(llm.Text); ok { // what follows is what hooks add
				prompt = t.Text
			}
		}
	}
	switch prompt {
	case "ping":
		return llmtest.Say("pong")
	case "busy":
		return llmtest.Turn{Fault: llmtest.Fault{Status: 429, RetryAfter: "3600"}}
	case "overloaded":
		return llmtest.Turn{Fault: llmtest.Fault{Status: 529}}
	case "broken":
		return llmtest.Turn{Fault: llmtest.Fault{Status: 400, Message: "the request was broken by " + canary}}
	case "stall":
		return llmtest.Turn{Fault: llmtest.Fault{StallAtOnce: true}}
	case "long":
		return llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "and so"}}, Finish: llm.FinishLength}
	case "filtered":
		return llmtest.Turn{Parts: []llm.Part{llm.Text{Text: "I cannot"}}, Finish: llm.FinishContentFilter}
	case "hostile":
		return llmtest.Say("a\x1b]0;owned\x07b\u009b2Jc\u202ed\re\x00f")
	case "system":
		return llmtest.Say(systemPrompt(r))
	case "tools":
		var names []string
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
		return llmtest.Say(strings.Join(names, " "))
	case "effort":
		return llmtest.Say("effort " + r.Effort + " model " + r.Model)
	case "circle":
		return llmtest.Call("list_agents", `{}`)
	case "forever":
		return llmtest.Call("glob", `{"pattern":"`+strconv.Itoa(stage)+`"}`)
	}
	if strings.HasPrefix(prompt, "Review the changes since ") {
		return reviewReply(r, stage)
	}
	if strings.HasPrefix(prompt, "Improve the first version of AGENTS.md") {
		return say([]string{"I have read it.", `{"text":"# Project\n\nBuild with go build ./..., with care.\u001b[2J"}`}, stage)
	}
	if strings.HasPrefix(prompt, "Choose the best attempt") {
		return judgeReply(r)
	}
	if strings.HasPrefix(prompt, "Write the message for these changes.") {
		return commitReply(r)
	}
	if answers, ok := strings.CutPrefix(prompt, "json\n"); ok {
		return say(append([]string{"done"}, strings.Split(strings.TrimSpace(answers), "\n")...), stage)
	}
	if strings.HasPrefix(prompt, "attached") {
		return llmtest.Say(attachedTo(r))
	}
	return obey(prompt, stage, r)
}

// reviewReply plays a reviewer that tries to change a file and finds a problem, some of it invented.
func reviewReply(r *llm.Request, stage int) llmtest.Turn {
	if stage == 0 {
		return llmtest.Call("write_file", `{"file_path":"hacked.txt","content":"x"}`)
	}
	return say([]string{
		attachedTo(r),
		`{"summary":"It divides\nby zero.","findings":[
			{"file":"calc.go","line":7,"severity":"terrible","title":"no test","detail":"Add one."},
			{"file":"../outside.go","line":1,"severity":"error","title":"outside","detail":""},
			{"file":"invented.go","line":1,"severity":"error","title":"invented","detail":""},
			{"file":"calc.go","line":3,"severity":"error","title":"division \u001b[2J by zero","detail":"n may be 0."}]}`,
	}, stage-1)
}

// commitReply plays a model that repeats the changed lines of the diff in the message.
func commitReply(r *llm.Request) llmtest.Turn {
	var body []string
	for line := range strings.Lines(attachedTo(r)) {
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "The author says") {
			body = append(body, strings.TrimSpace(line))
		}
	}
	b, _ := json.Marshal(map[string]string{"subject": fmt.Sprintf("Change\nfiles with %d tools", len(r.Tools)), "body": strings.Join(body, "\n")})
	return llmtest.Say(string(b))
}

// judgeReply plays a judge that chooses the attempt with the file "good".
func judgeReply(r *llm.Request) llmtest.Turn {
	best := 0
	for text := range strings.SplitSeq(attachedTo(r), "</attempt>") {
		if strings.Contains(text, "b/good") {
			_, _ = fmt.Sscanf(strings.TrimSpace(text), `<attempt number="%d">`, &best)
		}
	}
	return llmtest.Say(fmt.Sprintf(`{"best":%d,"why":"model %s"}`, best, r.Model))
}

// say answers with the text for a stage. The last one is repeated.
func say(texts []string, stage int) llmtest.Turn { return llmtest.Say(texts[min(stage, len(texts)-1)]) }

// attachedTo describes the files in the last prompt.
func attachedTo(r *llm.Request) (text string) {
	i := len(r.Messages) - 1
	for r.Messages[i].Role != llm.RoleUser || r.Messages[i].Text() == "" {
		i--
	}
	for _, p := range r.Messages[i].Parts[1:] {
		switch p := p.(type) {
		case llm.Text:
			text += p.Text + "\n"
		case llm.Image:
			text += "image " + p.MIME + "\n"
		}
	}
	return text + "end"
}

// systemPrompt returns the system prompt that applies. Later ones stand after what was said.
func systemPrompt(r *llm.Request) (text string) {
	for _, m := range r.Messages {
		if m.Role == llm.RoleSystem {
			text = m.Text()
		}
	}
	return text
}

func obey(prompt string, stage int, r *llm.Request) llmtest.Turn {
	lines := strings.Split(prompt, "\n")
	if stage < len(lines) {
		if rest, ok := strings.CutPrefix(lines[stage], "call "); ok {
			name, args, _ := strings.Cut(rest, " ")
			return llmtest.Call(name, args)
		}
	}
	last := r.Messages[len(r.Messages)-1]
	for _, p := range last.Parts {
		if res, ok := p.(llm.ToolResult); ok {
			return llmtest.Say("result: " + res.Text())
		}
	}
	return llmtest.Say("you said: " + prompt)
}
