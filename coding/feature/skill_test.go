package feature

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/skill"
)

// skills writes skills as files below a directory, by their paths there, and discovers them for the working
// directory.
func (g *openRig) skills(home string, files map[string]string) *skill.Registry {
	g.Helper()
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			g.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			g.Fatal(err)
		}
	}
	r := skill.Discover(skill.Options{Home: home, Dir: g.dir})
	if p := r.Problems(); len(p) > 0 {
		g.Fatal(p)
	}
	return r
}

// named returns a SKILL.md that allows some tools.
func named(name, tools string) string {
	if tools != "" {
		tools = "\nallowed-tools: " + tools
	}
	return fmt.Sprintf("---\nname: %s\ndescription: About %[1]s. Use when needed.%s\n---\nDo %[1]s with $ARGUMENTS.\n", name, tools)
}

// results returns what the model got from its tool calls so far, in order.
func results(s *agent.Session) (list []string) {
	for _, m := range s.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				list = append(list, r.Text())
			}
		}
	}
	return list
}

func TestSkills_ThePromptListsThemAndTheToolLoadsThem(t *testing.T) {
	g := newOpenRig(t)
	home := t.TempDir()
	r := g.skills(home, map[string]string{".agents/skills/zoo/SKILL.md": named("zoo", ""), ".agents/skills/zoo/references/a.md": "Animals."})
	g.model = llmtest.Play(llmtest.Call("skill", `{"name":"zoo","args":"lions"}`), llmtest.Call("read_file", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(home, ".agents/skills/zoo/references/a.md"))), llmtest.Say("done"))
	s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r))})
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	system := g.model.Requests()[0].Messages[0].Text()
	for _, part := range []string{"# Skills\n", "call skill with its name", "\n- zoo: About zoo. Use when needed.", "\n- commit: ", "\n- skill: Load a skill"} {
		if !strings.Contains(system, part) {
			t.Errorf("the prompt lacks %q", part)
		}
	}
	if strings.Contains(system, "Do zoo with") {
		t.Error("the prompt has the instructions of a skill")
	}
	got := results(s)
	if len(got) != 2 || !strings.Contains(got[0], "Do zoo with lions.") || !strings.Contains(got[0], "Directory of this skill: "+home) || !strings.Contains(got[0], "references/a.md") {
		t.Fatalf("the model got %q", got)
	}
	if !strings.Contains(got[1], "Animals.") { // outside of the workspace, and nobody to ask
		t.Errorf("the file of the skill was not read: %q", got[1])
	}
}

func TestSkills_WithoutSkillsNothingChanges(t *testing.T) {
	g := newOpenRig(t)
	without := g.ask(g.open(coding.Config{Model: "claude-sonnet-5-5"}))
	empty := g.ask(g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(&skill.Registry{}))}))
	if without.Messages[0].Text() != empty.Messages[0].Text() || !slices.Equal(toolNames(without), toolNames(empty)) || slices.Contains(toolNames(empty), "skill") {
		t.Errorf("an empty registry changes the request: %v", toolNames(empty))
	}
}

func TestSkills_TheToolHasTheFormOfTheToolset(t *testing.T) {
	for _, c := range []struct {
		model   string
		toolset coding.Toolset
		call    string
		name    string
		ends    string // what ends the restriction
	}{
		{"claude-sonnet-5-5", coding.Native, `{"skill":"zoo","args":"x"}`, "Skill", "not Skill; the skill ends when the work on the prompt is done"},
		{"gemini-3-pro", coding.Native, `{"name":"zoo"}`, "activate_skill", "not activate_skill; the skill ends when the work on the prompt is done"},
		{"gpt-5.6", coding.Native, `{"name":"zoo","args":"x"}`, "skill", "call skill with done: true"},
		{"claude-sonnet-5-5", coding.Standard, `{"skill":"zoo"}`, "Skill", "call skill with done: true"}, // an alias
	} {
		g := newOpenRig(t)
		r := g.skills(t.TempDir(), map[string]string{".claude/skills/zoo/SKILL.md": named("zoo", "Read")})
		g.model = llmtest.Play(llmtest.Call(c.name, c.call), llmtest.Call(c.name, strings.Replace(c.call, "zoo", "ape", 1)), llmtest.Say("done"))
		s := g.open(coding.Config{Model: c.model, Toolset: c.toolset, Extensions: with(Skills(r))})
		if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		if got := results(s); len(got) != 2 || !strings.Contains(got[0], "Do zoo with") || !strings.Contains(got[1], c.ends) {
			t.Errorf("%s, %s: got %q, want %q", c.model, c.toolset, got, c.ends)
		}
		if system := s.Messages()[0].Text(); c.toolset == coding.Native && !strings.Contains(system, "call "+c.name+" with its name") {
			t.Errorf("%s: the prompt does not name %s", c.model, c.name)
		}
	}
}

func TestSkills_ACustomPromptHasTheListInTheTool(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/zoo/SKILL.md": named("zoo", "")})
	req := g.ask(g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{System: "Be brief."}}))
	i := slices.Index(toolNames(req), "skill")
	if i < 0 || !strings.Contains(req.Tools[i].Description, "- zoo: About zoo.") || len(req.Tools[i].Description) > 1024 || req.Messages[0].Text() != "Be brief." {
		t.Errorf("got %q and %+v", req.Messages[0].Text(), req.Tools)
	}
}

// refused is part of what a model reads about a call that a skill does not allow.
const refused = "is active and allows only"

func TestSkills_RestrictionsAreAStack(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{
		".claude/skills/outer/SKILL.md": named("outer", "Read, Skill, Bash(git:*)"), ".claude/skills/inner/SKILL.md": named("inner", "glob"),
		".claude/skills/free/SKILL.md": named("free", ""),
	})
	steps := []struct {
		tool, args string
		refused    bool
	}{
		{"skill", `{"name":"outer"}`, false},
		{"glob", `{"pattern":"*"}`, true},
		{"read_file", `{"file_path":"a"}`, false},
		{"shell", `{"command":"git --version"}`, false},
		{"shell", `{"command":"git --version; true"}`, true},
		{"shell", `{"command":"ls"}`, true},
		{"Bash", `{"command":"ls"}`, true}, // by its alias
		{"skill", `{"name":"free"}`, false},
		{"glob", `{"pattern":"*"}`, true}, // it has no list of its own
		{"skill", `{"name":"inner"}`, false},
		{"glob", `{"pattern":"*"}`, false},
		{"read_file", `{"file_path":"a"}`, true}, // the inner one overrides
		{"skill", `{"name":"outer"}`, true},      // it does not list Skill
		{"skill", `{"name":"inner"}`, false},     // again, which does not count twice
		{"write_file", `{"file_path":"b","content":"x"}`, true},
		{"skill", `{"done":true}`, false},
		{"read_file", `{"file_path":"a"}`, false}, // the outer one is restored
		{"glob", `{"pattern":"*"}`, true},
		{"skill", `{"done":true}`, false}, // free
		{"skill", `{"done":true}`, false}, // outer
		{"glob", `{"pattern":"*"}`, false},
	}
	turns := []llmtest.Turn{}
	for _, st := range steps {
		turns = append(turns, llmtest.Call(st.tool, st.args))
	}
	g.model = llmtest.Play(append(turns, llmtest.Say("done"))...)
	if err := os.WriteFile(filepath.Join(g.dir, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}, LoopWindow: -1}})
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	got := results(s)
	for i, st := range steps {
		if is := strings.Contains(got[i], refused); is != st.refused {
			t.Errorf("%d: %s %s: refused %v, want %v: %s", i, st.tool, st.args, is, st.refused, got[i])
		}
	}
}

func TestSkills_NeverPermitMoreThanThePolicy(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/wide/SKILL.md": named("wide", "Bash, Write")})
	g.model = llmtest.Play(llmtest.Call("skill", `{"name":"wide"}`), llmtest.Call("write_file", `{"file_path":"a","content":"x"}`), llmtest.Say("done"))
	s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r))})
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if got := results(s); !strings.Contains(got[1], "needs approval") {
		t.Errorf("got %q", got[1])
	}
}

func TestCommands_ASkillOfTheUserHoldsUntilTheInputIsDone(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/look/SKILL.md": named("look", "Read")})
	write := func() llmtest.Turn { return llmtest.Call("write_file", `{"file_path":"a","content":"x"}`) }
	g.model = llmtest.Play(write(), llmtest.Call("skill", `{"done":true}`), write(), llmtest.Say("done"), write(), llmtest.Say("done"))
	s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}}})
	c := Commands{Skills: r, Provider: "anthropic"}
	for _, input := range []string{"/look around", "now write"} {
		if _, err := c.Submit(t.Context(), s, input); err != nil {
			t.Fatal(err)
		}
	}
	if text := s.Messages()[1].Text(); !strings.HasPrefix(text, "/look around\n\n<skill name=\"look\" allowed-tools=\"Read\">\nDo look with around.") {
		t.Errorf("the model got %q", text)
	}
	got := results(s)
	for i, want := range []bool{true, false, true, false} { // the model cannot end it
		if strings.Contains(got[i], refused) != want {
			t.Errorf("%d: got %q, refused %v wanted", i, got[i], want)
		}
	}
	if _, err := c.Submit(t.Context(), s, "/lok"); err == nil || !strings.Contains(err.Error(), "did you mean /look?") || llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("got %v", err)
	}
}

func TestSkills_RestrictionsSurviveAnInterruptionAndAResume(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/look/SKILL.md": named("look", "Read"), ".claude/skills/list/SKILL.md": named("list", "Glob")})
	for _, c := range []struct {
		input string
		first llmtest.Turn
		name  string
	}{
		{"/look", llmtest.Call("read_file", `{"file_path":"a"}`), "look"},
		{"go", llmtest.Call("skill", `{"name":"list"}`), "list"},
	} {
		g.model = llmtest.Play(c.first, llmtest.Fail(400))
		s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}}})
		if _, err := (Commands{Skills: r}).Submit(t.Context(), s, c.input); err == nil {
			t.Fatal("the work did not fail")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		g.model = llmtest.Play(llmtest.Call("write_file", `{"file_path":"a","content":"x"}`), llmtest.Say("done"))
		s = g.open(coding.Config{Extensions: with(Skills(nil)), Resume: s.ID(), Model: "claude-sonnet-5-5", Session: agent.Config{Policy: policy.AllowAll{}}})
		if _, err := s.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := results(s)
		if last := got[len(got)-1]; !strings.Contains(last, "skill "+c.name+" "+refused) {
			t.Errorf("%s: after the resume got %q", c.name, last)
		}
	}
}

func TestSkills_SubagentsHaveTheLimitsOfTheirParents(t *testing.T) {
	for _, prompt := range []string{"/look", "load it"} {
		g := newOpenRig(t)
		r := g.skills(t.TempDir(), map[string]string{".claude/skills/look/SKILL.md": named("look", "Read, Task")})
		g.model = &llmtest.Script{Reply: func(_ int, req *llm.Request) llmtest.Turn {
			last := req.Messages[len(req.Messages)-1]
			text := fmt.Sprint(last.Parts)
			switch {
			case strings.Contains(req.Messages[1].Text(), "write it") && last.Role == llm.RoleUser:
				return llmtest.Call("write_file", `{"file_path":"a","content":"x"}`)
			case last.Role == llm.RoleUser && strings.Contains(text, "load it"):
				return llmtest.Call("skill", `{"name":"look"}`)
			case strings.Contains(text, "Do look"):
				return llmtest.Call("spawn_agent", `{"task":"write it"}`)
			case strings.Contains(text, "is running"):
				return llmtest.Call("wait", `{"agent_id":"1"}`)
			}
			return llmtest.Say("done")
		}}
		s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}}})
		if _, err := (Commands{Skills: r}).Submit(t.Context(), s, prompt); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		found := false
		for rec := range s.Events(t.Context(), 0) {
			if d, ok := rec.Data.(event.ToolCallEnd); ok && rec.Agent == "1" {
				found = true
				if !strings.Contains(d.Model, "skill look "+refused) || !strings.Contains(d.Model, "ends when the work on the prompt is done") {
					t.Errorf("%s: the subagent got %q", prompt, d.Model)
				}
			}
		}
		if !found {
			t.Errorf("%s: the subagent called no tool", prompt)
		}
	}
}

func TestAttack_ScriptsOfUntrustedSkillsDoNotRun(t *testing.T) {
	g := newOpenRig(t)
	path := filepath.Join(g.dir, ".claude/skills/evil/run.sh")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("touch ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	lines := []string{
		"bash .claude/skills/evil/run.sh", "./.claude/skills/evil/run.sh", path, "cd .claude/skills/evil && ./run.sh",
		"sh -c 'bash .claude/skills/evil/run.sh'", "source .claude/skills/evil/run.sh", "x=1; bash < /dev/null .claude/../.claude/skills/evil/run.sh",
		`bash .claude/sk"ill"s/evil/run.sh`, `bash .claude/skil\ls/evil/run.sh`, "d=skil; bash .claude/${d}ls/evil/run.sh", "bash .claude/skil{ls,x}/evil/run.sh", "bash .claude/s*/evil/run.sh",
	}
	for _, trusted := range []bool{false, true} {
		var turns []llmtest.Turn
		for _, l := range append([]string{"cat .claude/skills/evil/run.sh"}, lines...) {
			turns = append(turns, llmtest.Call("shell", fmt.Sprintf(`{"command":%q}`, l)))
		}
		g.model = llmtest.Play(append(turns, llmtest.Say("done"))...)
		s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(skill.Discover(skill.Options{Dir: g.dir}))), Prompt: coding.PromptConfig{Trusted: trusted}, Session: agent.Config{Policy: policy.AllowAll{}}})
		if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		got := results(s)
		if !strings.Contains(got[0], "touch ran") {
			t.Errorf("the script cannot be read: %q", got[0])
		}
		for i, l := range lines {
			if is := strings.Contains(got[i+1], "belongs to a skill of a project that the user does not trust"); is == trusted {
				t.Errorf("trusted %v: %s: %q", trusted, l, got[i+1])
			}
		}
		_, err := os.Stat(filepath.Join(g.dir, "ran"))
		if ran := !errors.Is(err, os.ErrNotExist); ran != trusted {
			t.Errorf("trusted %v: a script ran: %v", trusted, ran)
		}
	}
}

func TestSkills_AgentsOfClaudeCodeAreTypesOfSubagents(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{
		".claude/agents/checker.md": "---\nname: checker\ndescription: Checks things.\ntools: Read, Grep, WebFetch, Bash(git:*)\nmodel: haiku\n---\nYou check.\n",
		".claude/agents/wild.md":    "---\nname: wild\ndescription: Runs wild.\npermissionMode: nonsense\n---\nYou run.\n",
		".claude/agents/timid.md":   "---\nname: timid\ndescription: Plans only.\npermissionMode: plan\n---\nYou plan.\n",
	})
	g.model = &llmtest.Script{Reply: func(_ int, req *llm.Request) llmtest.Turn {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasPrefix(req.Messages[1].Text(), "You check.\n\ncheck it"):
			return llmtest.Say(req.Model + " with " + strings.Join(toolNames(req), " "))
		case last.Role == llm.RoleUser:
			return llmtest.Call("Task", `{"description":"d","prompt":"check it","subagent_type":"checker"}`)
		case strings.Contains(fmt.Sprint(last.Parts), "is running"):
			return llmtest.Call("wait", `{"agent_id":"1"}`)
		}
		return llmtest.Say("done")
	}}
	s := g.open(coding.Config{Provider: "anthropic", Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}}})
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if got := results(s); len(got) != 2 || !strings.Contains(got[1], "claude-haiku-5-5 with read_file grep") || strings.Contains(got[1], "shell") {
		t.Errorf("got %q", got)
	}
	if tools := fmt.Sprint(g.model.Requests()[0].Tools); !strings.Contains(tools, "checker (Checks things);") || !strings.Contains(tools, "timid (Plans only);") {
		t.Error("the model is not told about the agents")
	} else if strings.Contains(tools, "wild") {
		t.Error("an agent with an unknown mode is used")
	}
	if err := s.Reconfigure(t.Context(), agent.Change{Provider: "openai", Model: "gpt-5.6"}); err != nil {
		t.Errorf("with an agent type, the model cannot change: %v", err)
	}
}

func TestCommands_UseTheModelOfTheSkill(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{
		".claude/skills/quick/SKILL.md": "---\nname: quick\ndescription: d\nmodel: haiku\n---\nBe quick.\n",
		".claude/skills/odd/SKILL.md":   "---\nname: odd\ndescription: d\nmodel: nonesuch\n---\nBe odd.\n",
	})
	var warned []string
	s := g.open(coding.Config{Provider: "anthropic", Model: "claude-sonnet-5-5", Extensions: with(Skills(r))})
	c := Commands{Skills: r, Provider: "anthropic", Warn: func(err error) { warned = append(warned, err.Error()) }}
	for _, input := range []string{"/quick", "hello", "/odd"} {
		if _, err := c.Submit(t.Context(), s, input); err != nil {
			t.Fatal(err)
		}
	}
	var models []string
	for _, req := range g.model.Requests() {
		models = append(models, req.Model)
	}
	if want := []string{"claude-haiku-5-5", "claude-sonnet-5-5", "claude-sonnet-5-5"}; !slices.Equal(models, want) {
		t.Errorf("got %v, want %v", models, want)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "skill odd asks for model nonesuch, which is unknown here; using claude-sonnet-5-5") {
		t.Errorf("warnings %q", warned)
	}
}

func TestSkills_AResumedSessionHasAPromptForTheSkillsOfTheDay(t *testing.T) {
	g := newOpenRig(t)
	home := t.TempDir()
	one := g.skills(home, map[string]string{".claude/skills/one/SKILL.md": named("one", "")})
	first := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(one))})
	prompt := func(r *llm.Request) (text string) { // a later prompt may stand after what was said
		for _, m := range r.Messages {
			if m.Role == llm.RoleSystem {
				text = m.Text()
			}
		}
		return text
	}
	before := prompt(g.ask(first))
	for name, c := range map[string]struct {
		r    *skill.Registry
		same bool
	}{
		"the same": {g.skills(home, nil), true},
		"one more": {g.skills(home, map[string]string{".claude/skills/two/SKILL.md": named("two", "")}), false},
		"none":     {nil, false},
	} {
		after := prompt(g.ask(g.open(coding.Config{Resume: first.ID(), Model: "claude-sonnet-5-5", Extensions: with(Skills(c.r))})))
		if (before == after) != c.same {
			t.Errorf("%s: the prompt is the same: %v, want %v", name, before == after, c.same)
		}
		first = g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(one))})
		g.ask(first)
	}
}

func TestSkills_CodexReadsWithCommands(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/look/SKILL.md": named("look", "Read, Grep")})
	g.model = llmtest.Play(llmtest.Call("exec_command", `{"cmd":"ls"}`), llmtest.Call("exec_command", `{"cmd":"touch x"}`), llmtest.Say("done"))
	s := g.open(coding.Config{Model: "gpt-5.6", Toolset: coding.Native, Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}}})
	if _, err := (Commands{Skills: r}).Submit(t.Context(), s, "/look"); err != nil {
		t.Fatal(err)
	}
	got := results(s)
	if len(got) != 2 || strings.Contains(got[0], refused) || !strings.Contains(got[1], refused) {
		t.Errorf("got %q", got)
	}
}

func TestCommands_ASkillEndsWithTheNextInput(t *testing.T) {
	g := newOpenRig(t)
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/look/SKILL.md": named("look", "Read")})
	g.model = llmtest.Play(llmtest.Fail(400), llmtest.Call("write_file", `{"file_path":"a","content":"x"}`), llmtest.Say("done"))
	s := g.open(coding.Config{Model: "claude-sonnet-5-5", Extensions: with(Skills(r)), Session: agent.Config{Policy: policy.AllowAll{}}})
	c := Commands{Skills: r}
	if _, err := c.Submit(t.Context(), s, "/look"); err == nil {
		t.Fatal("the work did not fail")
	}
	if _, err := c.Submit(t.Context(), s, "write"); err != nil {
		t.Fatal(err)
	}
	if got := results(s); len(got) != 1 || strings.Contains(got[0], refused) {
		t.Errorf("got %q", got)
	}
}

func TestSkills_ListedNamesAndPatterns(t *testing.T) {
	exec := func(line string) []policy.Access { return []policy.Access{{Kind: policy.Exec, Target: line}} }
	for _, c := range []struct {
		tools, tool, args string
		accesses          []policy.Access
		want              bool
	}{
		{"bash", "shell", "", exec("rm x"), true},
		{"Bash", "exec_command", "", exec("rm x"), true},
		{"run_shell_command", "Bash", "", exec("rm x"), true},
		{"Bash", "shell_output", "", nil, true},
		{"Bash(git:*)", "shell_output", "", nil, true},
		{"Bash(git:*)", "shell_input", "", nil, false},
		{"Read", "read_many_files", "", nil, true},
		{"Read", "grep", "", nil, false},
		{"Grep", "grep_search", "", nil, true},
		{"Glob", "list_dir", "", nil, true},
		{"Edit", "apply_patch", "", nil, true},
		{"MultiEdit", "replace", "", nil, true},
		{"Write", "delete_file", "", nil, false},
		{"TodoWrite", "update_plan", "", nil, true},
		{"update_plan", "todo_write", "", nil, true},
		{"Agent", "wait", "", nil, true},
		{"mcp__github", "mcp__github__issue", "", nil, true},
		{"mcp__github__issue", "mcp__github__pr", "", nil, false},
		{"own_tool", "own_tool", "", nil, true},
		{"Skill(a)", "skill", `{"name":"a"}`, nil, true},
		{"Skill(a)", "skill", `{"name":"b"}`, nil, false},
		{"Skill(a)", "Skill", `{"skill":"a"}`, nil, true},
		{"Read", "skill", `{"name":"own"}`, nil, true},
		{"Read(src/**)", "read_file", "", []policy.Access{{Kind: policy.Read, Target: "/w/src/a"}}, true},
		{"Read(src/**)", "read_file", "", []policy.Access{{Kind: policy.Read, Target: "/w/b"}}, false},
		{"", "read_file", "", nil, false},
	} {
		s := activeSkill{name: "own", tools: []string{c.tools}}
		q := policy.Query{Tool: c.tool, Args: []byte(c.args), Accesses: c.accesses, Workspace: policy.Workspace{Dir: "/w"}}
		if got := s.allows(t.Context(), q); got != c.want {
			t.Errorf("%s with %s %s: got %v", c.tools, c.tool, c.args, got)
		}
	}
}

func TestProjectSkill_MatchesPathsAndPatterns(t *testing.T) {
	for pattern, want := range map[string]bool{
		".claude/skills": true, ".claude/skills/a/b": true, "x/.agents/skills/a": true, ".reins/skills/a": true, ".cl*/s*/a": true, ".[a-c]*/skills": true, ".claude/[": true,
		"*/*/a": false, "skills/a": false, ".claude/commands": false, "x.claude/skills": false, ".claude": false, ".codex/skills": false, "": false,
	} {
		if got := projectSkill(pattern); got != want {
			t.Errorf("%q: got %v, want %v", pattern, got, want)
		}
	}
}
