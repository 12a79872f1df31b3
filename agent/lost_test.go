package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// lossy is a store with unreadable records.
type lossy struct {
	event.Store
	lost []event.Seq
}

func (l lossy) Load(ctx context.Context, id string, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range l.Store.Load(ctx, id, after) {
			if err == nil && slices.Contains(l.lost, r.Seq) {
				r, err = event.Record{}, &event.CorruptError{Session: id, Err: errors.New("bad")}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestResume_AnyLostRecordLeavesASessionThatGoesOn(t *testing.T) {
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	whole := &event.Memory{}
	s, err := New(longLife(t, e, whole, &life{ran: map[string]int{}}))
	if err != nil {
		t.Fatal(err)
	}
	submit(t, s, "main")
	submit(t, s, "That one.")
	s.Close()
	all := s.log.Records(0)
	for n := range all {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			store := &event.Memory{}
			put(t, store, all)
			c := longLife(t, e, lossy{store, []event.Seq{event.Seq(n + 1)}}, &life{ran: map[string]int{}})
			c.SkipDamaged, c.System = true, ""
			c.Client = strict{t, &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("Enough.") }}}
			if all[n].Kind() == event.KindSessionStart {
				c.System = "Be good."
			}
			s, err := Resume(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			submit(t, s, "And now?")
		})
	}
}

func TestReplay_QuarantineOfAMessageThatIsNotThereChangesNothing(t *testing.T) {
	log := logged(begun, asked, called, wrote(calledFor("echo", `{"text":"x"}`, "a")...), answered(llm.FinishToolCalls), event.ToolCallEnd{ID: "a"},
		event.Quarantine{Position: 2, Message: llm.UserText("[an image stood here]")})
	if got := step.Messages(log, ""); len(got) != 4 || len(got[2].ToolCalls()) != 1 {
		t.Errorf("%s", sketch(got))
	}
}

// blind is a store whose blobs are gone.
type blind struct{ event.Store }

func (blind) OpenBlob(context.Context, string, string) (io.ReadCloser, error) {
	return nil, fs.ErrNotExist
}

func TestResume_LostImagesAreToldOfOrFailIt(t *testing.T) {
	img := llm.Image{Media: llm.Media{MIME: "image/png", Data: bytes.Repeat([]byte("x"), 5000)}}
	store := &event.Memory{}
	put(t, store, logged(begun, event.UserInput{Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{text("look"), img}}}, called,
		wrote(calledFor("echo", `{"text":"x"}`, "a")...), answered(llm.FinishToolCalls), event.ToolCallEnd{ID: "a", Model: "This:", Images: []llm.Image{img}}))
	_, err := Resume(t.Context(), Config{ID: "life", Store: blind{store}})
	var damage *event.CorruptError
	if !errors.As(err, &damage) {
		t.Errorf("%v", err)
	}
	script := llmtest.Play(llmtest.Say("I see nothing."))
	s := tookUpFrom(t, blind{store}, script, func(c *Config) { c.SkipDamaged = true })
	if _, err := s.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := sketch(script.Requests()[0].Messages); strings.Count(got, "lost") != 2 || strings.Contains(got, "Image") {
		t.Errorf("%s", got)
	}
}

func TestResume_OddLogs(t *testing.T) {
	news := event.Unknown{Name: "FROM_THE_FUTURE", Raw: []byte(`{"a":[1]}`)}
	for name, log := range map[string][]event.Record{
		"empty": nil, "without a start": logged(asked, called, wrote(text("Well.")), answered(llm.FinishStop), over),
		"of a newer version":   logged(begun, news, asked, called, news, wrote(text("Well.")), news, answered(llm.FinishStop), news, over, news),
		"ends in a subagent":   append(logged(begun, asked), of("1/1", event.Record{Seq: 3, Data: begun})...),
		"results of no calls":  logged(begun, event.ToolCallEnd{ID: "x"}, event.ApprovalResolved{ID: "x"}, event.ModelCallEnd{Call: 9}, over),
		"rewind and redo of 0": logged(begun, event.Rewind{Input: 7, Chat: true}, event.Rewind{Input: 7, Chat: true, Redo: true}, event.Compaction{}),
	} {
		store := asWritten{&event.Memory{}}
		put(t, store, log)
		s := tookUpFrom(t, store, llmtest.Play(llmtest.Say("Yes.")), func(c *Config) { c.Model = "m" })
		if out := submit(t, s, "Still there?"); out.Text != "Yes." {
			t.Errorf(`%s: got %+v, want Text "Yes."`, name, out)
		}
		if _, err := Resume(t.Context(), s.config); !errors.Is(err, event.ErrLocked) {
			t.Errorf("%s: somebody else resumes it: %v", name, err)
		}
		s.Close()
		kept := 0
		for r, err := range store.Load(t.Context(), "life", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if u, ok := r.Data.(event.Unknown); ok && string(u.Raw) == string(news.Raw) {
				kept++
			}
		}
		if want := strings.Count(kindsOf(log), "FROM_THE_FUTURE"); kept != want {
			t.Errorf("%s: %d unknown records of %d are kept", name, kept, want)
		}
	}
}

func TestResume_ThatIsGivenUpLeavesTheSessionToOthers(t *testing.T) {
	store := &event.Memory{}
	put(t, store, logged(begun))
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Resume(ctx, Config{ID: "life", Store: giveUp{store, cancel}, Client: llmtest.Play(), Env: tookUp(t, llmtest.Play(), nil, logged(begun)...).config.Env})
	if !errors.Is(err, context.Canceled) || s != nil {
		t.Fatalf("%v, %v", s, err)
	}
	tookUpFrom(t, store, llmtest.Play(), nil)
}

// giveUp is a store whose reader is cancelled when it has read everything.
type giveUp struct {
	event.Store
	cancel context.CancelFunc
}

func (g giveUp) Load(ctx context.Context, id string, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range g.Store.Load(ctx, id, after) {
			if !yield(r, err) {
				return
			}
		}
		g.cancel()
	}
}
