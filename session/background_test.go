//go:build unix

package session_test

import (
	"testing"

	"github.com/reins-agent/reins/event"
)

func TestBackground_ACommandThatHandlesTheSignalEndsWithTheSession(t *testing.T) {
	s := newShelf(t)
	s.run("served",
		`shell {"command":"trap 'exit 0' TERM; touch ready; while :; do sleep 0.02; done","background":true}`,
		`shell {"command":"exit 3","background":true}`,
		`shell_output {"id":"2","wait_ms":60000}`,
		`shell {"command":"until [ -e ready ]; do sleep 0.02; done"}`,
	)
	ended := make(map[string]event.BackgroundEnd)
	for r, err := range s.Store.Load(t.Context(), "served", 0) {
		s.must(err)
		if d, ok := r.Data.(event.BackgroundEnd); ok {
			ended[d.ID] = d
		}
	}
	if d := ended["1"]; d.Stopped != event.StoppedByClose || d.ExitCode != 0 || d.Signal != "" {
		t.Errorf("the command that handles the signal ended with %+v", d)
	}
	if d := ended["2"]; d.Stopped != "" || d.ExitCode != 3 {
		t.Errorf("the command that ended before ended with %+v", d)
	}
}
