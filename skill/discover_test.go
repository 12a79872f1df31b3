package skill

import (
	"slices"
	"strings"
	"testing"
)

func TestDiscover_TheLastPlaceWins(t *testing.T) {
	w := newTree(t)
	places := []string{
		"home/.config/agents/skills", "home/.agents/skills", "home/.claude/skills", "conf/skills", "more",
		"p/.agents/skills", "p/.claude/skills", "p/.reins/skills", "p/sub/.agents/skills", "p/sub/.claude/skills", "p/sub/.reins/skills",
	}
	o := Options{Home: w.path("home"), Config: w.path("conf"), Paths: []string{w.path("more")}, Project: w.path("p"), Dir: w.path("p/sub")}
	for _, place := range places {
		w.skill(place+"/x", "from "+place)
		s, ok := Discover(o).Find("x")
		if !ok || s.Description != "from "+place {
			t.Errorf("with %s: got %+v", place, s)
		}
	}
	o.Project = ""
	if s, _ := Discover(o).Find("x"); s.Description != "from more" {
		t.Errorf("without a trusted project: got %q", s.Description)
	}
	o.Disable = []string{"x", "commit"}
	for _, name := range o.Disable {
		if s, ok := Discover(o).Find(name); ok {
			t.Errorf("disabled, but found %+v", s)
		}
	}
}

func TestDiscover_FindsSkillsBelowAndLinksOfTheUser(t *testing.T) {
	w := newTree(t)
	w.skill("home/.agents/skills/group/inner", "d")
	w.skill("home/.agents/skills/group/node_modules/dep", "d")
	w.skill("elsewhere/linked", "d")
	w.link("../../../elsewhere/linked", "home/.agents/skills/linked")
	w.link("..", "home/.agents/skills/cycle")
	r := Discover(Options{Home: w.path("home"), Paths: []string{w.path("elsewhere/linked")}, Dir: w.dir})
	for name, want := range map[string]bool{"inner": true, "linked": true, "dep": false} {
		if _, ok := r.Find(name); ok != want {
			t.Errorf("%s: found %v, want %v", name, ok, want)
		}
	}
	if len(r.Problems()) > 0 {
		t.Errorf("problems %v", r.Problems())
	}
}

func TestAttack_LinksOfAProjectDoNotLeaveIt(t *testing.T) {
	w := newTree(t)
	w.skill("outside/evil", "d")
	w.write("outside/cmd/run.md", "x")
	w.link("../../../outside/evil", "p/.agents/skills/evil")
	w.link("../../outside/cmd", "p/.claude/commands")
	r := Discover(Options{Project: w.path("p"), Dir: w.path("p")})
	for _, name := range []string{"evil", "run"} {
		if s, ok := r.Find(name); ok {
			t.Errorf("found %+v", s)
		}
	}
	if p := r.Problems(); len(p) != 2 || !strings.Contains(p[0].Reason, "leaves the project") || !strings.Contains(p[1].Reason, "leaves the project") {
		t.Errorf("problems %v", p)
	}
}

func TestDiscover_ReadsCommandsAndAgentsOfOtherAgents(t *testing.T) {
	w := newTree(t)
	w.write("p/.claude/commands/fix.md", "---\ndescription: Fix an issue\nargument-hint: [number]\nallowed-tools: Bash(git:*)\n---\nFix issue $ARGUMENTS.\n\n!`git status`\n")
	w.write("p/.claude/commands/front/comp.md", "Make $1 with $2.")
	w.write("home/.codex/prompts/draft.md", "---\ndescription: Draft\n---\nDraft $FILE for $1.")
	w.write("home/.codex/prompts/sub/not.md", "x")
	w.write("p/.gemini/commands/git/commit.toml", "description = \"d\"\nprompt = \"\"\"Write about {{args}}\n!{git diff}\"\"\"")
	w.write("p/.gemini/commands/plain.toml", "prompt = \"Do it.\"")
	w.write("p/.gemini/commands/broken.toml", "prompt = ")
	w.write("p/.claude/agents/checker.md", "---\nname: checker\ndescription: Checks\ntools: Read, Grep\nmodel: inherit\n---\nYou check.")
	w.write("p/.claude/agents/bad.md", "no frontmatter")
	w.write("p/.reins/agents/planner.md", "---\nname: planner\ndescription: Plans\nmode: plan\nmax_turns: 9\n---\nYou plan.")
	w.write("p/.reins/agents/endless.md", "---\nname: endless\ndescription: Works\nmaxTurns: -1\n---\nYou work.")
	r := Discover(Options{Home: w.path("home"), Project: w.path("p"), Dir: w.path("p")})
	for name, want := range map[string]struct{ args, text string }{
		"fix":           {"12", "<skill name=\"fix\" allowed-tools=\"Bash(git:*)\">\nFix issue 12.\n\n!`git status`\n\n[Commands and files in this text were not replaced by their output. Run the command or read the file with your tools if you need it.]\n</skill>"},
		"front:comp":    {`"a b" c`, "<skill name=\"front:comp\">\nMake a b with c.\n</skill>"},
		"comp":          {"x", "<skill name=\"front:comp\">\nMake x with .\n</skill>"},
		"prompts:draft": {"FILE=a.md", "<skill name=\"prompts:draft\">\nDraft a.md for FILE=a.md.\n</skill>"},
		"git:commit":    {"it", "<skill name=\"git:commit\">\nWrite about it\n!{git diff}\n\n[Commands and files in this text were not replaced by their output. Run the command or read the file with your tools if you need it.]\n</skill>"},
		"plain":         {"now", "<skill name=\"plain\">\nDo it.\n</skill>\n\n/plain now"},
	} {
		s, ok := r.Find(name)
		if !ok {
			t.Errorf("%s: not found", name)
		} else if got := s.Invoke(want.args); got != want.text {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want.text)
		}
	}
	if s, ok := r.Find("sub:not"); ok {
		t.Errorf("found %+v", s)
	}
	a := r.Agents()
	if len(a) != 2 || a[0].Name != "checker" || !slices.Equal(a[0].Tools, []string{"Read", "Grep"}) || a[0].Model != "" || a[0].Prompt != "You check." {
		t.Errorf("agents %+v", a)
	}
	if len(a) == 2 && (a[1].Name != "planner" || a[1].Mode != "plan" || a[1].MaxTurns != 9) {
		t.Errorf("agents %+v", a)
	}
	if p := r.Problems(); len(p) != 3 {
		t.Errorf("problems %v, want those of broken.toml, bad.md and endless.md", p)
	}
}

func TestListing_ShortensDescriptionsBeforeItDropsSkills(t *testing.T) {
	var r Registry
	for i := range 50 {
		r.Add(&Skill{Name: "skill-" + string(rune('a'+i/26)) + string(rune('a'+i%26)), Description: strings.Repeat("words and more ", 60), WhenToUse: "x", ModelInvoked: true})
	}
	r.Add(&Skill{Name: "hidden-one", Description: "d"})
	for _, budget := range []int{100_000, 16 << 10, 2000} {
		text := r.Listing(budget)
		if len(text) > budget || strings.Count(text, "- skill-") != 50 || strings.Contains(text, "hidden-one") {
			t.Errorf("budget %d: %d bytes, %d skills", budget, len(text), strings.Count(text, "- skill-"))
		}
		if budget > 2000 && len(text) < budget*3/4 && budget < 50_000 {
			t.Errorf("budget %d: only %d bytes used", budget, len(text))
		}
	}
	text := r.Listing(300)
	if n := strings.Count(text, "- skill-"); len(text) > 300 || n == 0 || n == 50 || !strings.Contains(text, "more skills than fit here") {
		t.Errorf("budget 300: %q", text)
	}
	if text := new(Registry).Listing(100); text != "" {
		t.Errorf("without skills: %q", text)
	}
}
