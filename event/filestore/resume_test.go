package filestore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// conversation saves a session with one answer. It returns the configuration to resume it, its store and its log.
func conversation(t *testing.T) (agent.Config, *filestore.Store, string) {
	t.Helper()
	dir := t.TempDir()
	place, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { place.Close() })
	store, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.Play(llmtest.Say("One."), llmtest.Say("Two."))
	c := agent.Config{ID: "a", Client: model, Model: "m", Env: place, Store: store}
	s, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Submit(t.Context(), llm.Text{Text: "Count."})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return c, store, filepath.Join(dir, "a", "log.jsonl")
}

func TestResume_LostEndIsRefusedUnlessDamageIsSkipped(t *testing.T) {
	c, store, log := conversation(t)
	before, err := store.Meta(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.Index(all, []byte(`{"seq":4`))
	if err := os.Truncate(log, int64(cut)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := agent.Resume(t.Context(), c)
		var damage *event.CorruptError
		if !errors.As(err, &damage) || damage.Offset != int64(cut) {
			t.Fatalf("%v", err)
		}
	}
	c.SkipDamaged = true
	s, err := agent.Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Submit(t.Context(), llm.Text{Text: "Go on."})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	var seqs []event.Seq
	for r, err := range store.Load(t.Context(), "a", 0) {
		if err != nil {
			damaged++
			continue
		}
		seqs = append(seqs, r.Seq)
	}
	if damaged != 1 || len(seqs) < 5 || seqs[2] != 3 || seqs[3] != before.Last+1 {
		t.Errorf("the records are %v, and %d are damaged", seqs, damaged)
	}
	if r, err := store.Verify(t.Context(), "a"); err != nil || r.Clean() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestResume_MissingLogIsRefused(t *testing.T) {
	c, _, log := conversation(t)
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	for _, c.SkipDamaged = range []bool{false, true} {
		_, err := agent.Resume(t.Context(), c)
		var damage *event.CorruptError
		if !errors.As(err, &damage) {
			t.Errorf("%v", err)
		}
	}
}
