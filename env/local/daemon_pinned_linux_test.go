package local_test

import (
	"testing"

	"github.com/reins-agent/reins/env/local"
)

// A daemon has closed its files and left its session: when its command has ended, nothing points to it any
// more but the mark in its environment.
func TestClose_EndsADaemonWhoseCommandEndedBefore(t *testing.T) {
	e := newEnv(t, local.Config{})
	p := runStubborn(t, t.Context(), e, stubborn["Daemon"])
	if x := wait(t, p); x.Orphans != 0 {
		t.Fatalf("%d orphans were seen, want 0", x.Orphans)
	}
	await(t, "the daemon runs", func() bool { return len(inDir(e.Info().Dir)) == 1 })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	nobodyLeft(t, e.Info().Dir)
}
