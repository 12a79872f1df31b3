//go:build unix

package coding_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// worker is a session in a repository. Its model runs the last prompt as a shell command or, if the prompt
// is "TOOL {…}", calls that tool.
type worker struct {
	project
	session *agent.Session
	config  agent.Config
	script  *llmtest.Script
	later   checkpoint.Later         // what becomes of what others changed
	asked   []*checkpoint.LaterError // about such changes
}

func newWorker(t *testing.T, limit checkpoint.Config) *worker {
	t.Helper()
	w := &worker{project: repository(t), later: checkpoint.Refuse}
	limit.Dir, limit.Store = w.dir, t.TempDir()
	kept, err := checkpoint.Open(limit)
	if err != nil {
		t.Fatal(err)
	}
	store, err := filestore.New(filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w.script = &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn { return carryOut(r) }}
	w.config = agent.Config{
		ID: "undo", Client: everywhere{t, w.script}, Model: "m", Env: w.env(""), System: "Be good.",
		Policy: policy.AllowAll{}, Tools: &tool.Registry{}, Store: store,
		Checkpoints: coding.Checkpoints{Store: kept, Later: func(_ context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
			w.asked = append(w.asked, e)
			return w.later, nil
		}},
	}
	if err := w.config.Tools.Register(coding.NewTools(coding.ToolConfig{})...); err != nil {
		t.Fatal(err)
	}
	if w.session, err = agent.New(w.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.session.Close() })
	return w
}

// carryOut returns one call for the last prompt, and then a text.
func carryOut(r *llm.Request) llmtest.Turn {
	last := r.Messages[len(r.Messages)-1]
	if last.Role != llm.RoleUser {
		return llmtest.Say("Done.")
	}
	if name, args, ok := strings.Cut(last.Text(), " {"); ok {
		return llmtest.Call(name, "{"+args)
	}
	args, _ := json.Marshal(map[string]string{"command": last.Text()})
	return llmtest.Call("shell", string(args))
}

// everywhere checks each request in all protocols.
type everywhere struct {
	t *testing.T
	agent.Streamer
}

func (c everywhere) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	for model, d := range map[string]wire.Dialect{
		"gpt-6.1-sol": openai.NewDialect(openai.Config{}), "claude-haiku-4-5": anthropic.NewDialect(anthropic.Config{}),
		"claude-sonnet-5-5": anthropic.NewDialect(anthropic.Config{}), "claude-fable-5-2": anthropic.NewDialect(anthropic.Config{}),
		"gemini-3.8-flash": gemini.NewDialect(gemini.Config{}), "gpt-4o": chat.NewDialect(chat.Config{}),
		"amazon.nova-pro-v1:0": bedrock.NewDialect(bedrock.Config{}),
	} {
		q := *r
		q.Model, q.Cache = model, nil
		call, err := d.Encode(&q)
		if err == nil {
			err = llmtest.Validate(d.Name(), call.Body.Bytes())
		}
		if err != nil {
			c.t.Errorf("a request is invalid: %s: %v", d.Name(), err)
		}
	}
	return c.Streamer.Stream(ctx, r)
}

func (w *worker) do(prompt string) {
	w.t.Helper()
	out, err := w.session.Submit(w.t.Context(), llm.Text{Text: prompt})
	if err != nil || out.Status != agent.StatusDone {
		w.t.Fatalf("%s: %+v, %v", prompt, out, err)
	}
}

func (w *worker) undo() agent.Undone {
	w.t.Helper()
	u, err := w.session.Undo(w.t.Context(), agent.Parts{Chat: true, Files: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func (w *worker) redo() {
	w.t.Helper()
	if _, err := w.session.Redo(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// reopen resumes the session as another process would.
func (w *worker) reopen() {
	w.t.Helper()
	if err := w.session.Close(); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if w.session, err = agent.Resume(w.t.Context(), w.config); err != nil {
		w.t.Fatal(err)
	}
}

// tree returns every file below a directory with its mode and content.
func tree(t *testing.T, dir string, skip ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, s := range skip {
			if d.Name() == s {
				return fs.SkipDir
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var b []byte
			b, err = os.ReadFile(path)
			content = string(b)
		}
		rel, _ := filepath.Rel(dir, path)
		files[rel] = fmt.Sprintf("%v %s", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (w *worker) files() map[string]string { return tree(w.t, w.dir, ".git") }

func (w *worker) same(want map[string]string, when string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.files()); diff != "" {
		w.t.Errorf("%s the files differ: %s", when, diff)
	}
}

// changeAll changes a workspace in every way that a shell command can.
const changeAll = `set -e
echo changed > kept.txt; echo new > new.txt; mkdir -p deep/er; echo deep > deep/er/file
echo changed > untracked.txt; rm gone.txt; chmod 755 script.sh; rm link; ln -s new.txt link
rm -r full; echo now a file > full; printf '\000\001\377' > data.bin; mkdir hollow
echo changed > ignored/out.txt; echo made > ignored/more.txt`

func (w *worker) furnish() {
	w.t.Helper()
	w.write(".gitignore", "ignored/\n")
	w.write("gone.txt", "to be deleted\n")
	w.write("script.sh", "#!/bin/sh\n")
	w.write("full/of/files", "x\n")
	w.write("data.bin", "\x00text")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "More")
	w.write("untracked.txt", "never added\n")
	w.write("ignored/out.txt", "built\n")
	w.write("kept.txt", "staged\n")
	w.git("add", "kept.txt")
	w.write("kept.txt", "stashed\n")
	w.git("stash", "-q")
	w.write("kept.txt", "staged again\n")
	w.git("add", "kept.txt")
	w.write("kept.txt", "and changed since\n")
	if err := os.Symlink("script.sh", filepath.Join(w.dir, "link")); err != nil {
		w.t.Fatal(err)
	}
}

func TestUndo_BringsBackWhatAShellCommandDidAndLeavesGitAlone(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.furnish()
	git, before := tree(t, filepath.Join(w.dir, ".git")), w.files()
	w.do(changeAll)
	after := w.files()
	u := w.undo()
	want := []string{"data.bin", "deep/er/file", "full", "full/of/files", "gone.txt", "kept.txt", "link", "new.txt", "script.sh", "untracked.txt"}
	if diff := cmp.Diff(want, u.Changed); diff != "" {
		t.Errorf("the reported changes differ: %s", diff)
	}
	// Ignored files are not part of checkpoints.
	for name := range after {
		if strings.HasPrefix(name, "ignored") {
			before[name] = after[name]
		}
	}
	w.same(before, "after undo")
	for range 2 {
		w.redo()
		w.same(after, "after redo")
		w.reopen()
		w.undo()
		w.same(before, "after undo again")
		w.reopen()
	}
	if diff := cmp.Diff(git, tree(t, filepath.Join(w.dir, ".git"))); diff != "" {
		t.Errorf("undo changed the repository: %s", diff)
	}
}

func TestUndo_OfTwoInputsAndOfTheToolsThatEdit(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	start := w.files()
	w.do(`write_file {"file_path":"one.txt","content":"1\n"}`)
	middle := w.files()
	w.do(`edit_file {"file_path":"one.txt","old_string":"1","new_string":"2"}`)
	end := w.files()
	w.undo()
	w.same(middle, "after one undo")
	w.undo()
	w.same(start, "after two")
	w.reopen()
	w.redo()
	w.redo()
	w.same(end, "after two redos")
	w.undo()
	w.do("echo 3 > one.txt")
	if _, err := w.session.Redo(t.Context()); !errors.Is(err, agent.ErrNothingToRedo) {
		t.Errorf("redo after an input: %v", err)
	}
	w.undo()
	w.same(middle, "after another input was undone")
}

func TestUndo_WhatTheUserDidInBetweenIsNotLost(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.do("echo 1 > made.txt; echo 1 > both.txt")
	w.write("mine.txt", "by hand\n")
	w.write("both.txt", "by hand\n")
	mine := w.files()
	var later *checkpoint.LaterError
	if u, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); !errors.As(err, &later) || u.Chat || u.Files {
		t.Errorf("refused: %+v, %v", u, err)
	}
	w.same(mine, "after an undo that was refused")

	w.later = checkpoint.Keep
	if u := w.undo(); fmt.Sprint(u.Changed, u.Kept) != "[made.txt] [both.txt mine.txt]" {
		t.Errorf("changed %v, kept %v", u.Changed, u.Kept)
	}
	w.write("mine.txt", "by hand after the undo\n")
	mine["mine.txt"] = w.files()["mine.txt"]
	w.redo()
	w.same(mine, "after redo")

	w.do("echo 2 > made.txt; echo 2 > both.txt")
	w.write("both.txt", "by hand again\n")
	mine = w.files()
	w.later = checkpoint.Overwrite
	w.undo()
	if got := w.files()["both.txt"]; !strings.HasSuffix(got, " by hand\n") {
		t.Errorf("both.txt is %q", got)
	}
	w.redo()
	w.same(mine, "after redo")
	for _, e := range w.asked {
		if e.Unknown || len(e.Changes) != 1 || e.Changes[0].Path != "both.txt" {
			t.Errorf("asked about %v", e)
		}
	}
	if len(w.asked) != 3 {
		t.Errorf("asked %d times", len(w.asked))
	}
}

func TestUndo_KeepsWhatTheUserDidDuringTheWork(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.write("shared.txt", "1\n")
	at := w.signals()
	go at.meanwhile(func() {
		w.write("mine.txt", "by hand\n")
		w.write("dir/mine.txt", "by hand\n")
	})
	w.do(at.wait("echo 1 > made.txt; mkdir dir; echo 1 > dir/made.txt; echo 2 >> shared.txt"))
	if u := w.undo(); fmt.Sprint(u.Changed, u.Kept) != "[dir/made.txt made.txt shared.txt] [dir/mine.txt mine.txt]" {
		t.Errorf("changed %v, kept %v", u.Changed, u.Kept)
	}
	if len(w.asked) > 0 {
		t.Errorf("asked about %v", w.asked[0])
	}
}

func TestUndo_AsksAboutWhatACommandPerhapsWrote(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.write("gen.sh", "echo 1 > made.txt\n")
	at := w.signals()
	go at.meanwhile(func() { w.write("mine.txt", "by hand\n") })
	w.do(at.wait("sh gen.sh"))
	w.write("later.txt", "by hand\n")
	var later *checkpoint.LaterError
	_, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true})
	if !errors.As(err, &later) || fmt.Sprint(later.Unsure) != "[made.txt mine.txt]" {
		t.Errorf("%v, unsure about %v", err, later)
	}
	w.later = checkpoint.Keep
	if u := w.undo(); fmt.Sprint(u.Changed, u.Kept) != "[] [later.txt made.txt mine.txt]" {
		t.Errorf("changed %v, kept %v", u.Changed, u.Kept)
	}
}

func TestUndo_WhatTheUserSavedBetweenTwoCallsIsAskedAbout(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.script.Reply = func(n int, r *llm.Request) llmtest.Turn {
		switch n {
		case 0:
			return llmtest.Call("write_file", `{"file_path":"f.txt","content":"1\n"}`)
		case 1:
			w.write("f.txt", "by hand\n")
			return llmtest.Call("write_file", `{"file_path":"f.txt","content":"2\n"}`)
		}
		return llmtest.Say("Done.")
	}
	w.do("go")
	var later *checkpoint.LaterError
	if _, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); !errors.As(err, &later) || len(later.Unsure) > 0 {
		t.Errorf("%v", err)
	}
}

func TestUndo_KeepsWhatAnotherSessionWroteWhileACommandRan(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.write("gen.sh", "echo 1 > made.txt\n")
	other := w.beside("other")
	at := w.signals()
	go at.meanwhile(func() { other.do(`write_file {"file_path":"theirs.txt","content":"1\n"}`) })
	w.do(at.wait("sh gen.sh"))
	var later *checkpoint.LaterError
	if _, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); !errors.As(err, &later) || fmt.Sprint(later.Unsure) != "[made.txt]" {
		t.Errorf("%v", err)
	}
	if u := other.undo(); fmt.Sprint(u.Changed, u.Kept) != "[theirs.txt] [made.txt]" {
		t.Errorf("the other session changed %v, kept %v", u.Changed, u.Kept)
	}
}

func TestUndo_AsksAboutEverythingWhileABackgroundProcessMayWrite(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.do(`shell {"command":"sleep 600 & echo 1 > made.txt","background":true}`)
	w.write("mine.txt", "by hand\n")
	w.do("echo 1 > more.txt")
	w.write("mine2.txt", "by hand\n")
	var later *checkpoint.LaterError
	if _, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); !errors.As(err, &later) || !slices.Contains(later.Unsure, "mine2.txt") {
		t.Errorf("%v", err)
	}
}

// beside returns another session in the same directory.
func (w *worker) beside(id string) *worker {
	w.t.Helper()
	o := &worker{project: w.project, later: checkpoint.Refuse, script: &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn { return carryOut(r) }}}
	o.config = w.config
	o.config.ID, o.config.Client, o.config.Env = id, everywhere{w.t, o.script}, w.env("")
	o.config.Checkpoints = coding.Checkpoints{
		Store: w.config.Checkpoints.(coding.Checkpoints).Store,
		Later: func(_ context.Context, e *checkpoint.LaterError) (checkpoint.Later, error) {
			o.asked = append(o.asked, e)
			return o.later, nil
		},
	}
	o.config.Tools = &tool.Registry{}
	if err := o.config.Tools.Register(coding.NewTools(coding.ToolConfig{})...); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if o.session, err = agent.New(o.config); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { o.session.Close() })
	return o
}

// signals let a test do something while a command runs.
type signals struct{ begun, over string }

func (w *worker) signals() signals {
	w.t.Helper()
	dir := w.t.TempDir()
	s := signals{filepath.Join(dir, "begun"), filepath.Join(dir, "over")}
	for _, p := range []string{s.begun, s.over} {
		if err := syscall.Mkfifo(p, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

// wait returns a command line that waits for the test in the middle.
func (s signals) wait(line string) string {
	return fmt.Sprintf("echo > %s; cat %s; %s", s.begun, s.over, line)
}

// meanwhile calls f while the command waits.
func (s signals) meanwhile(f func()) {
	os.ReadFile(s.begun)
	f()
	os.WriteFile(s.over, nil, 0)
}

func TestUndo_AfterACrashAsksAboutWhatTheCallMayHaveDone(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.script.Reply = func(n int, r *llm.Request) llmtest.Turn {
		switch n {
		case 0:
			return llmtest.Call("write_file", `{"file_path":"known.txt","content":"1\n"}`)
		case 1:
			return llmtest.Call("shell", `{"command":"echo 1 > made.txt"}`)
		}
		return llmtest.Say("Done.")
	}
	w.do("go")
	// The log ends where the work was interrupted: while the command ran.
	var cut event.Seq
	for _, r := range w.records() {
		if d, ok := r.Data.(event.ToolCallEnd); ok && d.Name == "shell" {
			cut = r.Seq - 1
		}
	}
	if _, err := event.Fork(t.Context(), w.config.Store, w.config.ID, cut, event.Meta{ID: "cut"}); err != nil {
		t.Fatal(err)
	}
	w.config.ID = "cut"
	w.reopen()
	var later *checkpoint.LaterError
	if _, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); !errors.As(err, &later) || fmt.Sprint(later.Unsure) != "[made.txt]" {
		t.Errorf("%v", err)
	}
	w.do("ping {}") // the call gets its result
	w.undo()
	w.later = checkpoint.Keep
	if u := w.undo(); fmt.Sprint(u.Changed, u.Kept) != "[known.txt] [made.txt]" {
		t.Errorf("changed %v, kept %v", u.Changed, u.Kept)
	}
}

// TestUndo_OfALogWithoutAttribution covers sessions of earlier versions: their logs do not tell who changed a file.
func TestUndo_OfALogWithoutAttribution(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	kept := w.config.Checkpoints
	w.config.Checkpoints = struct{ agent.Checkpoints }{kept} // no Tracer
	w.reopen()
	w.do("echo 1 > made.txt")
	w.write("mine.txt", "by hand\n")
	w.config.Checkpoints = kept
	w.reopen()
	var later *checkpoint.LaterError
	_, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true})
	if !errors.As(err, &later) || len(later.Changes) != 1 || later.Changes[0].Path != "mine.txt" {
		t.Errorf("%v", err)
	}
	w.later = checkpoint.Keep
	if u := w.undo(); fmt.Sprint(u.Changed) != "[made.txt]" {
		t.Errorf("changed %v", u.Changed)
	}
}

func TestRestoreFiles_AsksAboutWhatOthersChanged(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.do("echo 1 > made.txt")
	w.write("kept.txt", "by hand\n")
	var first string
	for _, r := range w.records() {
		if d, ok := r.Data.(event.Checkpoint); ok && !d.After {
			first = d.ID
		}
	}
	for _, from := range []string{"", first} {
		var later *checkpoint.LaterError
		if _, err := w.session.RestoreFiles(t.Context(), from, "kept.txt"); !errors.As(err, &later) {
			t.Errorf("%q: %v", from, err)
		}
		w.later = checkpoint.Keep
		if u, err := w.session.RestoreFiles(t.Context(), from, "kept.txt", "made.txt"); err != nil || fmt.Sprint(u.Changed, u.Kept) != "[made.txt] [kept.txt]" {
			t.Errorf("%q: changed %v, kept %v, %v", from, u.Changed, u.Kept, err)
		}
		w.redo()
		w.later = checkpoint.Refuse
	}
}

func TestRestoreFiles_OneFileAndItsDirectory(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.write("dir/a", "a\n")
	w.write("dir/b", "b\n")
	start := w.files()
	w.do("echo x > kept.txt; rm dir/a; echo x > dir/b; echo x > new.txt")
	after := w.files()
	if _, err := w.session.RestoreFiles(t.Context(), "", "nonsense.txt"); err == nil || !strings.Contains(err.Error(), "nonsense.txt") {
		t.Errorf("a file that never existed: %v", err)
	}
	if _, err := w.session.RestoreFiles(t.Context(), "", "../outside"); err == nil {
		t.Error("a file outside the workspace was restored")
	}
	u, err := w.session.RestoreFiles(t.Context(), "", "dir", filepath.Join(w.dir, "new.txt"))
	if err != nil || fmt.Sprint(u.Changed) != "[dir/a dir/b new.txt]" {
		t.Fatalf("%+v, %v", u, err)
	}
	want := start
	want["kept.txt"] = after["kept.txt"]
	w.same(want, "after some were restored")
	w.reopen()
	w.redo()
	w.same(after, "after redo")
}

func TestUndo_AWorkspaceThatIsTooLargeIsWorkedInWithoutIt(t *testing.T) {
	w := newWorker(t, checkpoint.Config{MaxFiles: 1})
	w.write("b", "b")
	w.write("c", "c")
	w.do("echo 1 > b")
	w.do("echo 2 > b")
	warnings := 0
	for _, r := range w.records() {
		if d, ok := r.Data.(event.Warning); ok && strings.Contains(d.Message, "workspace too large") {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("%d warnings, want 1", warnings)
	}
	if u, err := w.session.Undo(t.Context(), agent.Parts{Chat: true, Files: true}); !errors.Is(err, agent.ErrFilesStay) || u.Files || !u.Chat {
		t.Errorf("%+v, %v", u, err)
	}
	if got := w.files()["b"]; !strings.HasSuffix(got, "2\n") {
		t.Errorf("b is %q", got)
	}
}

func (w *worker) records() (all []event.Record) {
	w.t.Helper()
	for r, err := range event.Read(w.t.Context(), w.config.Store, w.config.ID, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestUndo_TheLogKeepsEveryRecordAndTellsTheConversation(t *testing.T) {
	w := newWorker(t, checkpoint.Config{})
	w.do("echo 1 > a")
	w.do("echo 2 > a")
	before := w.records()
	w.undo()
	w.do("cat a")
	after := w.records()
	if diff := cmp.Diff(kindsIn(before), kindsIn(after[:len(before)])); diff != "" {
		t.Errorf("undo changed what was in the log: %s", diff)
	}
	requests := w.script.Requests()
	sent := requests[len(requests)-1].Messages
	told := step.Messages(after, "")
	if diff := cmp.Diff(sent, told[:len(sent)]); diff != "" || len(told) != len(sent)+1 {
		t.Errorf("the log has %d messages, but the model got %d: %s", len(told), len(sent), diff)
	}
	for _, m := range sent {
		if strings.Contains(m.Text(), "echo 2") {
			t.Error("the model got an undone message")
		}
	}
}

func kindsIn(records []event.Record) (out []string) {
	for _, r := range records {
		out = append(out, fmt.Sprint(r.Seq, r.Kind()))
	}
	return out
}
