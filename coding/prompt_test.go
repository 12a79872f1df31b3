//go:build unix

package coding_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/tool"
)

// project is a directory on disk that sessions start in.
type project struct {
	t   *testing.T
	dir string
}

func newProject(t *testing.T) project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return project{t, dir}
}

func (p project) write(name, content string) {
	p.t.Helper()
	full := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p project) git(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", p.dir, "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgSign=false"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repository is a project with one commit on the branch main.
func repository(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	p.git("init", "-q", "-b", "main")
	p.write("kept.txt", "kept\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "Begin here")
	return p
}

func (p project) env(below string) env.Environment {
	p.t.Helper()
	e, err := local.New(local.Config{Dir: filepath.Join(p.dir, below), SpoolDir: p.t.TempDir()})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { e.Close() })
	return e
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

// inOrder checks that texts occur one behind the other.
func inOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Errorf("%q is missing, or stands too early, in:\n%s", w, text)
			return
		}
		rest = after
	}
}

func TestDoD_9_8_SystemPromptIncludesProviderSpecificBaseInstructions(t *testing.T) {
	e := newProject(t).env("")
	for family, p := range profiles() {
		if text := prompt(t, p, e, coding.PromptConfig{}); !strings.HasPrefix(text, p.Instructions+"\n") {
			t.Errorf("%s: the prompt begins with %.80q", family, text)
		}
	}
}

func TestDoD_9_8_SystemPromptIncludesEnvironmentContext(t *testing.T) {
	repo := repository(t)
	e := repo.env("")
	p := coding.Anthropic("claude-opus-4-7")
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

func TestDoD_9_8_SystemPromptIncludesToolDescriptionsFromTheActiveProfile(t *testing.T) {
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
	text := prompt(t, coding.OpenAI("gpt-5.5"), e, coding.PromptConfig{Tools: chosen})
	if !strings.HasSuffix(text, "# Available tools\n\n- only: The only one.\n") {
		t.Errorf("the prompt ends in %q", text[len(text)-200:])
	}
	if strings.Contains(text, "apply_patch") || strings.Contains(text, "read_file") {
		t.Error("the prompt names tools that are not offered")
	}
}

func TestDoD_9_8_UserInstructionOverridesAreAppendedLast(t *testing.T) {
	repo := repository(t)
	repo.write("AGENTS.md", "Use tabs.")
	text := prompt(t, coding.Gemini("gemini-3.8-flash"), repo.env(""), coding.PromptConfig{User: "  Use spaces.\n"})
	inOrder(t, text, "<environment>", "<git_snapshot>", "# Available tools", "# Project instructions", "Use tabs.", "# User instructions", "Use spaces.")
	if !strings.HasSuffix(text, "\n\nUse spaces.\n") {
		t.Errorf("the prompt ends in %q", text[len(text)-100:])
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
	p := coding.OpenAI("gpt-5.5")
	git := coding.TakeGitSnapshot(t.Context(), e)
	docs := coding.FindProjectDocs(t.Context(), e, p.DocFiles)
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
	if _, err := coding.OpenAI("gpt-5.5").SystemPrompt(ctx, repository(t).env(""), coding.PromptConfig{}); err == nil {
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
	p := coding.Anthropic("claude-opus-5")
	git := coding.TakeGitSnapshot(b.Context(), e)
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
			coding.Anthropic("claude-opus-5")
		}
	})
}
