package show

import (
	"fmt"
	"time"
)

// Ago returns how long ago a time was, or its day if that is more than a month.
func Ago(d time.Duration, t time.Time) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	case d < 30*day:
		return fmt.Sprintf("%d d ago", d/day)
	}
	return t.Local().Format(time.DateOnly)
}

const day = 24 * time.Hour

// Duration returns a duration with as many digits as people care for.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
