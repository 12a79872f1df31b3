package panel

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/screen"
	"github.com/reins-agent/reins/internal/tui/theme"
	"github.com/reins-agent/reins/internal/tui/transcript"
	"github.com/reins-agent/reins/internal/tui/tuitest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

var update = flag.Bool("update", false, "write the images in docs/terminal")

const images = "../../../docs/terminal"

// tale is a session as records, for images and tests.
type tale struct {
	state view.State
	seq   event.Seq
	at    time.Time
	calls map[string]int
}

func newTale() *tale {
	t := &tale{at: now.Add(-20 * time.Minute), calls: map[string]int{}}
	t.add("", event.SessionStart{})
	return t
}

func (t *tale) add(agent string, d event.Data) {
	t.at = t.at.Add(4 * time.Second)
	r := event.Record{Time: t.at, Agent: agent, Data: d}
	if !event.KindOf(d).Transient() {
		t.seq++
		r.Seq = t.seq
	}
	t.state.Apply(r)
}

func (t *tale) user(s string) { t.add("", event.UserInput{Message: llm.UserText(s)}) }

// call calls the model, which answers with a text and calls a tool; name may be "".
func (t *tale) call(agent, text, name string, args any) {
	t.calls[agent]++
	n := t.calls[agent]
	price := 0.0125 * float64(1+n%5)
	t.add(agent, event.ModelCallStart{Call: n, Provider: "script", Model: "model-1"})
	m := llm.Message{Role: llm.RoleAssistant}
	if text != "" {
		m.Parts = append(m.Parts, llm.Text{Text: text})
	}
	if name != "" {
		b, _ := json.Marshal(args)
		m.Parts = append(m.Parts, llm.ToolCall{ID: t.id(agent), Name: name, Arguments: string(b)})
	}
	t.add(agent, event.TextEnd{Call: n, Message: m})
	t.add(agent, event.ModelCallEnd{
		Call:     n,
		Provider: "script",
		Model:    "model-1",
		Usage:    llm.Usage{Input: int64(4000 + 900*n), Output: 250, CacheRead: int64(3500 + 800*n)},
		Cost:     &price,
	})
	if name != "" {
		b, _ := json.Marshal(args)
		t.add(agent, event.ToolCallStart{ID: t.id(agent), Name: name, Arguments: b})
	}
}

func (t *tale) id(agent string) string { return fmt.Sprint("c", agent, "-", t.calls[agent]) }

// result ends the last tool call.
func (t *tale) result(agent, name, output, diff string, a tool.Artifacts) {
	t.add(agent, event.ToolCallEnd{
		ID:        t.id(agent),
		Name:      name,
		Model:     output,
		Duration:  1300 * time.Millisecond,
		Fields:    map[string]any{"diff": diff},
		Artifacts: a,
		Plan:      name == "update_plan",
	})
}

func (t *tale) shell(agent, line, output string) {
	t.call(agent, "", "shell", map[string]string{"command": line})
	t.result(agent, "shell", output, "", tool.Artifacts{CommandsRun: []string{line}})
}

func (t *tale) edit(path, diff string) {
	t.call("", "", "edit_file", map[string]string{"file_path": path})
	t.result("", "edit_file", "Edited "+path, diff, tool.Artifacts{FilesChanged: []string{path}})
}

const answer = `The parser read one byte too many at the end of a line. I changed **two functions**:

- ` + "`scan`" + ` stops before the line break
- ` + "`next`" + ` no longer copies

` + "```go" + `
func (s *scanner) next() (line string, ok bool) {
	i := strings.IndexByte(s.rest, '\n') // 行の終わり
	if i < 0 {
		return s.rest, false
	}
	line, s.rest = s.rest[:i], s.rest[i+1:]
	return line, true
}
` + "```" + `

| file | before | after |
|---|---:|---:|
| parse.go | 14 ms | 9 ms |
| 解析.go | 3 ms | 2 ms |

All 42 tests pass ✅ 👩‍💻`

const small = `--- a/parse.go
+++ b/parse.go
@@ -10,7 +10,7 @@ func (s *scanner) next() (line string, ok bool) {
 	i := strings.IndexByte(s.rest, '\n')
 	if i < 0 {
 		return s.rest, false
 	}
-	line, s.rest = s.rest[:i+1], s.rest[i+1:]
+	line, s.rest = s.rest[:i], s.rest[i+1:]
 	return line, true
 }
`

// talk is a conversation with what a screen can show.
func talk() *tale {
	t := newTale()
	t.user("The parser is slow, and `解析.go` fails on emoji 👨‍👩‍👧. Find out why and fix it.")
	t.call("", "I will look at the parser first.", "", nil)
	t.shell("", "go test ./...", "--- FAIL: TestParse (0.00s)\n    parse_test.go:14: got \"a\\n\", want \"a\"\n"+
		"\x1b[31mFAIL\x1b[0m\nFAIL\texample.com/parse\t0.014s\n")
	t.edit("parse.go", small)
	t.shell("", "go test ./...", "ok  \texample.com/parse\t0.009s\n")
	t.call("", answer, "", nil)
	t.add("", event.ProcessingEnd{Outcome: event.StatusDone, State: event.StateIdle})
	return t
}

// large is a diff of 500 lines.
func large() string {
	var b strings.Builder
	b.WriteString("--- a/table.go\n+++ b/table.go\n@@ -1,250 +1,250 @@\n")
	for i := range 250 {
		fmt.Fprintf(&b, "-\t{Name: \"entry %d\", Size: %d},\n+\t{Name: \"entry %d\", Size: %d, Title: \"項目 %d\"},\n", i, i*7, i, i*7+1, i)
	}
	return b.String()
}

// crowd is a session with four agents at work.
func crowd() *tale {
	t := newTale()
	t.user("Review the four packages, one agent each.")
	t.call("", "", "spawn_agent", map[string]string{"task": "review"})
	for i, name := range []string{"parser", "レンダラー", "store 🗄️", "network"} {
		path := fmt.Sprint(i + 1)
		t.add("", event.SubagentStart{ID: path, Name: name, Task: "Review package " + name + " and report bugs", Model: "model-1"})
		t.add("", event.Task{ID: fmt.Sprint("t", i+1), Subject: "Review " + name, Owner: name, Status: event.TaskInProgress})
		t.add(path, event.UserInput{Message: llm.UserText("Review package " + name)})
	}
	t.shell("1", "go vet ./parser", "ok\n")
	t.call("1", "", "shell", map[string]string{"command": "go test -race ./parser"})
	t.call("2", "", "grep", map[string]string{"pattern": "幅"})
	t.add("3", event.ModelCallStart{Call: 1, Provider: "script", Model: "model-1"})
	t.call("4", "", "read_file", map[string]string{"file_path": "network/dial.go"})
	t.add("4", event.SubagentStart{ID: "4/1", Name: "dns", Task: "Look at the resolver", Model: "model-1"})
	t.add("4/1", event.UserInput{Message: llm.UserText("Look at the resolver")})
	t.shell("4/1", "rg -n LookupHost", "dial.go:31\n")
	t.add("", event.SubagentEnd{ID: "4/1", Status: event.SubagentCompleted})
	t.add("", event.Task{ID: "t5", Subject: "Write the report", Status: event.TaskPending, BlockedBy: []string{"t1", "t2"}})
	t.call("", "", "update_plan", map[string]any{"plan": []map[string]string{
		{"step": "Start an agent for each package", "status": "completed"},
		{"step": "Collect what they found", "status": "in_progress"},
		{"step": "Write the report", "status": "pending"},
	}})
	t.result("", "update_plan", "ok", "", tool.Artifacts{})
	t.call("", "", "wait", map[string]string{"agent_id": "1"})
	return t
}

// drawn returns a frame as an image.
func drawn(f screen.Frame, width, height int, dark bool) string {
	look, palette := theme.Named("light", false, theme.TrueColor), tuitest.Light
	if dark {
		look, palette = theme.Named("dark", true, theme.TrueColor), tuitest.Dark
	}
	e := tuitest.New(width, height)
	fmt.Fprintf(e, "%s", screen.New(width, height, false, look.SGR).Paint(f))
	return e.SVG(palette)
}

// conversationFrame returns what the conversation shows in a window of a size.
func conversationFrame(s *view.State, width, height int) screen.Frame {
	v := transcript.New(s)
	v.Resize(width, height)
	return screen.Frame{Lines: v.Lines(now)}
}

// gallery returns the images by name.
func gallery(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 60}} {
		for name, dark := range map[string]bool{"dark": true, "light": false} {
			f := conversationFrame(&talk().state, size[0], size[1])
			out[fmt.Sprintf("conversation-%dx%d-%s", size[0], size[1], name)] = drawn(f, size[0], size[1], dark)
		}
	}
	for name, p := range views(t) {
		out[name+"-80x24"] = drawn(p.Draw(80, 24), 80, 24, false)
		out[name+"-120x40"] = drawn(p.Draw(120, 40), 120, 40, true)
		if name == "diff" {
			press(t, p, "tab", "tab")
			out[name+"-200x60"] = drawn(p.Draw(200, 60), 200, 60, true)
		}
	}
	return out
}

// shelf has sessions for the images.
type shelf struct{ Sessions }

func (shelf) List(context.Context, session.Filter) (session.Listing, error) {
	var list session.Listing
	titles := []string{
		"Speed up the parser",
		"日本語の README を直す",
		"Release 2.0 🎉",
		"Why does CI fail on arm64?",
		"control \x1b[2J bytes \u202e in a title",
	}
	for i, title := range titles {
		list.Sessions = append(list.Sessions, event.Meta{
			ID:      fmt.Sprint("s", i),
			Title:   title,
			Dir:     "/home/me/parser",
			Model:   "model-1",
			Branch:  "main",
			Updated: now.Add(-time.Duration(i*i*7+3) * time.Minute),
		})
	}
	return list, nil
}

// views returns panels to draw.
func views(t *testing.T) map[string]Panel {
	l := newLoop(t)
	team, single := crowd(), talk()
	cells := func(title string, rows ...[]string) session.Result {
		return session.Result{Tables: []session.Table{{Title: title, Rows: rows}}}
	}
	rules := cells("",
		[]string{"allow", "Bash(go test:*)", "~/.config/reins/config.toml"},
		[]string{"deny", "Read(**/.env)", "/home/me/parser/.reins/config.toml"})
	rules.Text = "The permission mode is default: the agent asks before it changes anything."
	o := l.options(&fake{
		info: session.Info{ID: "s0", Dir: "/home/me/parser"},
		results: map[string]session.Result{
			"/permissions": rules,
			"/memory": cells("",
				[]string{"user", "Style", "Short sentences. Tabs."},
				[]string{"project", "テスト", "Run make test before a commit."}),
			"/mcp": cells("",
				[]string{"files", string(mcp.Connected), "4", "read, write, list, search"},
				[]string{"web", string(mcp.Failed), "0", "no such program: web-mcp"}),
		},
		commands: []session.Command{
			{Name: "model", Arguments: "[MODEL]", Summary: "Change the model, or list the models", Source: session.SourceBuiltin},
		},
	})
	o.Sessions = shelf{}
	o.State = func() *view.State { return &team.state }
	talking := o
	talking.State = func() *view.State { return &single.state }
	spent := NewCost(l.options(o.Handle)).(*cost)
	for i := range 40 {
		price := 0.01 * float64(1+i*i%17)
		model := []string{"model-1", "model-1", "small-2"}[i%3]
		d := event.ModelCallEnd{Provider: "p", Model: model, Usage: llm.Usage{Input: 9000, Output: 300}, Cost: &price}
		spent.add(event.Record{Agent: []string{"", "1", "2"}[i%3], Data: d})
	}
	spent.show()
	list := map[string]Panel{
		"sessions":    NewSessions(o),
		"agents":      NewAgents(o),
		"background":  NewBackground(serving(l.options(o.Handle))),
		"tasks":       NewTasks(o),
		"permissions": NewPermissions(o),
		"memory":      NewMemory(o),
		"mcp":         NewServers(o),
		"cost":        spent,
		"checkpoints": NewCheckpoints(talking),
		"help":        NewHelp(o),
		"diff":        NewResult("Changes in this session", session.Result{Diff: small + large()}, o),
		"start": NewStart(Start{
			Problem: "No provider has a key.",
			Providers: []connect.Status{
				{Name: "anthropic", Keys: []string{"ANTHROPIC_API_KEY"}},
				{Name: "openai", Keys: []string{"OPENAI_API_KEY"}},
				{Name: "gemini", Keys: []string{"GEMINI_API_KEY"}},
			},
			Local: func(context.Context) ([]connect.Server, error) {
				return []connect.Server{{Name: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", Models: []string{"qwen3:8b", "gpt-oss:20b"}}}, nil
			},
		}, o),
	}
	l.until("everything is loaded", func() bool {
		for _, p := range list {
			if b, ok := p.(interface{ busy() bool }); ok && b.busy() {
				return false
			}
		}
		return true
	})
	return list
}

// serving returns options with a session that runs commands.
func serving(o Options) Options {
	s, seq := &view.State{}, event.Seq(0)
	add := func(age time.Duration, agent string, d event.Data) {
		seq++
		s.Apply(event.Record{Seq: seq, Time: now.Add(-age), Agent: agent, Data: d})
	}
	for i, line := range []string{"npm run dev", "python3 -m http.server 8000", "make watch", "./bench.sh 計測"} {
		id := strconv.Itoa(i + 1)
		end := event.ToolCallEnd{ID: id, Name: "shell"}
		end.Artifacts.CommandsRun, end.Artifacts.Background = []string{line}, id
		add(time.Duration(9-2*i)*time.Minute, []string{"", "", "1", ""}[i], end)
	}
	add(time.Minute, "", event.BackgroundEnd{ID: "2", ExitCode: 143, Signal: "SIGTERM", Stopped: event.StoppedByUser, Duration: 6 * time.Minute})
	add(time.Minute, "", event.BackgroundEnd{ID: "4", ExitCode: 1, Duration: 80 * time.Second})
	add(12*time.Second, "", event.ToolCallStart{ID: "c", Name: "shell", Arguments: []byte(`{"command":"go test ./..."}`)})
	o.State = func() *view.State { return s }
	return o
}

func (b *base) busy() bool { return b.loading > 0 }

func TestScreens_ImagesAreCurrent(t *testing.T) {
	for name, svg := range gallery(t) {
		path := filepath.Join(images, name+".svg")
		if *update {
			must(t, os.MkdirAll(images, 0o755))
			must(t, os.WriteFile(path, []byte(svg), 0o644))
			continue
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != svg {
			t.Errorf("%s is not current (%v): run go test ./internal/tui/panel -run Screens -update, and look at it", path, err)
		}
	}
}
