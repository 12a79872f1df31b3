//go:build unix

package tui

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/theme"
)

// colored waits until the terminal was sent a color since a position, and returns the position after it.
func (r *rig) colored(from int, sgr string) int {
	r.t.Helper()
	at := 0
	r.until("the color "+sgr, func(string) bool {
		at = from + strings.Index(r.all.String()[from:], sgr)
		return at >= from
	})
	return at + len(sgr)
}

func TestTheme_FollowsTheTerminalWhileItRuns(t *testing.T) {
	t.Parallel()
	const onDark, onLight = "38;2;1;2;250", "38;2;3;4;140"
	file, err := theme.Read("mine.toml", []byte("[dark]\ndim = '#0102fa'\n[light]\ndim = '#03048c'\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, 80, 24, func(_ *rig, o *Options) {
		o.Colors = file
		o.Getenv = func(name string) string {
			return map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}[name]
		}
	})
	at := r.colored(0, onDark)
	r.press("\x1b[?2031;2$y") // the terminal reports changes
	r.until("the mode", func(string) bool { return r.screen.Modes["?2031"] })
	for _, change := range []struct{ report, color string }{
		{"\x1b[?997;2n", onLight},
		{"\x1b[?997;1n", onDark},
		{"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", onLight},
	} {
		r.press(change.report)
		at = r.colored(at, change.color)
	}
	r.press(ctrlQ)
	r.quits()
	r.until("the end of the mode", func(string) bool { return !r.screen.Modes["?2031"] })
}
