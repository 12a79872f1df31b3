// Package examples tests the programs below it: that they are short, and that they work. The model is a script on a test
// server with Anthropic's protocol.
package examples

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func TestMain(m *testing.M) {
	if os.Args[len(os.Args)-1] == "mcp-server" {
		serveMCP()
		return
	}
	var err error
	if bin, err = os.MkdirTemp("", "reins-examples-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(bin)
	os.Exit(code)
}

// serveMCP is an MCP server over standard input and output, with one tool.
func serveMCP() {
	server := sdk.NewServer(&sdk.Implementation{Name: "example"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "ping"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "pong"}}}, nil, nil
	})
	_ = server.Run(context.Background(), &sdk.StdioTransport{})
}

var bin string // a directory for the built programs

var build = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin+string(filepath.Separator), "./...").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// limits are the programs' maximum lengths, in lines that are not blank and not comments.
var limits = map[string]int{
	"minimal": 12, "stream": 20, "tool": 25, "approval": 38, "typed": 24, "budget": 20, "environment": 38, "provider": 30, "mcp": 25, "ci": 40, "chat": 60,
}

func TestExamples_AreShort(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) != len(limits) {
		t.Fatalf("got %q, %v", files, err)
	}
	page, err := os.ReadFile("../docs/hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, n := filepath.Dir(file), 0
		for line := range strings.Lines(string(source)) {
			if len(line) > 141 {
				t.Errorf("%s has a line of %d characters", name, len(line)-1)
			}
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				n++
			}
		}
		if n > limits[name] {
			t.Errorf("%s has %d lines, more than %d", name, n, limits[name])
		}
		if row := fmt.Sprintf("| [%s](../examples/%[1]s/main.go) | %d |", name, n); !strings.Contains(string(page), row) {
			t.Errorf("docs/hosts.md lacks the row %q", row)
		}
		t.Logf("%s: %d lines", name, n)
	}
}

// rig runs one program.
type rig struct {
	*testing.T
	dir    string
	server *llmtest.Server
	env    []string
}

func newRig(t *testing.T, turns ...llmtest.Turn) *rig {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, dir: t.TempDir(), server: llmtest.NewServer(llmtest.Play(turns...))}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REINS_HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
		"ANTHROPIC_API_KEY=key", "ANTHROPIC_BASE_URL=" + r.server.BaseURL("anthropic"),
	}
	t.Cleanup(func() {
		r.server.Close()
		for _, v := range r.server.Violations() {
			t.Error(v)
		}
	})
	return r
}

func (r *rig) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(r.Context(), filepath.Join(bin, name), args...)
	c.Dir, c.Env = r.dir, r.env
	return c
}

// run runs a program to its end and returns its output and exit code.
func (r *rig) run(name string, args ...string) (string, int) {
	r.Helper()
	c := r.command(name, args...)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// expect runs a program that must succeed and print the text.
func (r *rig) expect(want, name string, args ...string) {
	r.Helper()
	if out, code := r.run(name, args...); code != 0 || !strings.Contains(out, want) {
		r.Errorf("%s exited with %d and printed %q, want %q", name, code, out, want)
	}
}

// returned is a turn that fails unless the last tool result has the text.
func returned(text string, then llmtest.Turn) llmtest.Turn {
	then.Check = func(req *llm.Request) error {
		for _, p := range req.Messages[len(req.Messages)-1].Parts {
			if res, ok := p.(llm.ToolResult); ok && strings.Contains(res.Text(), text) {
				return nil
			}
		}
		return fmt.Errorf("no tool returned %q: %+v", text, req.Messages[len(req.Messages)-1])
	}
	return then
}

var writeHello = llmtest.Call("write_file", `{"file_path":"hello.txt","content":"hello\n"}`)

func TestExamples_Minimal(t *testing.T) {
	r := newRig(t, writeHello, llmtest.Say("I wrote it."))
	r.expect("I wrote it. [] <nil>", "minimal", "Write hello.txt.")
	if b, err := os.ReadFile(filepath.Join(r.dir, "hello.txt")); err != nil || string(b) != "hello\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestExamples_Stream(t *testing.T) {
	r := newRig(t, writeHello, llmtest.Say("I could not write it."))
	r.expect("I could not write it.", "stream", "Write hello.txt.")
	if _, err := os.Stat(filepath.Join(r.dir, "hello.txt")); err == nil {
		t.Error("the file was written without an approval")
	}
}

func TestExamples_Tool(t *testing.T) {
	newRig(t, llmtest.Call("weather", `{"city":"Oslo"}`), returned("It is sunny in Oslo.", llmtest.Say("Sunny."))).expect("Sunny.", "tool", "How is the weather?")
}

func TestExamples_Typed(t *testing.T) {
	for _, list := range []string{`[{"file":"a.go","problem":"typo"}]`, `{"value":[{"file":"a.go","problem":"typo"}]}`} {
		newRig(t, llmtest.Say("There is a typo."), llmtest.Say(list)).expect("[{a.go typo}] <nil>", "typed", "Find typos.")
	}
}

func TestExamples_Budget(t *testing.T) {
	look := llmtest.Call("read_file", `{"file_path":"missing.txt"}`)
	look.Usage = llm.Usage{Input: 2_000_000, Output: 100}
	newRig(t, look, llmtest.Say("never")).expect("stopped by the limit tree_cost", "budget", "Read everything.")
}

func TestExamples_Environment(t *testing.T) {
	r := newRig(t, llmtest.Call("shell", `{"command":"echo it is $WHERE"}`), returned("it is elsewhere", llmtest.Say("Elsewhere.")))
	r.expect("Elsewhere. <nil>", "environment", "Where are you?", "env", "WHERE=elsewhere")
}

func TestExamples_Provider(t *testing.T) {
	newRig(t).expect("Say hello. <nil>", "provider", "Say hello.")
}

func TestExamples_MCP(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	newRig(t, llmtest.Call("mcp__example__ping", `{}`), returned("pong", llmtest.Say("It answers."))).expect("It answers.", "mcp", "Ping it.", self, "mcp-server")
}

func TestExamples_CI(t *testing.T) {
	review := []llmtest.Turn{
		{Parts: llmtest.Call("read_file", `{"file_path":"a.go"}`).Parts},
		returned("package b", llmtest.Say("It does not compile.")),
		llmtest.Say(`{"value":[{"file":"a.go","line":1,"text":"the package was renamed"}]}`),
	}
	r := newRig(t, append(review, llmtest.Say("Fine."), llmtest.Say(`{"value":[]}`))...)
	git := func(args ...string) {
		c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		c.Dir, c.Env = r.dir, r.env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(r.dir, "a.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("package a\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	write("package b\n")
	if out, code := r.run("ci", "HEAD"); code != 1 || !strings.Contains(out, "::error file=a.go,line=1::the package was renamed") {
		t.Errorf("exited with %d and printed %q", code, out)
	}
	r.expect("", "ci", "HEAD")
}

// serve starts a program that listens on an address, and waits until it does.
func (r *rig) serve(name, session string) (base string, c *exec.Cmd) {
	r.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c = r.command(name, session, address)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return "http://" + address, c
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			r.Fatalf("%s does not listen: %v", name, err)
		}
	}
}

func (r *rig) body(resp *http.Response, err error) string {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

func TestExamples_ApprovalSurvivesKill9(t *testing.T) {
	r := newRig(t, writeHello, llmtest.Say("I wrote it."))
	base, process := r.serve("approval", "job-1")
	if got := r.body(http.Get(base + "/pending")); got != "[]\n" {
		t.Errorf("at first, %q is pending", got)
	}
	if got := r.body(http.PostForm(base+"/task", url.Values{"task": {"Write hello.txt."}})); !strings.HasPrefix(got, "awaiting_approval") {
		t.Errorf("the task ended with %q", got)
	}
	if err := process.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_ = process.Wait()

	base, _ = r.serve("approval", "job-1")
	var pending []struct{ ID, Tool string }
	if err := json.Unmarshal([]byte(r.body(http.Get(base+"/pending"))), &pending); err != nil || len(pending) != 1 || pending[0].Tool != "write_file" {
		t.Fatalf("after the restart, %+v is pending: %v", pending, err)
	}
	if got := r.body(http.PostForm(base+"/approve/nonsense", url.Values{"allow": {"true"}})); !strings.Contains(got, `no tool call "nonsense"`) {
		t.Errorf("a wrong ID: %q", got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "hello.txt")); err == nil {
		t.Error("the file was written before the approval")
	}
	if got := r.body(http.PostForm(base+"/approve/"+pending[0].ID, url.Values{"allow": {"true"}})); got != "done I wrote it. <nil>\n" {
		t.Errorf("the approval was answered with %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(r.dir, "hello.txt")); err != nil || string(b) != "hello\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

// events reads server-sent events until one has the kind, and returns the kinds and the last number.
func (r *rig) events(base, after, until string) (kinds []string, last string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), "GET", base+"/events", nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", after)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var rec struct{ Kind string }
			if err := json.Unmarshal([]byte(data), &rec); err != nil {
				r.Fatal(err)
			}
			kinds = append(kinds, rec.Kind)
		}
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last = id
		}
		if lines.Text() == "" && kinds[len(kinds)-1] == until {
			return kinds, last
		}
	}
	r.Fatalf("the events ended after %q", kinds)
	return nil, ""
}

func TestExamples_Chat(t *testing.T) {
	r := newRig(t, llmtest.Say("Hello!"), llmtest.Say("Bye!"))
	base, process := r.serve("chat", "chat-1")
	if got := r.body(http.Get(base)); !strings.Contains(got, "EventSource('events')") {
		t.Errorf("the page is %q", got)
	}
	if got := r.body(http.PostForm(base+"/say", url.Values{"text": {"Hello?"}})); got != "" {
		t.Errorf("saying something was answered with %q", got)
	}
	first, last := r.events(base, "", "PROCESSING_END")
	if got := strings.Join(first, " "); !strings.HasPrefix(got, "SESSION_START WARNING USER_INPUT ") || !strings.Contains(got, " ASSISTANT_TEXT_END ") {
		t.Errorf("got events %s", got)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	base, _ = r.serve("chat", "chat-1")
	if got := r.body(http.PostForm(base+"/say", url.Values{"text": {"Bye?"}})); got != "" {
		t.Errorf("saying something was answered with %q", got)
	}
	if more, _ := r.events(base, last, "PROCESSING_END"); more[0] != "SESSION_RESUME" || strings.Count(strings.Join(more, " "), "USER_INPUT") != 1 {
		t.Errorf("after a restart, the page gets %q", more)
	}
}
