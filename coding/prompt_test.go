//go:build unix

package coding_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	prompts "github.com/reins-agent/reins/internal/prompt"
	"github.com/reins-agent/reins/tool"
)

// model returns the profile of a vendor's model.
func model(name string) *coding.Profile {
	return coding.For(map[string]string{"gpt": "openai", "cla": "anthropic", "gem": "gemini"}[name[:3]], name)
}

var someDay = time.Date(2026, 11, 5, 23, 0, 0, 0, time.UTC)

func prompt(t *testing.T, p *coding.Profile, e env.Environment, c coding.PromptConfig) string {
	t.Helper()
	if c.Date.IsZero() {
		c.Date = someDay
	}
	text, err := p.SystemPrompt(t.Context(), e, c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Definition of done, 9.8.
func TestPrompt_HasProviderSpecificBaseInstructions(t *testing.T) {
	e := newProject(t).env("")
	for family, p := range profiles() {
		if text := prompt(t, p, e, coding.PromptConfig{}); !strings.HasPrefix(text, p.Instructions+"\n") {
			t.Errorf("%s: the prompt begins with %.80q", family, text)
		}
	}
}

// Definition of done, 9.8.
func TestPrompt_HasTheEnvironmentContext(t *testing.T) {
	repo := repository(t)
	e := repo.env("")
	p := model("claude-opus-4-7")
	want := fmt.Sprintf(`<environment>
Working directory: %s
Is git repository: true
Git branch: main
Platform: %s
OS version: %s
Today's date: 2026-11-05
Model: Claude Opus 4.7
Knowledge cutoff: 2026-01
</environment>`, repo.dir, e.Info().Platform, e.Info().OSVersion)
	text := prompt(t, p, e, coding.PromptConfig{})
	inOrder(t, text, "\n\n"+want+"\n\n", "<git_snapshot>\n", "Current branch: main\nStatus: clean\nRecent commits:\n  ", " Begin here\n</git_snapshot>")

	p.Cutoff = ""
	text = prompt(t, p, newProject(t).env(""), coding.PromptConfig{})
	inOrder(t, text, "Is git repository: false\nPlatform: ", "Model: Claude Opus 4.7\n</environment>")
	if strings.Contains(text, "git_snapshot") {
		t.Error("a directory without a repository has a git snapshot")
	}
}

// Definition of done, 9.8.
func TestPrompt_DescribesTheToolsOfTheActiveProfile(t *testing.T) {
	e := newProject(t).env("")
	for family, p := range profiles() {
		for _, p := range []*coding.Profile{p, nativeForm(p)} {
			p.Tools = append(p.Tools, tool.New(tool.Spec{Name: "extra", Description: "Does\nmore."}, nil,
				func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Result{}, nil }))
			text := prompt(t, p, e, coding.PromptConfig{})
			_, list, _ := strings.Cut(text, "# Available tools\n")
			for _, name := range toolNames(t, p) {
				if !strings.Contains(list, "\n- "+name+": ") {
					t.Errorf("%s: %s is not described", family, name)
				}
			}
			if !strings.Contains(list, "- extra: Does more.\n") {
				t.Errorf("%s: the tool of the host is not described on one line", family)
			}
		}
	}
	chosen := []tool.Spec{{Name: "only", Description: "The only one."}}
	text := prompt(t, model("gpt-5.5"), e, coding.PromptConfig{Tools: chosen})
	if !strings.HasSuffix(text, "# Available tools\n\n- only: The only one.\n") {
		t.Errorf("the prompt ends in %q", text[len(text)-200:])
	}
	if strings.Contains(text, "apply_patch") || strings.Contains(text, "read_file") {
		t.Error("the prompt names tools that are not offered")
	}
}

// Definition of done, 9.8.
func TestPrompt_UserInstructionsAreLast(t *testing.T) {
	repo := repository(t)
	repo.write("AGENTS.md", "Use tabs.")
	text := prompt(t, model("gemini-3.8-flash"), repo.env(""), coding.PromptConfig{User: "  Use spaces.\n"})
	inOrder(t, text, "<environment>", "<git_snapshot>", "# Available tools", "# Project instructions", "Use tabs.", "# User instructions", "Use spaces.")
	if !strings.HasSuffix(text, "\n\nUse spaces.\n") {
		t.Errorf("the prompt ends in %q", text[len(text)-100:])
	}
}

// Definition of done, 9.8.
func TestPrompt_IncludesProjectDocuments(t *testing.T) {
	repo := repository(t)
	repo.write("AGENTS.md", "\ufeffRoot rules.\n")
	repo.write("CLAUDE.md", "Root claude.")
	repo.write("a/AGENTS.md", "Rules of a.")
	repo.write("a/b/CLAUDE.md", "Claude in b.")
	repo.write("a/other/AGENTS.md", "Not on the way.")
	t.Setenv("HOME", filepath.Dir(repo.dir)) // the sandbox hides most of the home directory
	for mode, e := range map[string]env.Environment{"no sandbox": repo.env("a/b"), "sandbox": repo.boxed("a/b")} {
		t.Run(mode, func(t *testing.T) {
			text := prompt(t, model("claude-opus-5"), e, coding.PromptConfig{Trusted: true})
			inOrder(t, text, "# Project instructions",
				"<project_instructions path=\"AGENTS.md\">\nRoot rules.\n</project_instructions>",
				"<project_instructions path=\"a/AGENTS.md\">\nRules of a.",
				"<project_instructions path=\"a/b/CLAUDE.md\">\nClaude in b.")
			if strings.Contains(text, "Not on the way") || strings.Contains(text, "Root claude") {
				t.Error("a directory beside the way, or a file beside AGENTS.md, is loaded")
			}
		})
	}
}

// Definition of done, 9.8.
func TestPrompt_LoadsOnlyRelevantProjectDocuments(t *testing.T) {
	for family, want := range map[string][]string{
		"openai":    {"AGENTS.md", ".codex/instructions.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"},
		"anthropic": {"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"},
		"gemini":    {"AGENTS.md", "GEMINI.md", "CLAUDE.md", ".claude/CLAUDE.md"},
		"generic":   {"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md"},
	} {
		repo := repository(t)
		for _, name := range append(want, "README.md") {
			repo.write(name, "From "+name)
		}
		for _, name := range want { // each is used where the ones before it are missing
			if got := docPaths(prompts.FindDocs(t.Context(), repo.env(""), profiles()[family].DocFiles)); !slices.Equal(got, []string{name}) {
				t.Errorf("%s loads %v, want %v", family, got, name)
			}
			if err := os.Remove(filepath.Join(repo.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSystemPrompt_SameInputsGiveTheSameBytes(t *testing.T) {
	repo := repository(t)
	repo.write("sub/AGENTS.md", "Below.")
	repo.write("new.txt", "")
	for family, p := range profiles() {
		first := prompt(t, p, repo.env("sub"), coding.PromptConfig{User: "u"})
		if second := prompt(t, coding.For(p.Provider, p.Model), repo.env("sub"), coding.PromptConfig{User: "u"}); first != second {
			t.Errorf("%s: the prompt differs the second time", family)
		}
	}
}

func TestSystemPrompt_SnapshotTakenOnceServesLaterPrompts(t *testing.T) {
	repo := repository(t)
	e := repo.env("")
	p := model("gpt-5.5")
	git := prompts.TakeGit(t.Context(), e)
	docs := prompts.FindDocs(t.Context(), e, p.DocFiles)
	before := prompt(t, p, e, coding.PromptConfig{Git: &git, Docs: &docs})
	repo.write("AGENTS.md", "New.")
	repo.git("checkout", "-q", "-b", "other")
	if after := prompt(t, p, e, coding.PromptConfig{Git: &git, Docs: &docs}); after != before {
		t.Error("the prompt followed the repository")
	}
}

func TestSystemPrompt_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := model("gpt-5.5").SystemPrompt(ctx, repository(t).env(""), coding.PromptConfig{}); err == nil {
		t.Error("a prompt was made after its context ended")
	}
}

func BenchmarkSystemPrompt(b *testing.B) {
	dir := b.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "One"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	p := model("claude-opus-5")
	git := prompts.TakeGit(b.Context(), e)
	for name, c := range map[string]coding.PromptConfig{"git": {Date: someDay}, "snapshot": {Date: someDay, Git: &git}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.SystemPrompt(b.Context(), e, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("profile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			model("claude-opus-5")
		}
	})
}

func docPaths(d prompts.Docs) []string {
	var paths []string
	for _, f := range d.Files {
		paths = append(paths, f.Path)
	}
	return paths
}
