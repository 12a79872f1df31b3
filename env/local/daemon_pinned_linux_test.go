package local_test

import (
	"testing"

	"github.com/reins-agent/reins/env/local"
)

// A daemon has closed its files and left its session: when its command has ended, nothing points to it any
// more but the mark in its environment.
func TestClose_EndsADaemonWhoseCommandEndedBefore(t *testing.T) {
	e := newEnv(t, local.Config{})
	p := runStubborn(t, t.Context(), e, `setsid sh -c 'exec </dev/null >/dev/null 2>&1; : >ready; exec sleep 600' & until [ -e ready ]; do sleep 0.01; done; echo up`)
	if x := wait(t, p); x.Orphans != 0 {
		t.Fatalf("%d orphans were seen, want 0", x.Orphans)
	}
	if left := inDir(e.Info().Dir); len(left) != 1 {
		t.Fatalf("running: %v, want the daemon", left)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	nobodyLeft(t, e.Info().Dir)
}
