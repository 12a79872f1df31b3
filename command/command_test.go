package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/skill"
)

// rig is a session with a scripted model and all commands.
type rig struct {
	*session.Local
	t      *testing.T
	dir    string
	script *llmtest.Script
	gone   []string // removed rules and notes
}

var models = []llm.Model{
	{ID: "small-1", Provider: "script", Name: "Small", Tools: true, ContextWindow: 200_000},
	{ID: "big-1", Provider: "script", Name: "Big", Aliases: []string{"big"}, Tools: true, ContextWindow: 200_000,
		Reasoning: true, Thinking: "effort", Efforts: []string{"low", "high"}},
	{ID: "old-1", Provider: "script", Name: "Old", Tools: true, Retired: true},
}

func newRig(t *testing.T, saved bool, turns ...llmtest.Turn) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), script: llmtest.Play(turns...)}
	state := home.Dir(t.TempDir())
	store, err := state.OpenSessions(nil)
	r.check(err)
	catalogue, err := llm.DefaultCatalogue().Extend(models...)
	r.check(err)
	skills := &skill.Registry{}
	skills.Add(&skill.Skill{Name: "review", Description: "Review the\n changes", ArgumentHint: "[FILE]", Instructions: "Review: $ARGUMENTS", UserInvocable: true})
	skills.Add(&skill.Skill{Name: "undo", Description: "Not this one", Instructions: "x", UserInvocable: true})
	skills.Add(&skill.Skill{Name: "quiet", Description: "For the model", Instructions: "x"})
	skills.Add(&skill.Skill{Name: "fix", Description: "Fix it", Instructions: "Fix it.", UserInvocable: true, Kind: skill.KindClaude})
	host := command.Host{
		Models: catalogue,
		Servers: func() []mcp.Status {
			return []mcp.Status{{Name: "files", State: mcp.Connected, Tools: []string{"mcp__files__read"}}, {Name: "web", State: mcp.Failed, Err: errors.New("no such program")}}
		},
		Rules: func(context.Context) ([]command.Rule, error) {
			return []command.Rule{{Effect: "allow", Rule: "Bash(make:*)", Origin: "user"}}, nil
		},
		Notes: func(context.Context) ([]command.Note, error) {
			return []command.Note{{Scope: "user", Title: "Style", Text: "Use\ntabs."}}, nil
		},
		RemoveRule: func(_ context.Context, rule command.Rule) error {
			r.gone = append(r.gone, rule.Rule+" in "+rule.Origin)
			return nil
		},
		Forget: func(_ context.Context, n command.Note) error {
			r.gone = append(r.gone, n.Title)
			return nil
		},
		Exists: func(path string) bool { return path == "/tmp" },
	}
	c := coding.Config{
		Provider: "script",
		Model:    "small-1",
		Dir:      r.dir,
		State:    string(state),
		Tier:     "all",
		Session:  agent.Config{ID: "one", Client: r.script, Catalogue: catalogue, Meta: event.Meta{Prompt: "Begin"}},
	}
	o := session.Options{
		Submit: feature.Commands{Skills: skills, Provider: "script", Catalogue: catalogue}.Submit,
		Commands: func() []session.Command {
			prompt := mcp.Prompt{Server: "files", Name: "Sort", Title: "Sort them", Arguments: []mcp.PromptArgument{{Name: "dir", Required: true}, {Name: "by"}}}
			return append(command.Skills(skills), command.Prompts([]mcp.Prompt{prompt})...)
		},
	}
	if saved {
		manager := &session.Manager{Store: store, Home: state}
		c.Session.Store, o.Manager, host.Sessions = store, manager, manager
	} else {
		c.NoSave = true
	}
	o.Registry = command.New(host)
	r.Local, err = session.Open(t.Context(), c, o)
	r.check(err)
	t.Cleanup(func() { r.Close() })
	return r
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// run runs a line and returns what it shows, as text.
func (r *rig) run(line string) string {
	r.t.Helper()
	res, err := r.Run(r.t.Context(), line)
	if err != nil {
		return strings.ReplaceAll("error: "+err.Error()+"\n", r.dir, "DIR")
	}
	return strings.ReplaceAll(text(r.t, res), r.dir, "DIR")
}

// text returns a result as text. It fails if the result does not survive JSON.
func text(t *testing.T, res session.Result) string {
	t.Helper()
	var decoded session.Result
	b, err := json.Marshal(res)
	if err == nil {
		err = json.Unmarshal(b, &decoded)
	}
	if err != nil || !reflect.DeepEqual(decoded, res) {
		t.Errorf("%+v becomes %+v (%v) as JSON", res, decoded, err)
	}
	var b2 strings.Builder
	if res.Text != "" {
		fmt.Fprintln(&b2, res.Text)
	}
	for _, table := range res.Tables {
		for _, row := range append([][]string{{table.Title}, table.Columns}, table.Rows...) {
			if line := strings.TrimSpace(strings.Join(row, " | ")); line != "" && line != "|" {
				fmt.Fprintln(&b2, line)
			}
		}
	}
	b2.WriteString(res.Diff)
	if res.Action != "" {
		fmt.Fprintln(&b2, "→", res.Action, res.Session)
	}
	if res.Submit != nil {
		fmt.Fprintf(&b2, "submit %q %v\n", res.Submit.Text, res.Submit.Plain)
	}
	return b2.String()
}

// wants runs a line and fails unless all texts are in what it shows.
func (r *rig) wants(line string, wanted ...string) {
	r.t.Helper()
	got := r.run(line)
	for _, want := range wanted {
		if !strings.Contains(got, want) {
			r.t.Errorf("%s shows\n%swant %q", line, got, want)
		}
	}
}

// work submits an input and waits for the end of the work.
func (r *rig) work(input string) session.Outcome {
	r.t.Helper()
	r.check(r.Submit(r.t.Context(), session.Input{Text: input}))
	out, err := r.Wait(r.t.Context())
	r.check(err)
	return out
}

func (r *rig) info() session.Info {
	r.t.Helper()
	i, err := r.Info(r.t.Context())
	r.check(err)
	return i
}

func (r *rig) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(b)
}

func write(path, content string) llmtest.Turn {
	args, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	return llmtest.Call("write_file", string(args))
}

func TestParse_PathsAndTextAreNotCommands(t *testing.T) {
	for text, want := range map[string]string{
		"/model":               "model||true",
		"/model  big high ":    "model|big high|true",
		"/frontend:test a\nb":  "frontend:test|a\nb|true",
		"/mcp__files__sort x":  "mcp__files__sort|x|true",
		"/größe":               "größe||true",
		"/etc/hosts is wrong":  "||false",
		"/ model":              "||false",
		"//model":              "||false",
		"/":                    "||false",
		"":                     "||false",
		" /model":              "||false",
		"\n/model":             "||false",
		"the /model":           "||false",
		"/-x":                  "||false",
		"/model\tbig":          "model|big|true",
		"/usr/bin/env: broken": "||false",
	} {
		name, args, ok := command.Parse(text)
		if got := fmt.Sprintf("%s|%s|%v", name, args, ok); got != want {
			t.Errorf("Parse(%q) = %s, want %s", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("/model big")
	f.Add(" /x\xff")
	f.Fuzz(func(t *testing.T, text string) {
		name, args, ok := command.Parse(text)
		switch {
		case !ok && name+args != "":
			t.Errorf("%q is not a command, and has the name %q", text, name)
		case ok && (name == "" || !strings.HasPrefix(text, "/"+name) || strings.Contains(name, "/") || !strings.HasSuffix(strings.TrimSpace(text), args)):
			t.Errorf("%q is /%s %q", text, name, args)
		}
	})
}

func TestSettings_ChangeTheModelItsEffortAndTheMode(t *testing.T) {
	r := newRig(t, true, llmtest.Say("Hello."))
	r.wants("/model", "The model is script small-1.", "big-1 | Big | low, high")
	if got := r.run("/model"); strings.Contains(got, "old-1") {
		t.Errorf("a retired model is listed:\n%s", got)
	}
	r.wants("/model big high", "script big-1, effort high")
	if i := r.info(); i.Model != "big-1" || i.Effort != "high" {
		t.Errorf("the session is %+v", i)
	}
	r.wants("/effort", "effort high", "supports the efforts low, high")
	r.wants("/effort lwo", `error: configuration: big-1 does not support effort "lwo"; use low or high`)
	r.wants("/effort low", "effort low")
	r.wants("/effort default", "The model of the next call is script big-1.")
	r.wants("/model big-2", `error: unknown model "big-2"; did you mean big-1? To use it all the same, type script/big-2`)
	r.wants("/model a b c", "error: /model takes a model and an effort")
	r.wants("/model script/big-2", "script big-2")
	r.wants("/mode", "The permission mode is default.", "plan | changes nothing")
	r.wants("/mode accept", "error: unknown mode")
	r.wants("/mode acceptedits", "now acceptEdits")
	r.wants("/plan", "now plan")
	r.wants("/plan /etc is wrong", "→ submit", `submit "/etc is wrong" true`)
	r.wants("/plan off", "now default")
	r.wants("/rename Fix  the parser", `called "Fix the parser"`)
	if i := r.info(); i.Model != "big-2" || i.Mode != "default" || i.Title != "Fix the parser" {
		t.Errorf("the session is %+v", i)
	}
	r.work("Hi")
	r.wants("/sessions", "| Fix the parser")
	r.wants("/rename", "no title")
	if i := r.info(); i.Title != "Begin" {
		t.Errorf("the title is %q", i.Title)
	}
}

// A mode without a description would be listed with nothing.
func TestSettings_DescribeEveryMode(t *testing.T) {
	for line := range strings.Lines(newRig(t, false).run("/mode")) {
		if strings.HasSuffix(strings.TrimSpace(line), "|") {
			t.Errorf("%q has no description", line)
		}
	}
}

func TestConversation_IsCompactedUndoneAndCompared(t *testing.T) {
	r := newRig(t, true, write("a.txt", "one\n"), llmtest.Say("Made it."), llmtest.Say(strings.Repeat("a long story ", 5000)), llmtest.Say(strings.Repeat("a long story ", 5000)), llmtest.Say("All of it, in short."))
	r.wants("/undo", "error: nothing to undo")
	r.wants("/diff", "The agent changed no files.")
	r.run("/mode acceptEdits")
	r.work("Make a.txt")
	r.wants("/diff", "added | a.txt | 1 | 0", "+one")
	r.wants("/undo preview", `Would undo the conversation and the files since "Make a.txt".`, "deleted | a.txt")
	r.wants("/undo nothing", `error: /undo does not know "nothing"`)
	r.check(os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("mine\n"), 0o644))
	r.wants("/undo", "use /undo overwrite or /undo keep")
	if r.file("a.txt") != "mine\n" {
		t.Fatalf("the undo changed the file to %q", r.file("a.txt"))
	}
	r.wants("/undo overwrite", `Undid the conversation and the files since "Make a.txt".`, "deleted | a.txt")
	if r.file("a.txt") != "" {
		t.Errorf("the file is %q", r.file("a.txt"))
	}
	r.wants("/redo chat", `error: /redo does not know "chat"`)
	r.wants("/redo", "Restored the conversation and the files")
	if r.file("a.txt") != "mine\n" {
		t.Errorf("the file is %q", r.file("a.txt"))
	}
	r.work("Tell me a story")
	r.work("Tell me another")
	r.wants("/compact", "Compacted: about ")
	r.wants("/export", "Exported to DIR/one.tar.")
	r.wants("/export", "error: open DIR/one.tar: file exists")
	r.wants("/export sub/x.tar", "error: open DIR/sub/x.tar: no such file")
	if info, err := os.Stat(filepath.Join(r.dir, "one.tar")); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive: %v, %v", info, err)
	}
	r.wants("/status", "session | one, saved", "model | script small-1", "mode | acceptEdits", "state | idle", "tokens in", "directory | DIR")
	r.wants("/cost", "tokens in")
}

func TestSessions_AreListedOpenedAndCopied(t *testing.T) {
	r := newRig(t, true, llmtest.Say("Hello."))
	r.work("Hi")
	r.wants("/sessions", "→ sessions", "one | ", "| Begin")
	r.wants("/resume", "→ sessions")
	r.wants("/resume nope", `error: session "nope" not found`)
	r.wants("/resume one", "error: session one is the current one")
	got := r.run("/fork @2 Another way")
	if !strings.Contains(got, "→ open ") {
		t.Fatalf("/fork shows %s", got)
	}
	_, id, _ := strings.Cut(strings.TrimSpace(got), "→ open ")
	r.wants("/resume "+id, "→ open "+id)
	r.wants("/sessions", id+" | ", "| Another way")
	r.wants("/fork", "→ open ")
	r.wants("/fork @999", "error: session one has no record 999")
	r.wants("/new", "→ new")
	r.wants("/clear", "→ new")
	r.wants("/exit", "→ close")
	r.wants("/quit", "→ close")
}

func TestAbout_ShowsWhatThereIs(t *testing.T) {
	r := newRig(t, false)
	r.wants("/help", "Commands\n", "/undo [chat|files] [keep|overwrite] [preview] | Undo the last prompt",
		"/exit | Close the session (also /quit)", "/fork [@RECORD] [TITLE] | Continue in a copy of the session, up to a record if one is given; not available: the session is not saved",
		"Skills and command files\n", "/review [FILE] | Review the changes", "/quiet | For the model; not available: only the model can use it",
		"Prompts of MCP servers\n", "/mcp__files__Sort DIR [BY] | Sort them")
	r.wants("/help quit", "COMMAND | SUMMARY\n/exit | Close")
	r.wants("/help /nope", "error: unknown command /nope")
	r.wants("/skills", "/review [FILE] | skill | Review the changes", "/fix | command | Fix it", "/undo | skill | Not this one; not available: a built-in command has its name")
	r.wants("/mcp", "files | connected | 1 | mcp__files__read", "web | failed | 0 | no such program")
	r.wants("/permissions", "The permission mode is default: the agent asks", "allow | Bash(make:*) | user")
	r.wants("/memory", "user | Style | Use tabs.")
	r.wants("/permissions remove", "error: use /permissions or")
	r.wants("/permissions remove deny Bash(make:*)", "error: there is no rule deny Bash(make:*)")
	r.wants("/permissions remove allow Bash(make:*)", "Removed the rule allow Bash(make:*) from user.")
	r.wants("/memory forget project Style", "error: there is no project note")
	r.wants("/memory forget user Style", `Removed the user note "Style".`)
	if got := strings.Join(r.gone, ", "); got != "Bash(make:*) in user, Style" {
		t.Errorf("removed %s", got)
	}
	r.wants("/tasks", "No tasks.")
	r.wants("/queue", "No messages wait.")
	r.wants("/agents", "main | idle | 0 | 0 | small-1 |")
}

func TestCommands_WhileTheAgentWorks(t *testing.T) {
	r := newRig(t, true, llmtest.Call("update_plan", `{"plan":[{"step":"look","status":"completed"}]}`), write("a.txt", "x"), llmtest.Say("Done."), llmtest.Say("More."))
	r.check(r.Submit(t.Context(), session.Input{Text: "Begin"}))
	for range r.Events(t.Context(), 0) {
		if list, err := r.Questions(t.Context()); err == nil && len(list) > 0 {
			break
		}
	}
	for _, line := range []string{"/undo", "/redo", "/compact", "/continue"} {
		r.wants(line, "error: "+strings.Fields(line)[0]+" is not available: the session is working")
	}
	r.check(r.FollowUp(t.Context(), session.Input{Text: "one"}))
	r.check(r.FollowUp(t.Context(), session.Input{Text: "two"}))
	r.wants("/queue", "1 | after the work | one\n2 | after the work | two\n")
	r.wants("/queue edit 1 ONE", "1 | after the work | ONE\n2 | after the work | two\n")
	r.wants("/queue edit 1", "error: use /queue edit N TEXT")
	r.wants("/queue now 2", "| now | two\n")
	r.wants("/queue remove 9", `error: no message "9" waits`)
	r.wants("/queue drop 1", `error: /queue does not know "drop"`)
	r.wants("/queue remove 1", "1 | ")
	r.wants("/queue clear", "Removed 1 message.")
	r.wants("/tasks", "completed | look")
	r.wants("/status", "waiting | 1 approval", "state | processing")
	r.check(r.Submit(t.Context(), session.Input{Text: "/interrupt"}))
	if out, err := r.Wait(t.Context()); err != nil || out.Status != event.StatusInterrupted {
		t.Fatalf("the outcome is %+v, %v", out, err)
	}
	r.wants("/undo preview", `Would undo the conversation and the files since "Begin".`)
	if got := r.run("/continue"); strings.Contains(got, "error") {
		t.Errorf("/continue shows %s", got)
	}
	list, err := r.Questions(t.Context())
	for err == nil && len(list) == 0 {
		list, err = r.Questions(t.Context())
	}
	r.check(err)
	r.check(r.Answer(t.Context(), list[0].ID, ask.Answer{Choice: "y"}))
	if out, err := r.Wait(t.Context()); err != nil || out.Status != event.StatusDone {
		t.Errorf("the outcome is %+v, %v", out, err)
	}
	r.wants("/stop", "")
}

func TestAgents_AreListedSteeredAndStopped(t *testing.T) {
	r := newRig(t, false)
	r.script.Reply = func(_ int, q *llm.Request) llmtest.Turn {
		last := q.Messages[len(q.Messages)-1]
		switch {
		case strings.Contains(last.Text(), "Delegate"):
			return llmtest.Call("spawn_agent", `{"name":"red","task":"write a file"}`)
		case strings.Contains(last.Text(), "write a file"):
			return write("b.txt", "x")
		}
		return llmtest.Call("wait", `{"agent_id":"1"}`)
	}
	r.check(r.Submit(t.Context(), session.Input{Text: "Delegate"}))
	for range r.Events(t.Context(), 0) {
		if list, err := r.Questions(t.Context()); err == nil && len(list) > 0 {
			break
		}
	}
	r.wants("/agents", "main | ", "1 red | running | ", "| write a file")
	r.wants("/agents steer red /etc is wrong", "Sent to agent red.")
	r.wants("/agents steer blue hurry", "error: ")
	r.wants("/agents stop", "error: use /agents")
	r.wants("/cost", "AGENT | CALLS", "main | ", "1 red | ", "total | ")
	r.wants("/agents stop red", "Stopped agent red.")
	r.wants("/agents", "1 red | closed")
	r.wants("/stop", "")
}

func TestRun_PromptsBecomeInputsAndTyposGetSuggestions(t *testing.T) {
	r := newRig(t, false, llmtest.Say("Reviewed."), llmtest.Say("What about it?"))
	r.wants("/review a.go", "→ submit", `submit "/review a.go" false`)
	r.wants("/mcp__other__thing x", `submit "/mcp__other__thing x" false`)
	r.wants("/undo chat", "error: nothing to undo") // not the skill
	r.wants("/quiet", "error: /quiet is not available: only the model can use it")
	r.wants("/modle", "error: unknown command /modle; did you mean /mode or /model?")
	r.wants("/reveiw", "did you mean /review?")
	r.wants("/xyzzyx", "error: unknown command /xyzzyx; /help lists them")
	r.wants("/etc/hosts is wrong", `error: "/etc/hosts is wrong" is not a command`)
	if err := r.Submit(t.Context(), session.Input{Text: "/modle big"}); err == nil {
		t.Error("an unknown command was submitted")
	}
	r.check(r.Submit(t.Context(), session.Input{Text: "/mode plan"}))
	if i := r.info(); i.Mode != "plan" || i.State != event.StateIdle {
		t.Errorf("after a command the session is %+v", i)
	}
	r.work("/review a.go")
	r.work("/tmp is full")
	var said []string
	for _, q := range r.script.Requests() {
		said = append(said, q.Messages[len(q.Messages)-1].Text())
	}
	if len(said) != 2 || !strings.Contains(said[0], "Review: a.go") || said[1] != "/tmp is full" {
		t.Errorf("the model was told %q", said)
	}
}

func TestSubmit_TextThatLooksLikeACommandIsSubmitted(t *testing.T) {
	for _, in := range []session.Input{{Text: " /mode plan"}, {Text: "/mode plan", Plain: true}, {Text: "/etc/hosts is wrong"}} {
		r := newRig(t, false, llmtest.Say("I see."))
		r.check(r.Submit(t.Context(), in))
		if out, err := r.Wait(t.Context()); err != nil || out.Text != "I see." || r.info().Mode != "default" {
			t.Errorf("%+v: %+v, %v", in, out, err)
		}
		if got := r.script.Requests()[0].Messages; got[len(got)-1].Text() != in.Text {
			t.Errorf("the model got %q, want %q", got[len(got)-1].Text(), in.Text)
		}
	}
}

func TestComplete_NamesAndArguments(t *testing.T) {
	r := newRig(t, true)
	r.check(os.WriteFile(filepath.Join(r.dir, "main.go"), nil, 0o644))
	for text, want := range map[string]string{
		"/mo":              "/mode /model",
		"/MO":              "/mode /model",
		"/rev":             "/review",
		"/quie":            "",
		"/mode p":          "plan",
		"/mode plan ":      "",
		"/model b":         "big-1",
		"/model big-1 ":    "low high",
		"/effort d":        "default",
		"/undo f":          "files",
		"/undo files k":    "keep",
		"/resume ":         "one",
		"/help mod":        "mode model",
		"/diff ma":         "main.go",
		"/agents s":        "steer stop",
		"/nope x":          "",
		"text":             "",
		"":                 "",
		"/etc/hosts/x a b": "",
	} {
		list, err := r.Complete(t.Context(), session.Completion{Text: text, Command: true})
		if got := strings.Join(list, " "); err != nil || got != want {
			t.Errorf("%q: got %q (%v), want %q", text, got, err, want)
		}
	}
	if list, err := r.Complete(t.Context(), session.Completion{Text: "main"}); err != nil || !slices.Equal(list, []string{"main.go"}) {
		t.Errorf("paths: got %q (%v)", list, err)
	}
}

func TestNew_ACommandReplacesABuiltInOne(t *testing.T) {
	r := newRig(t, false)
	own := command.New(command.Host{}, command.Command{
		Name: "help",
		Run: func(context.Context, command.Target, string) (session.Result, error) {
			return session.Result{Text: "mine"}, nil
		},
	})
	res, ok, err := own.Run(t.Context(), r, "/help")
	if res.Text != "mine" || !ok || err != nil {
		t.Errorf("got %+v, %v, %v", res, ok, err)
	}
	if _, _, err := own.Run(t.Context(), r, "/mcp"); err == nil || err.Error() != "/mcp is not available: no MCP servers are configured" {
		t.Errorf("without servers /mcp failed with %v", err)
	}
}
