package plain

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/command"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// desk is a session in lines, with a scripted model.
type desk struct {
	t          *testing.T
	dir, state string
	script     *llmtest.Script
	opts       Options
	keys       *io.PipeWriter
	interrupts chan os.Signal
	ended      chan error

	mu    sync.Mutex
	shown strings.Builder
	from  int // what was awaited before
}

func newDesk(t *testing.T, turns ...llmtest.Turn) *desk {
	d := &desk{
		t:          t,
		dir:        t.TempDir(),
		state:      t.TempDir(),
		script:     llmtest.Play(turns...),
		interrupts: make(chan os.Signal),
		ended:      make(chan error, 1),
	}
	d.opts.Handle = openSession(t, d.dir, d.state, d.script, "")
	return d
}

// openSession opens a new session, or a saved one with an ID.
func openSession(t *testing.T, dir, state string, model llm.Provider, id string) session.Handle {
	t.Helper()
	store, err := filestore.New(filestore.Config{Dir: home.Dir(state).Sessions()})
	if err != nil {
		t.Fatal(err)
	}
	manager := &session.Manager{Store: store, Home: home.Dir(state)}
	h, err := session.Open(context.Background(), coding.Config{
		Provider: "script",
		Model:    "model",
		Dir:      dir,
		State:    state,
		Tier:     "all",
		Resume:   id,
		Session:  agent.Config{Client: model, Store: store, ContextWindow: 200_000},
	}, session.Options{
		Manager:  manager,
		Registry: command.New(command.Host{Sessions: manager, Models: llm.DefaultCatalogue()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// start starts it on a pipe.
func (d *desk) start() *desk {
	r, w := io.Pipe()
	d.keys = w
	d.opts.In, d.opts.Out, d.opts.Interrupts = r, d, d.interrupts
	go func() {
		h, err := Run(d.t.Context(), d.opts)
		if h != d.opts.Handle {
			h.Close()
		}
		d.ended <- err
	}()
	d.t.Cleanup(func() { w.Close() })
	return d
}

func (d *desk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.Write(b)
}

func (d *desk) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.String()
}

// patient is how long to wait for something that happens.
const patient = time.Minute

// await waits until a text is shown after what was awaited before.
func (d *desk) await(text string) {
	d.t.Helper()
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		shown := d.text()
		if i := strings.Index(shown[d.from:], text); i >= 0 {
			d.from += i + len(text)
			return
		}
	}
	d.t.Fatalf("%q was not shown after %q", text, d.text()[:d.from]+"|"+d.text()[d.from:])
}

// press types lines.
func (d *desk) press(lines string) {
	d.t.Helper()
	if _, err := io.WriteString(d.keys, lines); err != nil {
		d.t.Fatal(err)
	}
}

// end waits for the end, and returns what was shown.
func (d *desk) end() string {
	d.t.Helper()
	select {
	case err := <-d.ended:
		if err != nil {
			d.t.Errorf("it ended with %v", err)
		}
	case <-time.After(patient):
		d.t.Fatalf("it does not end: %q", d.text())
	}
	return d.text()
}

// requests returns the last message of each request.
func (d *desk) requests() (list []string) {
	for _, r := range d.script.Requests() {
		b, err := json.Marshal(r.Messages[len(r.Messages)-1])
		if err != nil {
			d.t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

func call(line string) llmtest.Turn {
	args, _ := json.Marshal(map[string]string{"command": line})
	return llmtest.Call("shell", string(args))
}

func TestRun_ShowsEachItemOnceAndSaysWhenItIsReady(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Say("Hello.\n\nI am **here**."), llmtest.Say("Again.")).start()
	d.await("Type a prompt, or /help.\nReady.\n")
	d.press("Say hello\n")
	d.await("Hello.\n\nI am **here**.\nReady.\n")
	d.press("And \\\nagain\n")
	d.await("Again.\nReady.\n")
	d.keys.Close()
	shown := d.end()
	if strings.Count(shown, "Hello.") != 1 || strings.Contains(shown, "You:") || strings.Count(shown, Ready) != 3 {
		t.Errorf("it shows %q", shown)
	}
	if got := d.requests(); !strings.Contains(got[1], `And \nagain`) {
		t.Errorf("the model got %q", got)
	}
}

func TestRun_ReadsAPipeToItsEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Say("Done it."))
	d.opts.In, d.opts.Out, d.opts.Echo = strings.NewReader("Do it"), d, true
	if _, err := Run(t.Context(), d.opts); err != nil || !strings.HasSuffix(d.text(), "You: Do it\nDone it.\nReady.\n") {
		t.Errorf("got %v, it shows %q", err, d.text())
	}
}

func TestRun_AsksWithNumbers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct{ shown, told string }{
		"1":         {"Done: write_file a.txt", ""},
		"yes":       {"Done: write_file a.txt", ""},
		"use b.txt": {"Refused: write_file a.txt", "the user said: use b.txt"},
		"no":        {"Refused: write_file a.txt", "the user said no"},
		"9\nx\n\n1": {"Done: write_file a.txt", ""},
		"/queue\n1": {"Done: write_file a.txt", ""},
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, llmtest.Call("write_file", `{"file_path":"a.txt","content":"made\n"}`), llmtest.Say("Well.")).start()
			d.press("Make a.txt\n")
			d.await("The agent asks: write_file a.txt\n")
			d.await("+made\n1. yes, once\n")
			for line := range strings.SplitSeq(answer, "\n") {
				d.await(Allow + " Answer with a number from 1 to ")
				d.press(line + "\n")
			}
			d.await(want.shown)
			d.await(Ready)
			if got := strings.Join(d.requests(), "\n"); !strings.Contains(got, want.told) {
				t.Errorf("the model got %s", got)
			}
			_, err := os.Stat(filepath.Join(d.dir, "a.txt"))
			if made := err == nil; made != strings.HasPrefix(want.shown, "Done") {
				t.Errorf("the file was made: %v", made)
			}
		})
	}
}

func TestRun_AQuestionOutlastsAnInterrupt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Call("write_file", `{"file_path":"a.txt","content":"made\n"}`), llmtest.Say("Well.")).start()
	d.press("Make a.txt\n")
	d.await(Allow)
	d.interrupts <- os.Interrupt
	d.await("The question stays open. Your next prompt or /continue asks it again.\n")
	d.await("Interrupted. Ready.\n")
	d.press("/continue\n")
	d.await(Allow)
	d.press("1\n")
	d.await("Done: write_file a.txt")
	d.await("Well.\nReady.\n")
}

func TestRun_APromptAfterAnInterruptAsksAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Call("write_file", `{"file_path":"a.txt","content":"made\n"}`), llmtest.Say("Well.")).start()
	d.press("Make a.txt\n")
	d.await(Allow)
	d.press("/interrupt\n")
	d.await("Interrupted. Ready.\n")
	d.press("Something else\n")
	d.await(Allow)
	d.press("no\n")
	d.await("Refused: write_file a.txt")
	d.await("Well.\nReady.\n")
}

func TestRun_LinesFromBeforeTheQuestionDoNotAnswerIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Call("write_file", `{"file_path":"a.txt","content":"made\n"}`), llmtest.Say("Well.")).start()
	d.await(Ready)
	d.press("Make a.txt\n1\ny\nyes\n")
	d.await("The agent asks: ")
	d.press("1\ny\n") // ignored, or sent to the agent if the question is not asked yet
	d.await(Allow)
	if _, err := os.Stat(filepath.Join(d.dir, "a.txt")); err == nil {
		t.Error("the question was answered")
	}
	d.press("2\n")
	d.await("Well.")
}

func TestRun_AsksTheModelsQuestions(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Call("ask_user", `{"question":"Which colour?","options":[{"label":"red"},{"label":"blue"}]}`),
		llmtest.Say("Blue it is."), llmtest.Say("And on.")).start()
	d.press("Paint it\n")
	d.await("Which colour?\n1. red\n2. blue\n")
	d.press("then stop\n") // too early for an answer
	d.await("Answer the question first. The agent gets this afterwards: then stop\n")
	d.await("Answer with a number, or in your words: ")
	d.press("2\n")
	d.await("Blue it is.")
	d.await("And on.\nReady.\n")
	if got := d.requests(); !strings.Contains(got[1], "blue") || !strings.Contains(got[2], "then stop") {
		t.Errorf("the model got %q", got)
	}
}

func TestRun_SteersAndQueues(t *testing.T) {
	t.Parallel()
	d := newDesk(t, call("touch begun; while [ ! -e go ]; do sleep 0.01; done"), llmtest.Say("First."), llmtest.Say("Second.")).start()
	d.press("Begin\n")
	d.await(Allow)
	d.press("1\n")
	d.press("in blue\n")
	d.await("Sent to the agent, which reads it with its next step.\n")
	d.press("/later then red\n")
	d.await("Queued for the time when the agent is done.\n")
	if err := os.WriteFile(filepath.Join(d.dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d.await("First.\n")
	d.await("Second.\nReady.\n")
	if got := d.requests(); !strings.Contains(got[1], "in blue") || !strings.Contains(got[2], "then red") {
		t.Errorf("the model got %q", got)
	}
}

func TestRun_CtrlCInterruptsOnceAndQuitsTwice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Turn{Delay: time.Hour}).start()
	d.await(Ready)
	d.interrupts <- os.Interrupt
	d.await("Press ctrl-c again to quit.\n")
	d.press("Begin\n")
	d.press("\n") // the prompt was handled when this line is
	d.interrupts <- os.Interrupt
	d.await("Interrupted. Ready.\n")
	d.interrupts <- os.Interrupt
	d.end()
}

func TestRun_TheUsersCommandsJoinTheConversation(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Say("I see.")).start()
	d.await(Ready)
	d.press("!printf 'a\\033[2Jb\\n'; pwd; exit 3\n")
	d.await("a\uFFFD[2Jb\n" + d.dir)
	d.await(Ready)
	d.press("What was that?\n")
	d.await("I see.\nReady.\n")
	if got := d.requests(); len(got) != 1 || !strings.Contains(got[0], "exit status 3") || !strings.Contains(got[0], "What was that?") {
		t.Errorf("the model got %q", got)
	}
}

func TestRun_OpensOtherSessionsAndResumes(t *testing.T) {
	t.Parallel()
	d := newDesk(t, llmtest.Say("The first answer."), llmtest.Say("The second answer."))
	first := d.opts.Handle.ID()
	d.opts.Open = func(ctx context.Context, id string) (session.Handle, error) {
		return openSession(t, d.dir, d.state, d.script, id), nil
	}
	d.start()
	d.press("one\n")
	d.await("The first answer.\nReady.\n")
	d.press("/new\n")
	d.await("Session ")
	d.await(Ready)
	d.press("two\n")
	d.await("The second answer.\nReady.\n")
	d.press("/resume\n")
	d.await("Type /resume and an ID to open a session.\n")
	d.press("/resume " + first + "\n")
	d.await("Session " + first)
	d.await("You: one\nThe first answer.\nReady.\n")
	d.press("/quit\n")
	if shown := d.end(); strings.Contains(shown, "Error") {
		t.Errorf("it shows %q", shown)
	}
}

func TestRun_HelpListsCommandsAndLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t).start()
	d.press("/help\n")
	d.await("/compact ")
	d.await("!COMMAND ")
	d.await(Ready)
	d.press("/nonsense\n")
	d.await(`Error: `)
	d.await(Ready)
}

func TestRun_NoControlCharacterReachesTheOutput(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;title\a\r\b\x9b31m\u202e\u200b"
	d := newDesk(t, llmtest.Call("shell", `{"command":"echo `+`\u001b[2J\u202e"}`), llmtest.Say("Evil: "+evil), llmtest.Fail(400)).start()
	d.press("Go" + evil + "\n")
	d.await(Allow)
	d.press("n\n")
	d.await("Evil: ")
	d.await(Ready)
	d.press("Fail\n")
	d.await("The work failed")
	d.press("/quit\n")
	for _, r := range d.end() {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%q reached the output: %q", r, d.text())
		}
	}
}

func TestDue_AfterTenSecondsAndThenEverMoreSeldom(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var got []int
	told := since
	for s := range 3000 {
		if now := since.Add(time.Duration(s) * time.Second); due(since, told, now) {
			told = now
			got = append(got, s)
		}
	}
	want := []int{10, 20, 40, 80, 160, 320, 640, 1240, 1840, 2440}
	if len(got) != len(want) {
		t.Fatalf("described after %v seconds, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("described after %v seconds, want %v", got, want)
			break
		}
	}
}

func TestActivityText(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := view.Activity{Doing: view.DoingTool, Title: "shell go test", Count: 3, Since: now.Add(-10 * time.Second)}
	if got, want := activityText(a, now), "running: shell go test and 2 more (10s)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
