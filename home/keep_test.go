package home

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenCheckpoints_Keeps200(t *testing.T) {
	state, work := t.TempDir(), t.TempDir()
	store, err := Dir(state).OpenCheckpoints(work)
	if err != nil {
		t.Fatal(err)
	}
	place, err := Dir(state).checkpointsOf(work)
	if err != nil {
		t.Fatal(err)
	}
	// Empty records count like real checkpoints.
	records := filepath.Join(place, "checkpoints")
	for i := range 199 {
		if err := os.WriteFile(filepath.Join(records, fmt.Sprintf("%010d-00000000", i+1)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{200, 175} {
		if err := os.WriteFile(filepath.Join(work, "f"), []byte(fmt.Sprint(want)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Take(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(records)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != want {
			t.Errorf("got %d checkpoints, want %d", len(list), want)
		}
	}
}
