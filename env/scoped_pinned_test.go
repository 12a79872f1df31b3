package env_test

import (
	"testing"

	"github.com/reins-agent/reins/env"
)

func TestScoped_ItsOwnDirectoryIsInside(t *testing.T) {
	e := newLocal(t)
	if err := e.WriteFile(t.Context(), "sub/f", []byte("f"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := env.Scoped(e, "sub")
	for _, path := range []string{".", s.Info().Dir, "x/.."} {
		if info, err := s.Lstat(t.Context(), path); err != nil || !info.IsDir() {
			t.Errorf("Lstat %s: %+v, %v, want a directory", path, info, err)
		}
	}
}
