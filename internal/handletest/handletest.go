// Package handletest tests implementations of session.Handle. All of them must pass it.
package handletest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// Open returns a handle for a session of this process, and how to end it.
type Open func(t *testing.T, local *session.Local) session.Handle

// Run runs all tests.
func Run(t *testing.T, open Open) {
	for name, f := range map[string]func(*testing.T, *rig){
		"AnApprovalWaitsForItsAnswer":         approval,
		"ARefusalReachesTheModel":             refusal,
		"ACommandIsEditedAndAllowed":          edited,
		"TheFirstAnswerCounts":                firstAnswer,
		"AnApprovalCanCoverSimilarCalls":      grant,
		"ALateAnswerSavesNoRules":             lateRules,
		"MessagesSteerAndFollow":              messages,
		"TheQueueCanBeEdited":                 queue,
		"TheModelAsks":                        question,
		"UndoPreviewsAndKeepsOthersChanges":   undo,
		"SettingsChange":                      settings,
		"CommandsRun":                         commands,
		"SubagentsAreListed":                  subagents,
		"OtherQuestionsAreAnswered":           inquiries,
		"PathsAreCompleted":                   completion,
		"ErrorsAreTheSame":                    mistakes,
		"WorkIsInterruptedAndContinued":       interruption,
		"BackgroundCommandsAreReadAndStopped": background,
		"AFaceDrivesAWholeSession":            wholeSession,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newRig(t, open))
		})
	}
}

// rig is a session with a scripted model.
type rig struct {
	session.Handle
	t      *testing.T
	dir    string
	script *llmtest.Script
	local  *session.Local
	saving sync.Mutex
	rules  []string // saved
}

func newRig(t *testing.T, open Open) *rig {
	r := &rig{t: t, dir: t.TempDir(), script: llmtest.Play()}
	state := home.Dir(t.TempDir())
	store, err := filestore.New(filestore.Config{Dir: state.Sessions()})
	if err != nil {
		t.Fatal(err)
	}
	r.local, err = session.Open(t.Context(), coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      r.dir,
		State:    string(state),
		Tier:     "all",
		Session: agent.Config{
			Client:        r.script,
			Store:         store,
			ContextWindow: 200_000,
		},
	}, session.Options{
		Manager: &session.Manager{Store: store, Home: state},
		Places:  []ask.Place{{Layer: "personal", File: "config.toml"}},
		Save: func(layer string, rules []string) error {
			r.saving.Lock()
			defer r.saving.Unlock()
			r.rules = append(r.rules, rules...)
			return nil
		},
		Registry: command.New(command.Host{Models: llm.DefaultCatalogue()}),
		Commands: func() []session.Command {
			return []session.Command{{Name: "shout", Summary: "Say it louder", Source: session.SourceSkill}}
		},
		Submit: func(ctx context.Context, s *agent.Session, text string, more ...llm.Part) (agent.Outcome, error) {
			if rest, ok := strings.CutPrefix(text, "/shout "); ok {
				text = strings.ToUpper(rest)
			}
			return s.Submit(ctx, append([]llm.Part{llm.NewText(text)}, more...)...)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.local.Close() })
	r.Handle = open(t, r.local)
	return r
}

func (r *rig) play(turns ...llmtest.Turn) { r.script.Turns = append(r.script.Turns, turns...) }

// check stops the test if there is an error.
func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// until returns the screen once f holds for it, folded from the events.
func (r *rig) until(f func(*view.State) bool) *view.State {
	r.t.Helper()
	s, err := r.Snapshot(r.t.Context())
	r.check(err)
	if f(s) {
		return s
	}
	for rec, err := range r.Events(r.t.Context(), s.Last()) {
		r.check(err)
		if s.Apply(rec); f(s) {
			return s
		}
	}
	r.t.Fatalf("the events ended with %s", r.screen(s))
	return nil
}

func (r *rig) screen(s *view.State) string {
	b, _ := json.MarshalIndent(s.Screen(), "", " ")
	return string(b)
}

// asked returns the first question that waits.
func (r *rig) asked() ask.Question {
	r.t.Helper()
	r.until(func(s *view.State) bool { return len(ask.Waiting(s)) > 0 })
	list, err := r.Questions(r.t.Context())
	r.check(err)
	if len(list) == 0 {
		r.t.Fatal("no question waits")
	}
	return list[0]
}

// done waits for the end of the work.
func (r *rig) done() session.Outcome {
	r.t.Helper()
	out, err := r.Wait(r.t.Context())
	r.check(err)
	return out
}

func (r *rig) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.dir, name))
	return string(b)
}

func write(path, content string) llmtest.Turn {
	args, _ := json.Marshal(map[string]string{"file_path": path, "content": content})
	return llmtest.Call("write_file", string(args))
}

func approval(t *testing.T, r *rig) {
	r.play(write("a.txt", "made\n"), llmtest.Say("I made it."))
	r.check(r.Submit(t.Context(), session.Input{Text: "Make a.txt"}))
	q := r.asked()
	if q.Kind != ask.Approval || !strings.Contains(q.Diff, "+made") || q.Choices[0].Key != "y" || r.file("a.txt") != "" {
		t.Errorf("asked %+v with the file %q", q, r.file("a.txt"))
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: "y"}))
	if out := r.done(); out.Status != event.StatusDone || out.Text != "I made it." || out.Err() != nil {
		t.Errorf("the outcome is %+v", out)
	}
	if r.file("a.txt") != "made\n" {
		t.Errorf("the file is %q", r.file("a.txt"))
	}
	s := r.until(func(s *view.State) bool { return s.Stop().Outcome != "" })
	var live view.State
	for rec, err := range r.Events(t.Context(), 0) {
		r.check(err)
		if live.Apply(rec); live.Last() == s.Last() {
			break
		}
	}
	if diff := cmp.Diff(s.Screen().Items, live.Screen().Items); diff != "" {
		t.Errorf("the events show something else than the snapshot (-snapshot +events):\n%s", diff)
	}
}

func edited(t *testing.T, r *rig) {
	r.play(llmtest.Call("shell", `{"command":"touch one"}`), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Touch it"}))
	q := r.asked()
	args, ok := q.Edit("touch two && touch 'the <end>'")
	if !ok {
		t.Fatalf("the question has no command to edit: %+v", q)
	}
	for _, c := range q.Choices { // only once
		if c.Scope != "" && r.Answer(t.Context(), q.ID, ask.Answer{Choice: c.Key, Args: args}) == nil {
			t.Fatalf("choice %s takes changed arguments", c.Key)
		}
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: "y", Args: args}))
	r.done()
	for name, want := range map[string]bool{"one": false, "two": true, "the <end>": true} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", name, err == nil, want)
		}
	}
}

func refusal(t *testing.T, r *rig) {
	r.play(write("a.txt", "made\n"), llmtest.Say("I did not."))
	r.check(r.Submit(t.Context(), session.Input{Text: "Make a.txt"}))
	r.check(r.Answer(t.Context(), r.asked().ID, ask.Answer{Choice: "n", Text: "use b.txt"}))
	if out := r.done(); out.Status != event.StatusDone || len(out.Refused) != 1 {
		t.Errorf("the outcome is %+v", out)
	}
	requests := r.script.Requests()
	last := requests[len(requests)-1].Messages
	if b, _ := json.Marshal(last[len(last)-1]); !strings.Contains(string(b), "the user said: use b.txt") || r.file("a.txt") != "" {
		t.Errorf("the model was told %s", b)
	}
}

func firstAnswer(t *testing.T, r *rig) {
	r.play(write("a.txt", "made\n"), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Make a.txt"}))
	q := r.asked()
	results := make(chan error, 8)
	for i := range cap(results) {
		go func() { results <- r.Answer(t.Context(), q.ID, ask.Answer{Choice: []string{"y", "n"}[i%2]}) }()
	}
	won := 0
	for range cap(results) {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, session.ErrAnswered):
			t.Errorf("a late answer failed with %v", err)
		}
	}
	if r.done(); won != 1 {
		t.Errorf("%d answers counted", won)
	}
}

func grant(t *testing.T, r *rig) {
	bash := func(line string) llmtest.Turn {
		args, _ := json.Marshal(map[string]string{"command": line})
		return llmtest.Call("shell", string(args))
	}
	r.play(bash("touch one"), bash("touch two"), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Touch them"}))
	q := r.asked()
	i := slices.IndexFunc(q.Choices, func(c ask.Choice) bool { return c.Save == "personal" })
	if i < 0 || !slices.ContainsFunc(q.Rows, func(row ask.Row) bool { return row.Kind == ask.RowCommand && row.Text == "touch one" }) {
		t.Fatalf("asked %+v, want the command and a choice that saves rules", q)
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: q.Choices[i].Key}))
	r.done()
	if _, err := os.Stat(filepath.Join(r.dir, "two")); err != nil || !slices.Equal(r.rules, []string{"Bash(touch:*)"}) {
		t.Errorf("the rules %q were saved; the second command: %v", r.rules, err)
	}
}

func lateRules(t *testing.T, r *rig) {
	args, _ := json.Marshal(map[string]string{"command": "touch one"})
	r.play(llmtest.Call("shell", string(args)), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Touch it"}))
	q := r.asked()
	i := slices.IndexFunc(q.Choices, func(c ask.Choice) bool { return c.Save == "personal" })
	results := make(chan error, 8)
	for range cap(results) {
		go func() { results <- r.Answer(t.Context(), q.ID, ask.Answer{Choice: q.Choices[i].Key}) }()
	}
	won := 0
	for range cap(results) {
		if <-results == nil {
			won++
		}
	}
	if r.done(); won != 1 || !slices.Equal(r.rules, []string{"Bash(touch:*)"}) {
		t.Errorf("%d answers counted, and the rules %q were saved", won, r.rules)
	}
}

func messages(t *testing.T, r *rig) {
	r.play(write("a.txt", "x"), llmtest.Say("first"), llmtest.Say("second"))
	r.check(r.Submit(t.Context(), session.Input{Text: "/shout begin"}))
	q := r.asked()
	if err := r.Submit(t.Context(), session.Input{Text: "more"}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("a second input failed with %v", err)
	}
	r.check(r.Steer(t.Context(), session.Input{Text: "in blue"}))
	r.check(r.FollowUp(t.Context(), session.Input{Text: "then red"}))
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: "y"}))
	r.done()
	var said []string
	s := r.until(func(s *view.State) bool { return s.Stop().Outcome != "" && len(s.Queue()) == 0 })
	for _, item := range s.Items(0, s.Len()) {
		if item.Kind == view.KindInput || item.Kind == view.KindText {
			said = append(said, item.Text)
		}
	}
	if want := []string{"BEGIN", "in blue", "first", "then red", "second"}; !slices.Equal(said, want) {
		t.Errorf("the conversation is %q, want %q", said, want)
	}
}

func question(t *testing.T, r *rig) {
	r.play(
		llmtest.Call("ask_user", `{"question":"Which colour?","options":[{"label":"red"},{"label":"blue"}]}`),
		llmtest.Say("Blue it is."),
	)
	r.check(r.Submit(t.Context(), session.Input{Text: "Paint it"}))
	if out := r.done(); out.Status != event.StatusAwaitingInput {
		t.Fatalf("the outcome is %+v", out)
	}
	q := r.asked()
	if q.Kind != ask.Input || len(q.Items) != 1 || len(q.Items[0].Options) != 2 {
		t.Errorf("asked %+v", q)
	}
	if err := r.Answer(t.Context(), q.ID, ask.Answer{Replies: []ask.Reply{{Chosen: []string{"green"}}}}); err == nil {
		t.Error("an option that does not exist was accepted")
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Replies: []ask.Reply{{Chosen: []string{"blue"}}}}))
	if out := r.done(); out.Text != "Blue it is." {
		t.Errorf("the outcome is %+v", out)
	}
}

func undo(t *testing.T, r *rig) {
	r.play(write("a.txt", "by the agent\n"), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Make a.txt"}))
	r.check(r.Answer(t.Context(), r.asked().ID, ask.Answer{Choice: "y"}))
	r.done()
	r.check(os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("by the user\n"), 0o644))
	p, err := r.Undo(t.Context(), session.UndoOptions{DryRun: true})
	r.check(err)
	if len(p.Conflicts) != 1 || p.Conflicts[0].Path != "a.txt" || p.Prompt != "Make a.txt" || r.file("a.txt") != "by the user\n" {
		t.Errorf("the preview is %+v", p)
	}
	if _, err := r.Undo(t.Context(), session.UndoOptions{}); err == nil || r.file("a.txt") != "by the user\n" {
		t.Errorf("the undo overwrote the user's change, error %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.Undo(t.Context(), session.UndoOptions{Others: session.Ask})
		done <- err
	}()
	q := r.asked()
	if q.Kind != ask.Kind(event.QuestionOverwrite) {
		t.Errorf("asked %+v", q)
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: "overwrite"}))
	r.check(<-done)
	if r.file("a.txt") != "" {
		t.Errorf("the file is %q after the undo", r.file("a.txt"))
	}
	back, err := r.Redo(t.Context(), session.UndoOptions{})
	if r.check(err); r.file("a.txt") != "by the user\n" || len(back.Changed) != 1 || back.Changed[0].Path != "a.txt" {
		t.Errorf("the file is %q after the redo %+v", r.file("a.txt"), back)
	}
}

func settings(t *testing.T, r *rig) {
	before, err := r.Info(t.Context())
	r.check(err)
	if before.Dir != r.dir || before.State != event.StateIdle || before.Model != "model" || before.Mode != policy.ModeDefault ||
		!before.Saved {
		t.Errorf("the session is %+v", before)
	}
	r.check(r.Reconfigure(t.Context(), session.Settings{Mode: policy.ModeAcceptEdits}))
	after, err := r.Info(t.Context())
	r.check(err)
	if after.Mode != policy.ModeAcceptEdits || after.Last <= before.Last {
		t.Errorf("the session is %+v", after)
	}
	r.play(write("a.txt", "x"), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Make a.txt"}))
	if r.done(); r.file("a.txt") != "x" {
		t.Error("the edit was not accepted in mode acceptEdits")
	}
}

func commands(t *testing.T, r *rig) {
	list, err := r.Commands(t.Context())
	r.check(err)
	for _, want := range []session.Command{
		{Name: "shout", Summary: "Say it louder", Source: session.SourceSkill},
		{Name: "exit", Aliases: []string{"quit"}, Summary: "Close the session", Source: session.SourceBuiltin},
	} {
		if !slices.ContainsFunc(list, func(c session.Command) bool { return cmp.Equal(c, want) }) {
			t.Errorf("the commands are %+v, want also %+v", list, want)
		}
	}
	res, err := r.Run(t.Context(), "/mode plan")
	r.check(err)
	if i, err := r.Info(t.Context()); err != nil || i.Mode != policy.ModePlan || !strings.Contains(res.Text, "plan") {
		t.Errorf("the command shows %+v, and the mode is %s (%v)", res, i.Mode, err)
	}
	res, err = r.Run(t.Context(), "/status")
	if r.check(err); len(res.Tables) != 1 || len(res.Tables[0].Rows) == 0 {
		t.Errorf("the status is %+v", res)
	}
	res, err = r.Run(t.Context(), "/shout it")
	r.check(err)
	if want := (session.Result{Action: session.ActionSubmit, Submit: &session.Input{Text: "/shout it"}}); !cmp.Equal(res, want) {
		t.Errorf("a prompt becomes %+v", res)
	}
	_, err = r.Run(t.Context(), "/mdoe")
	if unknown, ok := errors.AsType[*session.UnknownCommandError](err); !ok || !slices.Contains(unknown.Near, "mode") {
		t.Errorf("an unknown command failed with %v", err)
	}
	_, err = r.Run(t.Context(), "/diff")
	if _, ok := errors.AsType[*session.UnavailableError](err); !ok {
		t.Errorf("a command that is not available failed with %v", err)
	}
	r.check(r.Submit(t.Context(), session.Input{Text: "/mode default"}))
	if i, err := r.Info(t.Context()); err != nil || i.Mode != policy.ModeDefault {
		t.Errorf("the mode is %s (%v)", i.Mode, err)
	}
	words, err := r.Complete(t.Context(), session.Completion{Text: "/mode acc", Command: true})
	if r.check(err); !slices.Equal(words, []string{"acceptEdits"}) {
		t.Errorf("completed to %q", words)
	}
	title := "Fix it"
	r.check(r.Reconfigure(t.Context(), session.Settings{Title: &title}))
	if i, err := r.Info(t.Context()); err != nil || i.Title != title {
		t.Errorf("the title is %q (%v)", i.Title, err)
	}
}

// delegating plays a model that lets a subagent count files.
func (r *rig) delegating() {
	r.script.Reply = func(_ int, q *llm.Request) llmtest.Turn {
		text := ""
		for _, m := range q.Messages {
			b, _ := json.Marshal(m)
			text += string(b) + "\n"
		}
		switch {
		case strings.Contains(text, "count the files") && !strings.Contains(text, "Delegate it"):
			return llmtest.Say("There are none.")
		case strings.Count(text, "There are none.") > 0:
			return llmtest.Say("None.")
		case q.Messages[len(q.Messages)-1].Role == llm.RoleTool:
			return llmtest.Call("wait", `{"agent_id":"1"}`)
		}
		return llmtest.Call("spawn_agent", `{"task":"count the files"}`)
	}
}

func subagents(t *testing.T, r *rig) {
	r.delegating()
	r.check(r.Submit(t.Context(), session.Input{Text: "Delegate it"}))
	r.done()
	list, err := r.Agents(t.Context())
	r.check(err)
	if len(list) != 2 || list[1].Path != "1" || !strings.Contains(list[1].Task, "count the files") {
		t.Errorf("the agents are %+v", list)
	}
	if err := r.StopAgent(t.Context(), "nobody"); err == nil {
		t.Error("an unknown agent was stopped")
	}
	s := r.until(func(s *view.State) bool { return len(s.Agents()) == 2 && s.Stop().Outcome != "" })
	if a := s.Agents()[1]; a.Path != "1" {
		t.Errorf("the screen shows %+v", a)
	}
}

func inquiries(t *testing.T, r *rig) {
	type result struct {
		a   event.QuestionAnswered
		err error
	}
	done := make(chan result, 1)
	go func() {
		a, err := r.local.Ask(t.Context(), event.QuestionAsked{
			Type:   event.QuestionForm,
			From:   "tracker",
			Text:   "Which project?",
			Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		})
		done <- result{a, err}
	}()
	q := r.asked()
	if q.Who != "tracker" || q.Title != "Which project?" || len(q.Schema) == 0 {
		t.Errorf("asked %+v", q)
	}
	if err := r.Answer(t.Context(), q.ID, ask.Answer{Values: json.RawMessage(`{"n":"x"}`)}); err == nil {
		t.Error("a value of the wrong type was accepted")
	}
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Values: json.RawMessage(`{"n":3}`)}))
	if got := <-done; got.err != nil || !got.a.Accepted || string(got.a.Values) != `{"n":3}` {
		t.Errorf("got %+v", got)
	}
}

func completion(t *testing.T, r *rig) {
	for _, name := range []string{"main.go", "cmd/main.go", "docs/remains.md", "other.txt"} {
		r.check(os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755))
		r.check(os.WriteFile(filepath.Join(r.dir, name), nil, 0o644))
	}
	got, err := r.Complete(t.Context(), session.Completion{Text: "main"})
	r.check(err)
	if want := []string{"main.go", "cmd/main.go", "docs/remains.md"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []session.Completion{{Text: "main", Limit: -1}, {Text: "/mod", Command: true, Limit: -1}} {
		if got, err := r.Complete(t.Context(), c); err != nil || len(got) == 0 {
			t.Errorf("with a negative limit, %s is completed by %q (%v)", c.Text, got, err)
		}
	}
}

func mistakes(t *testing.T, r *rig) {
	if err := r.Continue(t.Context()); !errors.Is(err, session.ErrNothingToContinue) {
		t.Errorf("continuing a new session failed with %v", err)
	}
	if err := r.Answer(t.Context(), "unknown", ask.Answer{Choice: "y"}); !errors.Is(err, session.ErrAnswered) {
		t.Errorf("answering an unknown question failed with %v", err)
	}
	if err := r.Submit(t.Context(), session.Input{}); err == nil {
		t.Error("an empty input was accepted")
	}
	if err := r.Submit(t.Context(), session.Input{Text: "x", Media: []session.Media{{Type: "audio/wav", Name: "a.wav"}}}); err == nil {
		t.Error("a file that no model reads was accepted")
	}
	if _, err := r.Undo(t.Context(), session.UndoOptions{}); err == nil {
		t.Error("there was something to undo")
	}
	if out, err := r.Wait(t.Context()); err != nil || out.Status != "" {
		t.Errorf("an idle session ended with %+v, error %v", out, err)
	}
}

func interruption(t *testing.T, r *rig) {
	r.play(write("a.txt", "x"), llmtest.Say("done"))
	r.check(r.Submit(t.Context(), session.Input{Text: "Begin"}))
	r.asked()
	r.check(r.Interrupt(t.Context()))
	if out := r.done(); out.Status != event.StatusInterrupted || out.Err() == nil {
		t.Errorf("the outcome is %+v", out)
	}
	q := r.asked() // the call still waits
	r.check(r.Answer(t.Context(), q.ID, ask.Answer{Choice: "y"}))
	if out := r.done(); out.Status != event.StatusDone || r.file("a.txt") != "x" {
		t.Errorf("the outcome is %+v, the file %q", out, r.file("a.txt"))
	}
}
