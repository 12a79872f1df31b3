package panel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
)

// edited is a rig whose agent wrote a file for each of three prompts.
func edited(t *testing.T) (*rig, *checkpoints) {
	r := newRig(t, command.Host{})
	must(t, r.Reconfigure(t.Context(), session.Settings{Mode: policy.ModeAcceptEdits}))
	r.work("Make a", write("a.txt", "one\n"), llmtest.Say("Made a."))
	r.work("Make 日本.txt "+hostile, write("日本.txt", "x\n"), llmtest.Say("Made it."))
	r.work("Change a", write("a.txt", "two\nthree\n"), llmtest.Say("Changed."))
	r.work("Thanks", llmtest.Say("Welcome."))
	p := r.follow(NewCheckpoints(r.options())).(*checkpoints)
	has(t, everywhere(t, p), "4 prompts", "› Thanks", "Change a", "1 edit", "Make 日本.txt")
	return r, p
}

// answers waits for the question, and answers it.
func (r *rig) answers(p *checkpoints, key string, rows ...string) {
	r.t.Helper()
	r.until("the question", func() bool { return p.loading == 0 && (p.confirm != nil || p.failed) })
	has(r.t, everywhere(r.t, p), rows...)
	press(r.t, p, key, "enter")
}

func TestCheckpoints_UndoToAnEarlierPromptWithAPreview(t *testing.T) {
	t.Parallel()
	r, p := edited(t)
	press(t, p, "down", "down", "enter")
	r.answers(p, "n", `Undo 3 prompts, back to before "Make 日本.txt`,
		"deleted   日本.txt", "modified  a.txt +1 −2", "Files that only others changed")
	if r.file("a.txt") != "two\nthree\n" || len(p.prompts) != 4 {
		t.Fatal("undone without an answer")
	}
	press(t, p, "enter")
	r.answers(p, "y", "Undo 3 prompts")
	r.until("the undo", func() bool { return r.last.Close || p.failed })
	if r.file("a.txt") != "one\n" || r.file("日本.txt") != "" {
		t.Errorf("a.txt is %q, the other %q; %s", r.file("a.txt"), r.file("日本.txt"), p.notice)
	}
	if r.last.Draft != "Make 日本.txt "+hostile {
		t.Errorf("the draft is %q", r.last.Draft)
	}
	r.until("one prompt is left", func() bool { list, _ := prompts(r.state); return len(list) == 1 })
	has(t, everywhere(t, p), "1 prompt", "› Make a")
}

func TestCheckpoints_TheLastPromptIsPreviewedExactly(t *testing.T) {
	t.Parallel()
	r, p := edited(t)
	press(t, p, "enter")
	r.answers(p, "y", "Undo 1 prompt,", "No files would change.")
	r.until("the undo", func() bool { return r.last.Close })
	if r.file("a.txt") != "two\nthree\n" {
		t.Errorf("a.txt is %q", r.file("a.txt"))
	}
}

func TestCheckpoints_OnlyTheFilesOrTheConversation(t *testing.T) {
	t.Parallel()
	r, p := edited(t)
	press(t, p, "down", "enter")
	r.answers(p, "c", "modified  a.txt")
	r.until("the undo", func() bool { return r.last.Close })
	if r.file("a.txt") != "two\nthree\n" {
		t.Errorf("a.txt is %q", r.file("a.txt"))
	}
	r.last = Outcome{}
	r.until("two prompts are left", func() bool { list, _ := prompts(r.state); return len(list) == 2 })
	has(t, everywhere(t, p), "2 prompts")
	press(t, p, "home", "up", "enter")
	r.answers(p, "f", "deleted   a.txt")
	r.until("the undo", func() bool { return r.last.Close || p.failed })
	if r.file("a.txt") != "" || r.last.Draft != "" {
		t.Errorf("a.txt is %q, draft %q; %s", r.file("a.txt"), r.last.Draft, p.notice)
	}
}

func TestCheckpoints_OthersChangesAreAskedAbout(t *testing.T) {
	t.Parallel()
	r, p := edited(t)
	must(t, os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("mine\n"), 0o600))
	press(t, p, "down", "enter")
	r.answers(p, "y", "modified  a.txt")
	r.answers(p, "k", "Others changed files too", "Keep these files")
	r.until("the undo", func() bool { return r.last.Close || p.failed })
	if r.file("a.txt") != "mine\n" {
		t.Errorf("a.txt is %q; %s", r.file("a.txt"), p.notice)
	}
}

func TestCheckpoints_CopyFromBeforeAPrompt(t *testing.T) {
	t.Parallel()
	r, p := edited(t)
	press(t, p, "down")
	out := press(t, p, "ctrl+o")
	if out.Line == "" || !out.Close {
		t.Fatalf("ctrl+o: %+v", out)
	}
	res, err := r.Run(t.Context(), out.Line)
	must(t, err)
	m, err := r.Find(t.Context(), res.Session)
	must(t, err)
	if m.Turns != 4 || m.Parent != r.ID() { // two prompts, each with a call and an answer
		t.Errorf("the copy is %+v", m)
	}
}
