package wire

import (
	"testing"
	"time"
)

// TestWatch_NothingLeadsBackFromTheIdlePhase is about transports that report a request as written
// when its answer has begun.
func TestWatch_NothingLeadsBackFromTheIdlePhase(t *testing.T) {
	w := newWatch(t.Context(), Limits{Connect: time.Hour, FirstByte: time.Hour, Idle: time.Hour}, true)
	defer w.stop()
	w.enter(w.first)
	w.enter(w.idle)
	w.enter(w.first)
	if w.phase.Load() != w.idle {
		t.Errorf("the phase is %q", w.phase.Load().what)
	}
}
