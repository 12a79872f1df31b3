package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

// question runs a call whose approval is refused, and returns what the user was shown.
func question(t *testing.T, dir string, tools []tool.Tool, name string, args any) string {
	t.Helper()
	return asked(t, dir, "", tools, name, args).page()
}

// asked runs a call whose approval is refused, and returns the question. The configuration is below dir.
func asked(t *testing.T, dir, agent string, tools []tool.Tool, name string, args any) *callQuestion {
	t.Helper()
	return askedIn(t, "", dir, agent, tools, name, args)
}

// askedIn is asked in a permission mode.
func askedIn(t *testing.T, mode policy.Mode, dir, agent string, tools []tool.Tool, name string, args any) (q *callQuestion) {
	t.Helper()
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	reg := &tool.Registry{}
	if err := reg.Register(tools...); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	h := Host{Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] }}
	p := &tool.Pipeline{
		Registry: reg,
		Agent:    agent,
		Policy:   rules.Policy{},
		Mode:     mode,
		Approve: func(ctx context.Context, r tool.Request) (tool.Approval, error) {
			q = newCallQuestion(waiting(ctx, r, agent, h.rulePlaces(dir)), 0, false)
			return tool.Approval{}, nil
		},
	}
	p.Run(t.Context(), tool.Call{ID: "1", Name: name, Args: b, Env: e})
	if q == nil {
		t.Fatalf("%s %s was not asked about", name, b)
	}
	return q
}

// waiting returns the question that a session would ask about a call.
func waiting(ctx context.Context, r tool.Request, agent string, places []ask.Place) ask.Question {
	d := requested(ctx, r)
	d.ID = "1"
	for _, s := range r.Suggest(ctx) {
		d.Grants = append(d.Grants, event.Grant{Text: s.Text, Rules: s.Rules})
	}
	var s view.State
	s.Apply(event.Record{Seq: 1, Data: event.SubagentStart{ID: "1", Type: "explorer", Task: "count the lines"}})
	s.Apply(event.Record{Seq: 2, Agent: agent, Data: d})
	return ask.Waiting(&s, places...)[0]
}

func TestQuestion_ShowsTheChangesAndMakesNone(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "one\n", "b.txt": "two\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		args map[string]string
		want []string
		diff bool
	}{
		{"edit_file", map[string]string{"file_path": "a.txt", "old_string": "one", "new_string": "1"}, []string{"--- a/a.txt", "-one", "+1"}, true},
		{"write_file", map[string]string{"file_path": "sub/new.txt", "content": "new\n"}, []string{"+++ b/sub/new.txt", "+new"}, true},
		{"apply_patch", map[string]string{"patch": "*** Begin Patch\n*** Delete File: a.txt\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-two\n+2\n*** End Patch"},
			[]string{"-one", "-two", "+++ b/c.txt", "+2"}, true},
		{"edit_file", map[string]string{"file_path": "a.txt", "old_string": "not there", "new_string": "1"}, []string{"this call would fail: "}, false},
		{"shell", map[string]string{"command": "rm a.txt"}, []string{"runs: rm a.txt"}, false},
	} {
		got := question(t, dir, coding.NewTools(coding.ToolConfig{}), c.name, c.args)
		for _, w := range c.want {
			if !strings.Contains(got, "\n  "+w) {
				t.Errorf("%s %v: %q is not in the question:\n%s", c.name, c.args, w, got)
			}
		}
		if strings.Contains(got, "--- a/") != c.diff {
			t.Errorf("%s %v: the question has a diff: %v, want %v:\n%s", c.name, c.args, !c.diff, c.diff, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory holds %v (%v), want two files", entries, err)
	}
}

func TestQuestion_DoesNotRunATool(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	type in struct {
		Path string `json:"path"`
	}
	acts := tool.New(tool.Spec{Name: "acts"}, nil, func(context.Context, *tool.Call, in) (tool.Result, error) {
		return tool.Success("done"), os.WriteFile(outside, nil, 0o600)
	})
	if got := question(t, dir, []tool.Tool{acts}, "acts", in{outside}); !strings.Contains(got, "asks: acts\n") || !strings.Contains(got, "do not ask again for acts in this session\n") {
		t.Errorf("the question is %q", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the tool ran without an approval")
	}
}

func TestQuestion_Text(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tools := coding.NewTools(coding.ToolConfig{})
	for _, c := range []struct {
		agent, name string
		args        map[string]string
		want        string
	}{
		{"", "shell", map[string]string{"command": "go test ./..."}, `
The agent asks: shell
  runs: go test ./...
    in DIR
  why: it runs go

  y  yes, once
  p  yes, and allow commands that begin with "go test" for this session
  s  yes, and do not ask again for exactly this command in this session
  a  yes, always in this project: save the rule Bash(go test:*) in ~/.config/reins/projects/PROJECT.toml
  g  yes, always in every project: save the rule Bash(go test:*) in ~/.config/reins/config.toml
  n  no; or type what to do instead
`},
		{"1", "shell", map[string]string{"command": "cat a.txt | grep x; make all && go build" + strings.Repeat(" ", 180) + "./..." + strings.Repeat("\n", 215) + "rm a.txt"}, `
Agent 1 (explorer: count the lines) asks: shell
  runs: cat a.txt | grep x; make all && go build[180 spaces]./...
  [214 blank lines]
  rm a.txt
    in DIR
    part: make all: it runs make
    part: go build ./...: it runs go
    part: rm a.txt: deletes DIR/a.txt

  y  yes, once
  p  yes, and allow commands that begin with "make all" and commands that begin with "go build" and the command "rm a.txt" for this session
  s  yes, and do not ask again for exactly this command in this session
  a  yes, always in this project: save the rules Bash(make all:*) and Bash(go build:*) and Bash(rm a.txt) in ~/.config/reins/projects/PROJECT.toml
  g  yes, always in every project: save the rules Bash(make all:*) and Bash(go build:*) and Bash(rm a.txt) in ~/.config/reins/config.toml
  n  no; or type what to do instead
`},
		{"", "edit_file", map[string]string{"file_path": "a.txt", "old_string": "one", "new_string": "1"}, `
The agent asks: edit_file a.txt
  --- a/a.txt
  +++ b/a.txt
  @@ -1 +1 @@
  -one
  +1
  why: writes DIR/a.txt

  y  yes, once
  e  yes, and allow edits inside the working directory for this session
  s  yes, and do not ask again when edit_file uses the same files in this session
  a  yes, always in this project: save the rule Edit(/**) in ~/.config/reins/projects/PROJECT.toml
  g  yes, always in every project: save the rule Edit(/**) in ~/.config/reins/config.toml
  n  no; or type what to do instead
`},
		{"", "edit_file", map[string]string{"file_path": "a.txt", "old_string": "two", "new_string": "2"}, `
The agent asks: edit_file
  this call would fail: REASON
  read DIR/a.txt
  arguments: {"file_path":"a.txt","new_string":"2","old_string":"two"}
  why: writes DIR/a.txt

  y  yes, once
  e  yes, and allow edits inside the working directory for this session
  s  yes, and do not ask again when edit_file uses the same files in this session
  a  yes, always in this project: save the rule Edit(/**) in ~/.config/reins/projects/PROJECT.toml
  g  yes, always in every project: save the rule Edit(/**) in ~/.config/reins/config.toml
  n  no; or type what to do instead
`},
		{"", "shell", map[string]string{"command": "x=("}, `
The agent asks: shell
  runs: x=(
    in DIR
  why: (it cannot be parsed: reached EOF without matching ` + "`(` with `)`" + `)

  y  yes, once
  s  yes, and do not ask again for exactly this command in this session
  n  no; or type what to do instead
`},
	} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(asked(t, dir, c.agent, tools, c.name, c.args).page(), real, "DIR")
		got = regexp.MustCompile("would fail: .*").ReplaceAllString(got, "would fail: REASON")
		got = regexp.MustCompile("projects/.*").ReplaceAllString(got, "projects/PROJECT.toml")
		if got != c.want {
			t.Errorf("%s %q: got %s\nwant %s", c.name, c.args, got, c.want)
		}
	}
}

func TestQuestion_IsNotApprovedUnseen(t *testing.T) {
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	for name, args := range map[string]map[string]string{
		"write_file": {"file_path": "a.txt", "content": lines.String()},
		"shell":      {"command": "make <<'EOF'\n" + lines.String() + "EOF"},
	} {
		dir := t.TempDir()
		q := asked(t, dir, "", coding.NewTools(coding.ToolConfig{}), name, args)
		shown := q.page()
		if strings.Contains(shown, "yes, and") || !strings.Contains(shown, "\n  v        view the next part; 6") || strings.Count(shown, "\n") > 410 {
			t.Errorf("%s: the first page is:\n%s", name, shown)
		}
		for _, answer := range []string{"y", "yes", "Y", "s", "p", "e", "a", "g", "x"} {
			if c, problem := q.parse(answer); problem == "" {
				t.Errorf("%s: after one page, %q means %+v", name, answer, c)
			}
		}
		if c, problem := q.parse("yes all"); problem != "" || !reflect.DeepEqual(c.answer, ask.Answer{Choice: "y"}) {
			t.Errorf("%s: \"yes all\" means %+v, %s", name, c, problem)
		}
		for i := range 2 {
			if c, problem := q.parse("v"); problem != "" || !c.more || c.answer.Choice != "" {
				t.Errorf("%s: page %d: \"v\" means %+v, %s", name, i, c, problem)
			}
			shown += q.page()
		}
		for i := range 1000 {
			if n := strings.Count(shown, fmt.Sprintf("line %d\n", i)); n != 1 {
				t.Errorf("%s: line %d is shown %d times", name, i, n)
			}
		}
		if c, problem := q.parse("y"); problem != "" || c.answer.Choice != "y" {
			t.Errorf("%s: at the end, \"y\" means %+v, %s", name, c, problem)
		}
		if _, problem := q.parse("v"); problem == "" {
			t.Errorf("%s: at the end there is more", name)
		}
	}
}

func TestQuestion_AnswersGrantWhatTheySay(t *testing.T) {
	dir := t.TempDir()
	tools := coding.NewTools(coding.ToolConfig{})
	run := asked(t, dir, "", tools, "shell", map[string]string{"command": "go test ./..."})
	edit := asked(t, dir, "", tools, "write_file", map[string]string{"file_path": "a.txt", "content": "a"})
	run.page()
	edit.page()
	once := tool.Approval{Allow: true}
	for _, c := range []struct {
		q      *callQuestion
		answer string
		want   tool.Approval
		save   []string
		layer  config.Layer
		again  bool
	}{
		{run, "y", once, nil, "", false},
		{run, " YES ", once, nil, "", false},
		{run, "yes all", once, nil, "", false},
		{run, "s", tool.Approval{Allow: true, Scope: tool.ForSession}, nil, "", false},
		{run, "p", tool.Approval{Allow: true, Scope: tool.ForSession, Rules: []string{"Bash(go test:*)"}}, nil, "", false},
		{run, "a", tool.Approval{Allow: true, Scope: tool.Always, Rules: []string{"Bash(go test:*)"}}, []string{"Bash(go test:*)"}, config.LayerPersonal, false},
		{run, "g", tool.Approval{Allow: true, Scope: tool.Always, Rules: []string{"Bash(go test:*)"}}, []string{"Bash(go test:*)"}, config.LayerUser, false},
		{run, "e", tool.Approval{}, nil, "", true},
		{run, "x", tool.Approval{}, nil, "", true},
		{run, "n", tool.Approval{Message: "the user said no"}, nil, "", false},
		{run, "", tool.Approval{Message: "the user said no"}, nil, "", false},
		{run, "all", tool.Approval{Message: "the user said: all"}, nil, "", false},
		{run, "use b.txt", tool.Approval{Message: "the user said: use b.txt"}, nil, "", false},
		{edit, "e", tool.Approval{Allow: true, Scope: tool.ForSession, Rules: []string{"Edit(/**)"}}, nil, "", false},
		{edit, "p", tool.Approval{}, nil, "", true},
		{edit, "a", tool.Approval{Allow: true, Scope: tool.Always, Rules: []string{"Edit(/**)"}}, []string{"Edit(/**)"}, config.LayerPersonal, false},
		{edit, "g", tool.Approval{Allow: true, Scope: tool.Always, Rules: []string{"Edit(/**)"}}, []string{"Edit(/**)"}, config.LayerUser, false},
	} {
		o, problem := c.q.parse(c.answer)
		if (problem != "") != c.again {
			t.Errorf("%q has the problem %q", c.answer, problem)
		}
		if c.again {
			continue
		}
		got, chosen, err := ask.Question{Kind: ask.Approval, Choices: c.q.choices}.Approve(o.answer)
		var save []string
		if chosen.Save != "" {
			save = chosen.Rules
		}
		if err != nil || !reflect.DeepEqual(got, c.want) || !slices.Equal(save, c.save) || config.Layer(chosen.Save) != c.layer {
			t.Errorf("%q means %+v, saves %q in %s (%v); want %+v, %q in %s", c.answer, got, save, chosen.Save, err, c.want, c.save, c.layer)
		}
	}
}

func TestQuestion_OffersNoRuleThatCannotBeShown(t *testing.T) {
	for command, offered := range map[string]string{"rm 'a b'": "y p s a g n", "rm 'a  b'": "y s n", "rm 'a\u200bb'": "y s n", "rm " + strings.Repeat("x", 300): "y s n"} {
		q := asked(t, t.TempDir(), "", coding.NewTools(coding.ToolConfig{}), "shell", map[string]string{"command": command})
		q.page()
		var keys []string
		for _, c := range q.offered() {
			keys = append(keys, c.key)
		}
		if got := strings.Join(keys, " "); got != offered {
			t.Errorf("%q: the answers are %s, want %s", command, got, offered)
		}
	}
}

func TestQuestion_FilesWithoutADiffAreNamed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.txt": "one\n", "b.bin": "two\n\xff\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: b.bin\n@@\n-two\n+zwei\n*** End Patch"
	got := question(t, dir, coding.NewTools(coding.ToolConfig{}), "apply_patch", map[string]string{"patch": patch})
	for _, part := range []string{"  +1\n", "b.bin without a diff: 6 bytes before, 7 after", "zwei"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in the question:\n%s", part, got)
		}
	}
}

func TestSave_ReportsWhatWasNotSaved(t *testing.T) {
	for _, layer := range []config.Layer{config.LayerUser, config.LayerPersonal} {
		for _, blocked := range []bool{false, true} {
			home := t.TempDir()
			if blocked {
				if err := os.WriteFile(filepath.Join(home, ".config"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h, dir := Host{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}, t.TempDir()
			problem := h.allow(dir, layer, []string{"Bash(make:*)", "Bash(it's:*)"})
			file, err := h.configFileFor(dir, layer)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(file.Path)
			if (problem != nil) != blocked || (err != nil) != blocked {
				t.Errorf("%s, blocked %v: the problem is %v, the file is %q (%v)", layer, blocked, problem, b, err)
			}
			if s := string(b); !blocked && (!strings.Contains(s, "Bash(make:*)") || !strings.Contains(s, "Bash(it's:*)")) {
				t.Errorf("%s: the file is %q", layer, s)
			}
		}
	}
}

func TestSave_AnAnswerForOneProjectDoesNotHoldInAnother(t *testing.T) {
	home, here, there := t.TempDir(), t.TempDir(), t.TempDir()
	h := Host{Stderr: io.Discard, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }, systemDir: t.TempDir()}
	if err := h.allow(here, config.LayerPersonal, []string{"Edit(/**)"}); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{here: 1, there: 0} {
		p, err := h.peek(dir)
		if err != nil {
			t.Fatal(err)
		}
		if allow := p.Settings.Permissions.Allow; len(allow) != want {
			t.Errorf("in %s: the rules %q, want %d", dir, allow, want)
		}
	}
	entries, err := os.ReadDir(here)
	if err != nil || len(entries) != 0 {
		t.Errorf("the project has the files %v (%v)", entries, err)
	}
	protected := false
	w := h.machine().Workspace()
	file, err := h.configFileFor(here, config.LayerPersonal)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range w.Protected {
		protected = protected || w.Paths.Within(dir, realpath.Resolve(file.Path))
	}
	if !protected {
		t.Errorf("%s is not protected", file.Path)
	}
}

func TestQuestion_ShowsThePlanAndOffersNoMoreThanThisCall(t *testing.T) {
	q := askedIn(t, policy.ModePlan, t.TempDir(), "", agent.PlanModeTools(), "exit_plan_mode", map[string]string{"plan": "1. Read.\n2. Write."})
	want := "\nThe agent has a plan:\n  1. Read.\n  2. Write.\n" +
		"\n  y  yes, carry it out\n  n  no, keep planning; or type what to change\n"
	if got := q.page(); got != want {
		t.Errorf("the question is\n%s\nwant\n%s", got, want)
	}
}

func TestAnswer_NumbersOrText(t *testing.T) {
	q := event.Question{Question: "Which?", Options: []event.Option{{Label: "a"}, {Label: "b"}}}
	several := q
	several.Multiple = true
	for _, c := range []struct {
		q    event.Question
		line string
		want agent.Answer
	}{
		{q, "2", agent.Answer{Chosen: []string{"b"}}}, {q, "1,2", agent.Answer{Text: "1,2"}}, {q, "3", agent.Answer{Text: "3"}}, {q, "neither", agent.Answer{Text: "neither"}},
		{several, "2, 1,2", agent.Answer{Chosen: []string{"b", "a"}}}, {several, "1 and c", agent.Answer{Text: "1 and c"}},
		{event.Question{Question: "How many?"}, "2", agent.Answer{Text: "2"}},
	} {
		if got, ok := parseAnswer(c.q, c.line); !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v; want %+v", c.line, got, ok, c.want)
		}
	}
	if _, ok := parseAnswer(q, ""); ok {
		t.Error("nothing counts as an answer")
	}
}

func TestQuestion_SaysWhatTheSandboxPrevents(t *testing.T) {
	for want, accesses := range map[string][]policy.Access{
		"the sandbox does not let the agent write /opt/x":                                          {{Kind: policy.Read, Target: "/a"}, {Kind: policy.Write, Target: "/opt/x", Outside: true}},
		"the sandbox does not let the agent delete /opt/x":                                         {{Kind: policy.Delete, Target: "/opt/x", Outside: true}},
		"it would run outside the sandbox, where it can use the network and change all your files": {{Kind: policy.Exec, Target: "make", Outside: true}},
	} {
		d := event.ApprovalRequested{Accesses: accesses, Code: "outside_sandbox", Reason: "runs: make, outside the sandbox"}
		if page := newCallQuestion(ask.FromRequest(d), 0, false).page(); !strings.Contains(page, "\n  why: "+want+"\n") {
			t.Errorf("the question is %q, want the reason %q", page, want)
		}
	}
}
