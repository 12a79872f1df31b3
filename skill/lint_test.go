package skill

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rules returns the findings as "RULE SEVERITY file:line".
func rules(t *testing.T, dir string) (list []string) {
	t.Helper()
	reports, err := Lint(dir)
	if err != nil || len(reports) != 1 {
		t.Fatalf("%v, %v", reports, err)
	}
	for _, f := range reports[0].Findings {
		list = append(list, fmt.Sprintf("%s %s %s:%d", f.Rule, f.Severity, f.File, f.Line))
	}
	return list
}

const good = "---\nname: x\ndescription: Does x. Use when x is needed.\n---\n\nDo x.\n"

func TestLint_Rules(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":    {map[string]string{"SKILL.md": good, "references/a.md": "# A\n"}, nil},
		"SKILL-01":   {map[string]string{"README.md": "x"}, []string{"SKILL-01 CRITICAL SKILL.md:1"}},
		"lower case": {map[string]string{"skill.md": good}, []string{"SKILL-01 HIGH skill.md:1"}},
		"SKILL-02":   {map[string]string{"SKILL.md": "---\ndescription: Use when x.\n---\nDo.\n"}, []string{"SKILL-02 CRITICAL SKILL.md:1"}},
		"SKILL-02, SKILL-03": {map[string]string{"SKILL.md": "---\nname:\ndescription: \"\"\n---\nDo.\n"},
			[]string{"SKILL-02 CRITICAL SKILL.md:2", "SKILL-03 CRITICAL SKILL.md:3"}},
		"no frontmatter": {map[string]string{"SKILL.md": "Do.\n"},
			[]string{"FORMAT-01 CRITICAL SKILL.md:1", "SKILL-02 CRITICAL SKILL.md:1", "SKILL-03 CRITICAL SKILL.md:1"}},
		"SKILL-04, SKILL-05": {map[string]string{"SKILL.md": strings.Replace(good, "name: x", "name: My_X", 1)},
			[]string{"SKILL-04 HIGH SKILL.md:2", "SKILL-04 HIGH SKILL.md:2", "SKILL-05 HIGH SKILL.md:2"}},
		"SKILL-06":        {map[string]string{"SKILL.md": strings.Replace(good, "Use when x is needed.", "", 1)}, []string{"SKILL-06 MEDIUM SKILL.md:3"}},
		"SKILL-06 length": {map[string]string{"SKILL.md": strings.Replace(good, "needed", strings.Repeat("n", 1100), 1)}, []string{"SKILL-06 MEDIUM SKILL.md:3"}},
		"use if":          {map[string]string{"SKILL.md": strings.Replace(good, "Use when", "use if", 1)}, nil},
		"deprecated":      {map[string]string{"SKILL.md": "---\nname: x\ndescription: Deprecated, replaced by y.\n---\nDo.\n"}, nil},
		"SKILL-07":        {map[string]string{"SKILL.md": "---\nname: x\ndescription: Use when x.\n---\n\n"}, []string{"SKILL-07 HIGH SKILL.md:5"}},
		"FORMAT-02":       {map[string]string{"SKILL.md": strings.Replace(good, "name: x", "name: x\nmodel: m\nversion: 1", 1)}, []string{"FORMAT-02 MEDIUM SKILL.md:4", "FORMAT-02 LOW SKILL.md:3"}},
		"FORMAT-03":       {map[string]string{"SKILL.md": strings.Replace(good, "name: x", "name: x\ncompatibility: "+strings.Repeat("c", 501), 1)}, []string{"FORMAT-03 HIGH SKILL.md:3"}},
		"WF-01, WF-02": {map[string]string{"SKILL.md": good, "workflow.md": "---\nname: y\ndescription: d\n---\nDo.\n", "assets/t.md": "---\nname: y\n---\n"},
			[]string{"WF-01 HIGH workflow.md:2", "WF-02 HIGH workflow.md:3"}},
		"PATH-02": {map[string]string{"SKILL.md": good + "\nRead {installed_path}/a.md.\n\n```\ninstalled_path\n```\n", "c.yaml": "installed_path: x\n"},
			[]string{"PATH-02 HIGH SKILL.md:8", "PATH-02 HIGH c.yaml:1"}},
		"PATH-03": {map[string]string{"SKILL.md": good + "\nSee /home/ann/x, `/Users/bob/y`, C:\\Temp.\n\nhttps://x.dev/home/ann is fine, and so is /usr/bin.\n"}, []string{"PATH-03 HIGH SKILL.md:8"}},
		"STEP-01, STEP-06": {map[string]string{"SKILL.md": good, "steps/step-01-a.md": "x", "steps/step-02b-c.md": "---\nname: y\ndescription: z\n---\n", "steps/Step1.md": "x", "steps/step-3.md": "x"},
			[]string{"STEP-01 MEDIUM steps/Step1.md:1", "STEP-06 MEDIUM steps/step-02b-c.md:2", "STEP-06 MEDIUM steps/step-02b-c.md:3", "STEP-01 MEDIUM steps/step-3.md:1"}},
		"STEP-07 one": {map[string]string{"SKILL.md": good, "steps/step-01-a.md": "x"}, []string{"STEP-07 LOW steps:1"}},
		"SEQ-02":      {map[string]string{"SKILL.md": good + "\nThis takes 5 minutes.\n~ 3 min\nEstimated time: short\nThe ETA is soon.\nA beta of theta.\n"}, []string{"SEQ-02 LOW SKILL.md:8", "SEQ-02 LOW SKILL.md:9", "SEQ-02 LOW SKILL.md:10", "SEQ-02 LOW SKILL.md:11"}},
		"REF-01": {map[string]string{"SKILL.md": good + "\n[a](references/a.md#top) [b](b.md) `scripts/c.sh` [d](https://x.dev) [e](#e) [f](/f)\n\n```\n[g](g.md)\n```\n", "references/a.md": "[back](../SKILL.md) [gone](gone.md)"},
			[]string{"REF-01 HIGH SKILL.md:8", "REF-01 HIGH references/a.md:1", "REF-01 MEDIUM SKILL.md:8"}},
		"REF-02":  {map[string]string{"SKILL.md": good + "\n[a](../../../../../../../../../../etc/passwd)\n"}, []string{"REF-02 CRITICAL SKILL.md:8"}},
		"TEXT-01": {map[string]string{"SKILL.md": good, "references/a.md": "a\nb\u202e\n"}, []string{"TEXT-01 CRITICAL references/a.md:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTree(t)
			for file, content := range c.files {
				w.write("x/"+file, content)
			}
			if got := rules(t, w.path("x")); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestLint_TooManySteps(t *testing.T) {
	w := newTree(t)
	w.write("x/SKILL.md", good)
	for i := range 11 {
		w.write(fmt.Sprintf("x/steps/step-%02d-a.md", i+1), "x")
	}
	if got := rules(t, w.path("x")); !slices.Equal(got, []string{"STEP-07 LOW steps:1"}) {
		t.Errorf("got %v", got)
	}
}

func TestLint_TakesASkillAFileAndADirectoryOfSkills(t *testing.T) {
	w := newTree(t)
	w.write("all/x/SKILL.md", good)
	w.skill("all/deep/er/y", "d")
	w.skill("all/x/nested/z", "d")
	for path, want := range map[string]int{"all": 3, "all/x": 2, "all/deep/er/y": 1, "all/deep/er/y/SKILL.md": 1} {
		if r, err := Lint(w.path(path)); err != nil || len(r) != want {
			t.Errorf("%s: %d reports, %v, want %d", path, len(r), err, want)
		}
	}
	for _, path := range []string{"missing", "all/x/other.md"} {
		w.write("all/x/other.md", "")
		if r, err := Lint(w.path(path)); err == nil {
			t.Errorf("%s: got %v", path, r)
		}
	}
}
