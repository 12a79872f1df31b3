package cli

import (
	"github.com/reins-agent/reins/host/show"
	"math"
	"strconv"
	"strings"
	"time"
)

// when is a time as it is shown: how long ago on a terminal, the time itself elsewhere.
func when(h Host, t time.Time) string {
	if isTerminal(h.Stdout) {
		return show.Ago(time.Since(t), t)
	}
	return t.Local().Format(time.RFC3339)
}

// date is a time with its day, as people read it on a terminal.
func date(h Host, t time.Time) string {
	if isTerminal(h.Stdout) {
		return t.Local().Format(time.DateTime)
	}
	return t.Local().Format(time.RFC3339)
}

const day = 24 * time.Hour

// parseAge reads a time like 30d, 2w or 12h.
func parseAge(s string) (time.Duration, error) {
	for _, unit := range []struct {
		name string
		time time.Duration
	}{{"d", day}, {"w", 7 * day}} {
		number, found := strings.CutSuffix(s, unit.name)
		if !found {
			continue
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/int64(unit.time) {
			return time.Duration(n) * unit.time, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usagef("%q is not an age; it is a number of days like 30d, of weeks like 2w, or a time like 12h30m", s)
	}
	return d, nil
}
