package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/hook"
)

func TestLoad_EveryEventOfHooksIsAccepted(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	for _, e := range hook.Events() {
		fmt.Fprintf(&text, "[[hooks]]\nevent = %q\ncommand = \"true\"\non_error = \"allow\"\n", e)
	}
	w.write(config.LayerUser, text.String())
	if n := len(w.load().Hooks); n != 24 {
		t.Errorf("%d hooks, want 24", n)
	}
}
