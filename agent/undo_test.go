package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// desk is a workspace that maps names to content, with checkpoints. Package coding tests what undo does to real files.
type desk struct {
	files map[string]string
	kept  []map[string]string
	full  error    // why no state can be kept
	stuck error    // failure of a Restore after its first change
	left  []string // the last Restore's argument
}

func (d *desk) Take(context.Context, string) (string, int, error) {
	if d.full != nil {
		return "", 0, d.full
	}
	d.kept = append(d.kept, maps.Clone(d.files))
	return fmt.Sprint(len(d.kept)), len(d.files), nil
}

func (d *desk) Restore(ctx context.Context, r Restore) (done Restored, err error) {
	d.left = r.Left
	var n int
	if _, err := fmt.Sscan(r.ID, &n); err != nil || n < 1 || n > len(d.kept) {
		return done, fmt.Errorf("there is no checkpoint %q", r.ID)
	}
	before, _, err := d.Take(ctx, "")
	if err == nil {
		err = r.Begin(before, nil)
	}
	if err != nil {
		return done, err
	}
	then := d.kept[n-1]
	for _, name := range slices.Sorted(maps.Keys(union(d.files, then))) {
		if len(r.Paths) > 0 && !slices.Contains(r.Paths, name) || d.files[name] == then[name] {
			continue
		}
		if len(done.Changed) > 0 && d.stuck != nil {
			return done, d.stuck
		}
		done.Changed = append(done.Changed, name)
		if d.files[name] = then[name]; then[name] == "" {
			delete(d.files, name)
		}
	}
	return done, nil
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// put is the tool that writes: the text "name=content" sets a file, "name=" removes it.
func (d *desk) put(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
	name, content, _ := strings.Cut(text, "=")
	if d.files[name] = content; content == "" {
		delete(d.files, name)
	}
	return tool.Success("done"), nil
}

// obedient is a model that executes the last prompt's words, one per round: it puts name=content, reads other words,
// and asks "Really?" at the word ask.
func obedient(r *llm.Request) llmtest.Turn {
	last := len(r.Messages) - 1
	for r.Messages[last].Role != llm.RoleUser {
		last--
	}
	words, round := strings.Fields(r.Messages[last].Text()), 0
	for _, m := range r.Messages[last:] {
		if m.Role == llm.RoleAssistant {
			round++
		}
	}
	switch {
	case round >= len(words):
		return llmtest.Say("Done: " + r.Messages[last].Text())
	case words[round] == "ask":
		return llmtest.Call(AskUser, `{"question":"Really?"}`)
	case strings.Contains(words[round], "="):
		return llmtest.Call("put", fmt.Sprintf(`{"text":%q}`, words[round]))
	}
	return echoCall(words[round])
}

// bench is a session over a desk.
type bench struct {
	*Session
	t      *testing.T
	desk   *desk
	script *llmtest.Script
	config Config
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return openBench(t, func(client Streamer) Streamer { return strict{t, client} })
}

func openBench(t *testing.T, wrap func(Streamer) Streamer) *bench {
	t.Helper()
	b := &bench{t: t, desk: &desk{files: map[string]string{"a": "old"}}}
	b.script = &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn { return obedient(r) }}
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b.config = Config{
		ID: "undo", Client: wrap(b.script), Model: "m", Env: e, System: "Be good.", Policy: policy.AllowAll{},
		Tools: &tool.Registry{}, Store: &event.Memory{}, Checkpoints: b.desk,
	}
	with(AskUserTool(), fake("echo", true, echo), fake("put", false, b.desk.put))(&b.config)
	if b.Session, err = New(b.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		e.Close()
	})
	return b
}

// reopen continues the session as in another process.
func (b *bench) reopen() {
	b.t.Helper()
	if err := b.Close(); err != nil {
		b.t.Fatal(err)
	}
	before := b.Session
	after, err := Resume(b.t.Context(), b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Session = after
	if diff := cmp.Diff(before.Messages(), after.Messages()); diff != "" {
		b.t.Errorf("the resumed conversation is another one: %s", diff)
	}
	for _, what := range []Parts{{Chat: true}, {Files: true}, {Chat: true, Files: true}} {
		was, _ := before.state.Undo(what)
		is, _ := after.state.Undo(what)
		if diff := cmp.Diff(was, is); diff != "" {
			b.t.Errorf("the resumed session undoes something else: %s", diff)
		}
	}
	was, _ := before.state.Redo()
	is, _ := after.state.Redo()
	if diff := cmp.Diff(was, is); diff != "" {
		b.t.Errorf("the resumed session redoes something else: %s", diff)
	}
}

// is checks the files, the conversation's prompts, and that the log agrees.
func (b *bench) is(files, prompts string) {
	b.t.Helper()
	if got := b.files(); got != files {
		b.t.Errorf("the files are %q, want %q", got, files)
	}
	if got := b.prompts(); got != prompts {
		b.t.Errorf("the prompts are %q, want %q", got, prompts)
	}
	checkHistory(b.t, b.Session)
}

func (b *bench) files() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.desk.files)) {
		out = append(out, name+"="+b.desk.files[name])
	}
	return strings.Join(out, " ")
}

func (b *bench) prompts() string { return promptsOf(b.Messages()) }

func promptsOf(messages []llm.Message) string {
	var out []string
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			out = append(out, m.Text())
		}
	}
	return strings.Join(out, "; ")
}

// back undoes, which must succeed.
func (b *bench) back(chat, files bool) Undone {
	b.t.Helper()
	return b.did(b.Undo(b.t.Context(), Parts{Chat: chat, Files: files}))
}

func (b *bench) again() Undone {
	b.t.Helper()
	return b.did(b.Redo(b.t.Context()))
}

func (b *bench) did(u Undone, err error) Undone {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

func TestUndo_TakesTheLastInputsBackOneByOneAndRedoBringsThemBack(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	submit(t, b.Session, "look a=2 b=2")
	b.is("a=2 b=2", "a=1; look a=2 b=2")
	u := b.back(true, true)
	if u.Prompt != "look a=2 b=2" || !u.Chat || !u.Files || !slices.Equal(u.Changed, []string{"a", "b"}) {
		t.Errorf(`got %+v, want Prompt "look a=2 b=2", Chat, Files, Changed "a", "b"`, u)
	}
	b.is("a=1", "a=1")
	b.back(true, true)
	b.is("a=old", "")
	if _, err := b.Undo(t.Context(), Parts{Chat: true, Files: true}); !errors.Is(err, ErrNothingToUndo) {
		t.Errorf("a third undo: %v", err)
	}
	b.again()
	b.is("a=1", "a=1")
	b.back(true, true)
	b.again()
	b.again()
	b.is("a=2 b=2", "a=1; look a=2 b=2")
	if _, err := b.Redo(t.Context()); !errors.Is(err, ErrNothingToRedo) {
		t.Errorf("a third redo: %v", err)
	}
}

func TestUndo_OfTheConversationKeepsTheFilesAndTheOtherWayRound(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	b.back(true, false)
	b.is("a=1", "")
	if u := b.back(true, true); u.Chat || !u.Files {
		t.Errorf("what was left to undo: %+v", u)
	}
	b.is("a=old", "")
	b.again()
	b.again()
	b.is("a=1", "a=1")
	b.back(false, true)
	b.is("a=old", "a=1")
	if u := b.back(true, true); !u.Chat || u.Files {
		t.Errorf("what was left to undo: %+v", u)
	}
}

func TestUndo_TheModelDoesNotSeeWhatWasUndone(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	submit(t, b.Session, "a=2")
	b.back(true, true)
	submit(t, b.Session, "a=3")
	requests := b.script.Requests()
	if got := promptsOf(requests[len(requests)-1].Messages); got != "a=1; a=3" {
		t.Errorf("the model saw %q", got)
	}
	if broken := records[event.CacheBroken](b.Session); len(broken) != 1 || !strings.Contains(broken[0].Reason, "rewound") {
		t.Errorf(`got %+v, want 1, [0].Reason with "rewound"`, broken)
	}
	if n := len(records[event.UserInput](b.Session)); n != 3 {
		t.Errorf("the log has %d inputs, want all 3", n)
	}
}

func TestUndo_NewInputDropsRedoAndTheUndoneInputIsPassedOver(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	submit(t, b.Session, "a=2")
	b.back(true, true)
	submit(t, b.Session, "a=3")
	if _, err := b.Redo(t.Context()); !errors.Is(err, ErrNothingToRedo) {
		t.Errorf("redo after an input: %v", err)
	}
	b.back(true, true)
	b.is("a=1", "a=1")
	b.back(true, true)
	b.is("a=old", "")
}

func TestUndo_WorksInTheNextProcess(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	submit(t, b.Session, "a=2")
	b.reopen()
	b.back(true, true)
	b.reopen()
	b.is("a=1", "a=1")
	b.again()
	b.reopen()
	b.is("a=2", "a=1; a=2")
	b.back(false, true)
	b.reopen()
	b.back(true, true)
	b.reopen()
	b.is("a=1", "a=1")
	submit(t, b.Session, "a=4")
	b.is("a=4", "a=1; a=4")
}

func TestRestoreFiles_SetsOnlyThePathsBackAndCanBeRedone(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1 b=1 c=1")
	u := b.did(b.RestoreFiles(t.Context(), "", "a", "c"))
	if u.Chat || !u.Files || !slices.Equal(u.Changed, []string{"a", "c"}) {
		t.Errorf(`got %+v, want no Chat, Files, Changed "a", "c"`, u)
	}
	b.is("a=old b=1", "a=1 b=1 c=1")
	rewinds := records[event.Rewind](b.Session)
	if len(rewinds) != 1 || !slices.Equal(rewinds[0].Paths, []string{"a", "c"}) || rewinds[0].Chat {
		t.Errorf(`got %+v, want 1, [0].Paths "a", "c", no [0].Chat`, rewinds)
	}
	b.reopen()
	b.again()
	b.is("a=1 b=1 c=1", "a=1 b=1 c=1")
	b.did(b.RestoreFiles(t.Context(), "", "b"))
	b.reopen()
	b.back(true, true)
	b.is("a=old", "")
	b.again()
	b.is("a=1 c=1", "a=1 b=1 c=1")
	b.again()
	b.is("a=1 b=1 c=1", "a=1 b=1 c=1")
	if _, err := b.RestoreFiles(t.Context(), ""); err == nil {
		t.Error("no path was set back")
	}
}

func TestUndo_OfFilesLeavesAQuestionOpenAndWhatFollowsCanBeUndone(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		b := newBench(t)
		if out := submit(t, b.Session, "a=1 ask b=2"); out.Status != StatusAwaitingInput {
			t.Fatalf("got %+v, want StatusAwaitingInput", out)
		}
		b.back(false, true)
		b.is("a=old", "a=1 ask b=2")
		if resumed {
			b.reopen()
		}
		if q := b.Question(); q != "Really?" {
			t.Errorf("resumed %v: the question is %q", resumed, q)
		}
		submit(t, b.Session, "yes")
		b.is("a=old b=2", "a=1 ask b=2")
		if _, err := b.Redo(t.Context()); !errors.Is(err, ErrNothingToRedo) {
			t.Errorf("redo over what was done since: %v", err)
		}
		b.back(true, true)
		b.is("a=old", "")
	}
}

func TestUndo_OfAQuestionLeavesNone(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1 ask")
	b.back(true, true)
	for range 2 {
		if q := b.Question(); q != "" || b.State() != Idle {
			t.Errorf("%s, the question is %q", b.State(), q)
		}
		if _, err := b.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) {
			t.Errorf("continue: %v", err)
		}
		b.reopen()
	}
	submit(t, b.Session, "b=1")
	b.is("a=old b=1", "b=1")
}

func TestUndo_AfterTheSessionWasCutOffAtAnyRecord(t *testing.T) {
	whole := newBench(t)
	submit(t, whole.Session, "look a=1 b=1")
	submit(t, whole.Session, "a=2 ask c=1")
	submit(t, whole.Session, "yes")
	all := whole.log.Records(0)
	kept := 0 // saved checkpoints
	for n := 1; n <= len(all); n++ {
		if _, ok := all[n-1].Data.(event.Checkpoint); ok {
			kept++
		}
		b := newBench(t)
		b.Close()
		b.config.Store, b.desk.files, b.desk.kept = &event.Memory{}, maps.Clone(whole.desk.files), slices.Clone(whole.desk.kept)
		b.config.ID, b.config.Env = "life", whole.config.Env
		put(t, b.config.Store, all[:n])
		var err error
		if b.Session, err = Resume(t.Context(), b.config); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = b.Undo(t.Context(), Parts{Chat: true, Files: true})
			checkHistory(t, b.Session)
		}
		if !errors.Is(err, ErrNothingToUndo) {
			t.Fatal(err)
		}
		want := whole.files()
		if kept > 0 {
			want = "a=old"
		}
		b.is(want, "")
		submit(t, b.Session, "d=1")
		if t.Failed() {
			t.Fatalf("cut off behind record %d:\n%s", n, kindsOf(all[:n]))
		}
	}
}

func TestCheckpoint_OnlyForAnInputThatMayChangeSomething(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "look around")
	if n := len(b.desk.kept); n != 0 {
		t.Errorf("%d checkpoints for an input that only reads", n)
	}
	submit(t, b.Session, "look a=1 b=1 c=1")
	submit(t, b.Session, "a=2 ask b=2")
	b.reopen()
	submit(t, b.Session, "yes")
	if n := len(keptBefore(b.Session)); n != 2 {
		t.Errorf("%d states were kept before two inputs", n)
	}
}

// keptBefore returns the checkpoints that were taken before something was changed.
func keptBefore(s *Session) []event.Checkpoint {
	return slices.DeleteFunc(records[event.Checkpoint](s), func(c event.Checkpoint) bool { return c.After })
}

func TestCheckpoint_OneForAWholeTreeOfAgents(t *testing.T) {
	b := newBench(t)
	b.config.ID = "tree"
	b.config.Client = strict{t, play(map[string][]llmtest.Turn{
		"main":  {spawn(`{"task":"one"}`), spawn(`{"task":"two"}`), wait("1"), wait("2"), llmtest.Call("put", `{"text":"a=3"}`), llmtest.Say("Done.")},
		"one":   {llmtest.Call("put", `{"text":"a=1"}`), llmtest.Say("One.")},
		"two":   {llmtest.Call("put", `{"text":"b=2"}`), llmtest.Say("Two.")},
		"again": {llmtest.Say("Yes.")},
	})}
	s, err := New(b.config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	submit(t, s, "main")
	if n := len(keptBefore(s)); n != 1 {
		t.Errorf("%d checkpoints, want 1", n)
	}
	b.did(s.Undo(t.Context(), Parts{Chat: true, Files: true}))
	if got := b.files(); got != "a=old" {
		t.Errorf("the files are %q", got)
	}
	checkHistory(t, s)
}

func TestCheckpoint_ThatCannotBeKeptIsSaidOnceAndTheWorkGoesOn(t *testing.T) {
	b := newBench(t)
	b.desk.full = errors.New("the workspace is too large")
	for _, text := range []string{"a=1 b=1", "a=2"} {
		if out := submit(t, b.Session, text); out.Status != StatusDone {
			t.Errorf("got %+v, want StatusDone", out)
		}
	}
	warnings := records[event.Warning](b.Session)
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, "too large") {
		t.Errorf(`got %+v, want 1, [0].Message with "too large"`, warnings)
	}
	if u, err := b.Undo(t.Context(), Parts{Files: true}); !errors.Is(err, ErrFilesStay) || u.Files {
		t.Errorf("undo of the files: %+v, %v", u, err)
	}
	if u, err := b.Undo(t.Context(), Parts{Chat: true, Files: true}); !errors.Is(err, ErrFilesStay) || u.Files || !u.Chat {
		t.Errorf("undo of both: %+v, %v", u, err)
	}
	b.is("a=2 b=1", "a=1 b=1")
}

func TestUndo_OfTheFilesThatWasCutOffIsContinuedAsItWasBegun(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1 b=1")
	b.desk.stuck = errors.New("it is stuck")
	if u, err := b.Undo(t.Context(), Parts{Files: true}); err == nil || !u.Partly {
		t.Fatalf("got %+v, %v, want an error, Partly", u, err)
	}
	b.desk.stuck = nil
	b.reopen()
	if u := b.back(true, true); u.Chat || !u.Files {
		t.Errorf("got %+v, want no Chat, Files", u)
	}
	b.is("a=old", "a=1 b=1")
	if u := b.back(true, true); !u.Chat || u.Files {
		t.Errorf("got %+v, want Chat, no Files", u)
	}
	b.is("a=old", "")
}

func TestUndo_SaysHowTheSessionLeftTheFiles(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	submit(t, b.Session, "a=2")
	left := func(what string, want ...string) {
		t.Helper()
		if got := b.desk.left; !slices.Equal(got, want) {
			t.Errorf("%s: left as in %v, want %v", what, got, want)
		}
	}
	// States: 1 before and 2 after the first input, 3 and 4 for the second.
	b.reopen()
	b.back(true, true)
	left("undo", "4")
	b.again()
	left("redo", "3")
	b.back(true, true)
	left("undo after redo", "5")
	b.back(true, true)
	left("undo of the first", "2")
	b.did(b.RestoreFiles(t.Context(), "4"))
	left("any state", "1")
}

func TestInputs_TellWhatEachWasAndWhatWasUndone(t *testing.T) {
	b := newBench(t)
	submit(t, b.Session, "a=1")
	submit(t, b.Session, "look")
	submit(t, b.Session, "a=2 ask")
	submit(t, b.Session, "yes")
	b.back(false, true)
	b.did(b.RestoreFiles(t.Context(), "", "a"))
	var got []string
	for _, in := range event.Inputs(b.log.Records(0)) {
		got = append(got, fmt.Sprintf("%s: %q %t %t", in.Prompt, in.Checkpoint, in.Undone.Chat, in.Undone.Files))
	}
	want := []string{`a=1: "1" false false`, `look: "" false false`, `a=2 ask: "3" false true`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// In any order of undo and redo: each undo restores the earlier state, each redo the undone state, and a session that
// is resumed at any point is the same.
func TestUndo_AnyOrderOfInputUndoRedoAndResume(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := openBench(t, func(client Streamer) Streamer { return client })
		defer b.Close()
		type state struct{ files, prompts string }
		now := func() state { return state{b.files(), b.prompts()} }
		var undone []state // states that redo must restore
		// tried does something that may fail halfway. It is then repeated or reverted, which it reports.
		tried := func(do, back func() (Undone, error)) (u Undone, err error, backed bool) {
			before := now()
			for rapid.IntRange(0, 2).Draw(rt, "stuck") == 0 {
				b.desk.stuck = errors.New("it is stuck")
				u, err = do()
				b.desk.stuck = nil
				if !u.Partly {
					return u, err, false
				}
				if got := b.prompts(); got != before.prompts {
					rt.Fatalf("the prompts are %q though not all files are back, want %q", got, before.prompts)
				}
				if rapid.Bool().Draw(rt, "resume") {
					b.reopen()
				}
				if rapid.Bool().Draw(rt, "take back") {
					if _, err := back(); err != nil || now() != before {
						rt.Fatalf("taking back gave %+v, want %+v, %v", now(), before, err)
					}
					return u, nil, true
				}
			}
			u, err = do()
			return u, err, false
		}
		redo := func() (Undone, error) { return b.Redo(t.Context()) }
		for n := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			before := now()
			switch op := rapid.SampledFrom([]string{"input", "input", "look", "undo", "undo", "undo", "paths", "redo", "redo", "resume"}).Draw(rt, "op"); op {
			case "input", "look":
				text := map[string]string{"input": fmt.Sprintf("a=%d f%d=1", n, n%3), "look": "look"}[op]
				submit(t, b.Session, text)
				undone = nil
			case "undo", "paths":
				chat, files := rapid.Bool().Draw(rt, "chat"), rapid.Bool().Draw(rt, "files")
				u, err, backed := tried(func() (Undone, error) {
					if op == "undo" {
						return b.Undo(t.Context(), Parts{Chat: chat, Files: files})
					}
					return b.RestoreFiles(t.Context(), "", "a", "f1")
				}, redo)
				switch {
				case errors.Is(err, ErrNothingToUndo), backed:
					continue
				case err != nil:
					rt.Fatal(err)
				case !u.Chat && b.prompts() != before.prompts, !u.Files && b.files() != before.files:
					rt.Fatalf("%+v made %+v of %+v", u, now(), before)
				case u.Chat && strings.Contains(b.prompts()+";", u.Prompt+";") && strings.Count(before.prompts, u.Prompt) == 1:
					rt.Fatalf("%q is still there: %q", u.Prompt, b.prompts())
				}
				undone = append(undone, before)
			case "redo":
				_, err, backed := tried(redo, func() (Undone, error) { return b.Undo(t.Context(), Parts{Files: true}) })
				if backed {
					continue
				}
				if len(undone) == 0 {
					if !errors.Is(err, ErrNothingToRedo) {
						rt.Fatalf("there was nothing to redo: %v", err)
					}
					continue
				}
				if want := undone[len(undone)-1]; err != nil || now() != want {
					rt.Fatalf("redo gave %+v, want %+v, %v", now(), want, err)
				}
				undone = undone[:len(undone)-1]
			case "resume":
				b.reopen()
			}
			checkHistory(t, b.Session)
			if t.Failed() {
				rt.FailNow()
			}
		}
	})
}

func TestUndo_TakesThePlanAndTheFilesOfTheInputBack(t *testing.T) {
	edit := fake("edit", false, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
		res := tool.Success("ok")
		res.Artifacts.FilesChanged = []string{text}
		return res, nil
	})
	work := func(what string) []llmtest.Turn {
		args := fmt.Sprintf(`{"text":%q}`, what)
		return []llmtest.Turn{llmtest.Call("update_plan", args), llmtest.Call("edit", args), llmtest.Say("Done.")}
	}
	s := open(t, llmtest.Play(append(work("first"), work("second")...)...), with(planner(), edit))
	submit(t, s, "one")
	submit(t, s, "two")
	for _, step := range []struct {
		do    func() (Undone, error)
		plan  string
		files []string
	}{
		{func() (Undone, error) { return s.Undo(t.Context(), Parts{Chat: true}) }, "first", []string{"first"}},
		{func() (Undone, error) { return s.Redo(t.Context()) }, "second", []string{"first", "second"}},
	} {
		if _, err := step.do(); err != nil {
			t.Fatal(err)
		}
		if facts := s.state.Facts(); !strings.Contains(facts.Plan, step.plan) || !slices.Equal(facts.Files, step.files) {
			t.Errorf("facts %+v, want plan %q and files %q", facts, step.plan, step.files)
		}
	}
}

func TestUndo_ChangesNoFilesOfAnotherDirectory(t *testing.T) {
	d := &desk{files: map[string]string{"a": "mine"}, kept: []map[string]string{{"a": "theirs"}}}
	kept := event.Checkpoint{ID: "1", Dir: "/elsewhere", Files: 1}
	s := tookUp(t, llmtest.Play(), func(c *Config) { c.Checkpoints = d }, logged(begun, asked, kept, over)...)
	if u, err := s.Undo(t.Context(), Parts{Chat: true, Files: true}); !errors.Is(err, ErrElsewhere) || u.Chat || u.Files || len(u.Changed) > 0 {
		t.Errorf("got %+v, %v, want ErrElsewhere and nothing done", u, err)
	}
	if d.files["a"] != "mine" || len(s.Messages()) != 2 {
		t.Errorf("the file is %q and the conversation has %d messages, want mine and 2", d.files["a"], len(s.Messages()))
	}
}
