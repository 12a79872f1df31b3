// Package schedule manages a session's scheduled jobs: prompts for its agent, and when they are due. It does not read
// the clock: callers pass the time.
package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cron is a parsed cron expression.
type Cron struct {
	minute, hour, day, month, weekday uint64 // sets of numbers
	everyHour, anyDay, anyWeekday     bool   // the field is *
}

// field is one of an expression's five fields.
type field struct {
	name     string
	min, max int
	names    []string // the numbers' names, starting with min
}

var fields = []field{
	{name: "minute", max: 59}, {name: "hour", max: 23}, {name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of the week", max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// short maps the names of common expressions to the expressions.
var short = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse parses an expression with five fields: minute, hour, day of month, month and weekday. A field is *, a number, a
// range, a list, or * or a range with a step, such as */15. Months and weekdays can be given by name. If both day of
// month and weekday are restricted, a day needs to match only one of them. @hourly, @daily, @weekly, @monthly and
// @yearly are supported too.
func Parse(text string) (c Cron, err error) {
	if full, ok := short[strings.ToLower(strings.TrimSpace(text))]; ok {
		text = full
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) || len(text) > 200 {
		return c, fmt.Errorf("%q is not a cron expression: it needs 5 fields, such as \"30 9 * * mon-fri\"", text[:min(len(text), 50)])
	}
	for i, to := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.weekday} {
		if *to, err = fields[i].parse(parts[i]); err != nil {
			return Cron{}, err
		}
	}
	c.everyHour = parts[1] == "*"
	c.anyDay = strings.HasPrefix(parts[2], "*")
	c.anyWeekday = strings.HasPrefix(parts[4], "*")
	if c.weekday&(1<<7) != 0 {
		c.weekday |= 1 // 7 is also Sunday
	}
	if c.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Cron{}, fmt.Errorf("%q is never due: there is no such date", text)
	}
	return c, nil
}

func (f field) parse(text string) (set uint64, err error) {
	for _, part := range strings.Split(text, ",") {
		low, high, step, err := f.part(part)
		if err != nil {
			return 0, fmt.Errorf("the %s %q: %w", f.name, part, err)
		}
		for n := low; n <= high; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

// part parses a list element.
func (f field) part(text string) (low, high, step int, err error) {
	span, every, stepped := strings.Cut(text, "/")
	step = 1
	if stepped {
		if step, err = strconv.Atoi(every); err != nil || step < 1 || step > f.max {
			return 0, 0, 0, fmt.Errorf("the step must be a number from 1 to %d", f.max)
		}
	}
	from, to, isRange := strings.Cut(span, "-")
	switch {
	case span == "*":
		return f.min, f.max, step, nil
	case stepped && !isRange:
		return 0, 0, 0, errors.New("a step needs * or a range")
	case !isRange:
		to = from
	}
	if low, err = f.number(from); err == nil {
		high, err = f.number(to)
	}
	if err == nil && low > high {
		err = errors.New("the range ends before it begins")
	}
	return low, high, step, err
}

func (f field) number(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max || text[0] == '+' || text[0] == '-' {
		return 0, fmt.Errorf("use a number from %d to %d", f.min, f.max)
	}
	return n, nil
}

func has(set uint64, n int) bool { return set&(1<<n) != 0 }

// onDay reports whether the expression matches the day of t.
func (c Cron) onDay(t time.Time) bool {
	day, weekday := has(c.day, t.Day()), has(c.weekday, int(t.Weekday()))
	both := day && weekday
	if !c.anyDay && !c.anyWeekday {
		both = day || weekday
	}
	return has(c.month, int(t.Month())) && both
}

// searchDays is how many days Next looks ahead: 29 February may be eight years away.
const searchDays = 366 * 9

// Next returns the first time after t that matches, in t's location, or the zero time if none does.
//
// When clocks change, an expression for every hour follows elapsed time. An expression with given hours matches each of
// them once a day: the first time if an hour is repeated, and at the change if it is skipped.
func (c Cron) Next(t time.Time) time.Time {
	year, month, day := t.Date()
	for i := range searchDays {
		midnight := time.Date(year, month, day+i, 0, 0, 0, 0, t.Location())
		// Midnight may not exist on this date, so check at noon.
		if date := time.Date(year, month, day+i, 12, 0, 0, 0, t.Location()); !c.onDay(date) {
			continue
		}
		if next := c.nextOn(midnight, t); !next.IsZero() {
			return next
		}
	}
	return time.Time{}
}

// nextOn returns the first match after t on the day that begins at midnight.
func (c Cron) nextOn(midnight, t time.Time) time.Time {
	if c.everyHour {
		return c.elapsed(midnight, t)
	}
	year, month, day := midnight.Add(12 * time.Hour).Date()
	for hour := range 24 {
		for minute := 0; has(c.hour, hour) && minute < 60; minute++ {
			if !has(c.minute, minute) {
				continue
			}
			if at := clock(year, month, day, hour, minute, t.Location()); at.After(t) {
				return at
			}
		}
	}
	return time.Time{}
}

// elapsed is nextOn for an expression that matches every hour. It steps through the day's minutes in elapsed time.
func (c Cron) elapsed(midnight, t time.Time) time.Time {
	at := midnight
	if t.After(at) {
		at = t.Add(time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	}
	for day := midnight.Add(12 * time.Hour).Day(); at.Day() == day; at = at.Add(time.Minute) {
		if has(c.minute, at.Minute()) && at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// clock returns the first time at which a clock shows hour and minute. If the clock skips them, it returns when the
// clock changes.
func clock(year int, month time.Month, day, hour, minute int, l *time.Location) time.Time {
	t := time.Date(year, month, day, hour, minute, 0, 0, l)
	start, end := t.ZoneBounds()
	wanted, shown := hour*60+minute, t.Hour()*60+t.Minute()
	switch {
	case t.Day() != day || shown > wanted:
		if t.Day() < day && t.Month() == month { // midnight was skipped
			return end
		}
		return start
	case shown < wanted:
		return end
	case start.IsZero():
		return t
	}
	_, offset := t.Zone()
	_, before := start.Add(-1).Zone()
	if first := t.Add(time.Duration(offset-before) * time.Second); before > offset && first.Before(start) {
		return first
	}
	return t
}
