package feature

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy/rules"
)

// A policy that replaces the first one is bound by the session's skills, denies files, and
// takes away the search that it forbids.
func TestReplace_PolicyOfACodingSession(t *testing.T) {
	g := newOpenRig(t)
	t.Setenv("HOME", g.dir) // what is below is readable only by name
	r := g.skills(t.TempDir(), map[string]string{".claude/skills/look/SKILL.md": named("look", "Bash")})
	g.write(map[string]string{"open.txt": "PLAIN", "denied.txt": "HIDDEN"})
	var s *agent.Session
	cat := llmtest.Call("shell", `{"command":"cat open.txt denied.txt"}`)
	write := llmtest.Call("write_file", `{"file_path":"a","content":"x"}`)
	write.Check = func(*llm.Request) error {
		return s.Reconfigure(t.Context(), agent.Change{Policy: rules.Must("deny Read(denied.txt)", "deny WebSearch")})
	}
	g.model = llmtest.Play(llmtest.Call("skill", `{"name":"look"}`), cat, write, cat, llmtest.Say("done"))
	s = g.open(coding.Config{
		Model: "claude-opus-5", Provider: "anthropic", Extensions: with(HostedSearch(), Skills(r)), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite},
		Session: agent.Config{Policy: rules.Policy{}},
	})
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	got := results(s)
	if !strings.Contains(got[1], "PLAIN") || !strings.Contains(got[1], "HIDDEN") {
		t.Errorf("before: %q", got[1])
	}
	if !strings.Contains(got[2], refused) {
		t.Errorf("the skill does not restrict: %q", got[2])
	}
	if strings.Contains(got[3], "HIDDEN") {
		t.Errorf("a denied file was read: %q", got[3])
	}
	requests := g.model.Requests()
	for i, want := range map[int]bool{0: true, len(requests) - 1: false} {
		offered := false
		for _, d := range requests[i].Tools {
			offered = offered || d.Hosted.Dialect != ""
		}
		if offered != want {
			t.Errorf("request %d: web search offered %v, want %v", i, offered, want)
		}
	}
}
