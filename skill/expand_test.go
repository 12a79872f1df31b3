package skill

import (
	"slices"
	"strings"
	"testing"
)

func TestExpand_FindsTheSkillOfACommand(t *testing.T) {
	var r Registry
	r.Add(&Skill{Name: "greet", Aliases: []string{"hi"}, Instructions: "Greet $ARGUMENTS.", UserInvocable: true, Kind: KindSkill, AllowedTools: []string{"Read", `Bash(echo "a":*)`}})
	r.Add(&Skill{Name: "inner", Instructions: "x", ModelInvoked: true})
	exists := func(path string) bool { return path == "/tmp" }
	for input, want := range map[string]string{
		"/greet Ann":            "Greet Ann.",
		"/hi  Ann  and Bob\nx ": "Greet Ann  and Bob\nx.",
		"/greet":                "Greet .",
		"greet /greet":          "",
		"/tmp is full":          "",
		"/usr/bin is full":      "",
		"/ greet":               "",
		" /greet Ann":           "",
		"// comment":            "",
	} {
		inv, err := r.Expand(input, exists)
		switch {
		case err != nil:
			t.Errorf("%q: %v", input, err)
		case want == "" && inv != nil:
			t.Errorf("%q: got %+v", input, inv)
		case want != "" && (inv == nil || !strings.Contains(inv.Text, want)):
			t.Errorf("%q: got %+v, want %q", input, inv, want)
		}
	}
	for input, want := range map[string]string{
		"/gret Ann": "unknown skill /gret; did you mean /greet?",
		"/zzzzzz":   `unknown skill /zzzzzz; "reins skills list" lists them`,
		"/inner":    "skill inner can be used only by the model",
	} {
		if inv, err := r.Expand(input, exists); inv != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %q", input, inv, err, want)
		}
	}
	r.Add(&Skill{Name: "later", Available: func() bool { return false }, UserInvocable: true})
	if _, err := r.Expand("/later", nil); err == nil || !strings.Contains(err.Error(), "skill later cannot be used here") {
		t.Errorf("got %v", err)
	}
	r.Add(&Skill{Name: "plain", Instructions: "Do it.", UserInvocable: true, Kind: KindSkill})
	long := strings.Repeat("word ", 100)
	for input, want := range map[string]string{
		"/plain":         "/plain\n\n<skill name=\"plain\">\nDo it.\n</skill>",
		"/plain now":     "/plain now\n\n<skill name=\"plain\">\nDo it.\n</skill>",
		"/plain a\nb":    "/plain a\n\n<skill name=\"plain\">\nDo it.\n</skill>\n\na\nb",
		"/plain " + long: "/plain " + long[:199] + "…\n\n<skill name=\"plain\">\nDo it.\n</skill>\n\n" + strings.TrimSpace(long),
	} {
		inv, err := r.Expand(input, nil)
		if err != nil || inv.Text != want {
			t.Errorf("%q: got %q, %v, want %q", input, inv.Text, err, want)
		}
	}
	if _, err := r.ForModel("greet"); err == nil {
		t.Error("a skill that is only for the user was given to the model")
	}
}

func TestInvoke_KeepsDollarSignsOfScripts(t *testing.T) {
	s := &Skill{Name: "x", Kind: KindSkill, Instructions: "awk '{print $1}' $ARGUMENTS $12 $HOME"}
	if got := s.Invoke(""); !strings.Contains(got, "awk '{print $1}'  $12 $HOME") {
		t.Errorf("without arguments: %s", got)
	}
	if got := s.Invoke("f"); !strings.Contains(got, "awk '{print f}' f $12 $HOME") {
		t.Errorf("with arguments: %s", got)
	}
}

func TestInvoke_TellsTheModelWhereFilesAre(t *testing.T) {
	s := &Skill{Name: "x", Instructions: "Run ${CLAUDE_SKILL_DIR}/a.sh.", Dir: "/s/x", Files: []string{"a.sh", "b.md"}}
	want := "<skill name=\"x\">\nRun /s/x/a.sh.\n\nDirectory of this skill: /s/x\nRelative paths in the skill begin there.\n" +
		"Its files, to be read when they are needed: a.sh, b.md\n</skill>\n\nplease"
	if got := s.Invoke("please"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExpand_FindsCommandsAndFilesInTheTextOfCommands(t *testing.T) {
	var r Registry
	add := func(name string, k Kind, text string) {
		r.Add(&Skill{Name: name, Kind: k, Instructions: text, UserInvocable: true})
	}
	add("c", KindClaude, "Look at @src/$1.go and `@code`.\n\n!`git log $ARGUMENTS`\nSay $ARGUMENTS to @ann.")
	add("g", KindGemini, "!{git log {{args}}} and @{docs/{{args}}.md} about {{args}}")
	add("s", KindSkill, "!`date` @file")
	add("x", KindCodex, "!`date` @file $1")
	for input, want := range map[string][]Injection{
		"/c x":               {{File: "src/x.go"}, {Command: "git log x"}, {File: "ann"}},
		"/c !`rm` @y":        {{File: "src/!`rm`.go"}, {Command: "git log !`rm` @y"}, {File: "ann"}},
		"/g it's":            {{Command: `git log 'it'\''s'`}, {File: "docs/it's.md"}},
		"/g !{rm} @{/etc/x}": {{Command: `git log '!{rm} @{/etc/x}'`}, {File: "docs/!{rm} @{/etc/x}.md"}},
		"/s":                 {{Command: "date"}},
		"/x a":               nil,
	} {
		inv, err := r.Expand(input, nil)
		if err != nil || !slices.Equal(inv.Injections, want) {
			t.Errorf("%q: got %+v, %v, want %+v", input, inv, err, want)
		}
	}
	inv, err := r.Expand("/c x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Look at @src/x.go and `@code`.\n\n!`git log x`\nSay x to @ann.\n\n[Commands and files"; !strings.Contains(inv.Text, want) {
		t.Errorf("got %q", inv.Text)
	}
	inv.Fill([]string{"FILE \x001\x00 </skill>", "LOG", "@ann"})
	want := "/c x\n\n<skill name=\"c\">\nLook at FILE \uFFFD1\uFFFD &lt;/skill> and `@code`.\n\nLOG\nSay x to @ann.\n</skill>"
	if inv.Text != want {
		t.Errorf("got %q, want %q", inv.Text, want)
	}
}
