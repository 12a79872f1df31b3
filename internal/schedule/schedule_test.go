package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Skip(err)
	}
	return l
}

func TestNext_Table(t *testing.T) {
	const layout = "2006-01-02 15:04:05 -0700"
	for _, c := range []struct{ zone, cron, after, want string }{
		{"UTC", "* * * * *", "2026-11-16 16:20:00 +0000", "2026-11-16 16:21:00 +0000"},
		{"UTC", "* * * * *", "2026-11-16 16:20:59 +0000", "2026-11-16 16:21:00 +0000"},
		{"UTC", "*/15 * * * *", "2026-11-16 16:46:00 +0000", "2026-11-16 17:00:00 +0000"},
		{"UTC", "0 */2 * * *", "2026-11-16 16:00:00 +0000", "2026-11-16 18:00:00 +0000"},
		{"UTC", "59 23 31 12 *", "2026-12-31 23:59:00 +0000", "2027-12-31 23:59:00 +0000"},
		{"UTC", "0 9 * * mon-fri", "2026-11-20 09:00:00 +0000", "2026-11-23 09:00:00 +0000"},
		{"UTC", "0 9 * * 7", "2026-11-16 00:00:00 +0000", "2026-11-22 09:00:00 +0000"},
		{"UTC", "0 9 * * 5-7", "2026-11-21 09:00:00 +0000", "2026-11-22 09:00:00 +0000"},
		{"UTC", "0 0 13 * fri", "2026-11-13 00:00:00 +0000", "2026-11-20 00:00:00 +0000"}, // either day
		{"UTC", "0 0 */2 * mon", "2026-11-16 00:00:00 +0000", "2026-11-23 00:00:00 +0000"},
		{"UTC", "0 0 2 * */2", "2026-11-16 00:00:00 +0000", "2027-01-02 00:00:00 +0000"}, // a field with * restricts the other
		{"UTC", "0 0 29 2 *", "2026-11-16 00:00:00 +0000", "2028-02-29 00:00:00 +0000"},
		{"UTC", "0 0 29 2 *", "2096-03-01 00:00:00 +0000", "2104-02-29 00:00:00 +0000"},
		{"UTC", "0,30 8-10/2 * JAN,mar *", "2026-01-31 10:30:00 +0000", "2026-03-01 08:00:00 +0000"},
		{"UTC", "@hourly", "2026-11-16 16:00:00 +0000", "2026-11-16 17:00:00 +0000"},
		{"UTC", "@weekly", "2026-11-16 16:00:00 +0000", "2026-11-22 00:00:00 +0000"},
		// Clocks go forward from 2:00 to 3:00 on 2026-03-29.
		{"Europe/Berlin", "30 2 * * *", "2026-03-28 02:30:00 +0100", "2026-03-29 03:00:00 +0200"},
		{"Europe/Berlin", "30 2 * * *", "2026-03-29 03:00:00 +0200", "2026-03-30 02:30:00 +0200"},
		{"Europe/Berlin", "0 9 * * *", "2026-03-28 09:00:00 +0100", "2026-03-29 09:00:00 +0200"},
		{"Europe/Berlin", "*/30 * * * *", "2026-03-29 01:30:00 +0100", "2026-03-29 03:00:00 +0200"},
		{"Europe/Berlin", "0 2,3 * * *", "2026-03-29 00:00:00 +0100", "2026-03-29 03:00:00 +0200"},
		{"Europe/Berlin", "0 2,3 * * *", "2026-03-29 03:00:00 +0200", "2026-03-30 02:00:00 +0200"},
		// They go back from 3:00 to 2:00 on 2026-10-25.
		{"Europe/Berlin", "30 2 * * *", "2026-10-24 12:00:00 +0200", "2026-10-25 02:30:00 +0200"},
		{"Europe/Berlin", "30 2 * * *", "2026-10-25 02:30:00 +0200", "2026-10-26 02:30:00 +0100"},
		{"Europe/Berlin", "30 2 * * *", "2026-10-25 02:15:00 +0100", "2026-10-26 02:30:00 +0100"},
		{"Europe/Berlin", "30 * * * *", "2026-10-25 02:30:00 +0200", "2026-10-25 02:30:00 +0100"},
		{"Europe/Berlin", "0 9 * * *", "2026-10-24 09:00:00 +0200", "2026-10-25 09:00:00 +0100"},
		{"America/New_York", "0 2 * * *", "2026-03-07 02:00:00 -0500", "2026-03-08 03:00:00 -0400"},
		{"America/New_York", "30 1 * * *", "2026-11-01 01:30:00 -0400", "2026-11-02 01:30:00 -0500"},
		// Half an hour, and a day that begins at 1:00.
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00:00 +1030", "2026-10-04 02:30:00 +1100"},
		{"Africa/Cairo", "0 0 * * *", "2026-04-23 12:00:00 +0200", "2026-04-24 01:00:00 +0300"},
		{"Africa/Cairo", "*/20 * * * *", "2026-04-23 23:40:00 +0200", "2026-04-24 01:00:00 +0300"},
		{"Africa/Cairo", "30 9 24 4 *", "2026-04-23 12:00:00 +0200", "2026-04-24 09:30:00 +0300"},
		{"America/Havana", "30 9 8 3 *", "2026-03-07 12:00:00 -0500", "2026-03-08 09:30:00 -0400"},
		{"Asia/Kolkata", "0 0 1 * *", "2026-11-16 00:00:00 +0530", "2026-12-01 00:00:00 +0530"},
		{"Pacific/Apia", "0 12 30 12 *", "2011-12-29 13:00:00 -1000", "2012-12-30 12:00:00 +1400"}, // a day that did not exist
	} {
		l := zone(t, c.zone)
		spec, err := Parse(c.cron)
		if err != nil {
			t.Errorf("%s: %v", c.cron, err)
			continue
		}
		after, err := time.ParseInLocation(layout, c.after, l)
		if err != nil {
			t.Fatal(err)
		}
		if got := spec.Next(after.In(l)).Format(layout); got != c.want {
			t.Errorf("%s in %s after %s: got %s, want %s", c.cron, c.zone, c.after, got, c.want)
		}
	}
}

// Times move forward, match the fields unless clocks change, and none is left out.
func TestNext_AgreesWithEveryMinute(t *testing.T) {
	l := zone(t, "Europe/Berlin")
	for _, text := range []string{"*/7 * * * *", "5,50 1-3 * * *", "0 0 */3 * mon", "30 23 28-31 * *"} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 10, 20, 0, 0, 0, 0, l)
		next := c.Next(start)
		shown := map[string]bool{} // given hours do not repeat
		for at := start.Add(time.Minute); at.Before(start.AddDate(0, 0, 12)); at = at.Add(time.Minute) {
			key := at.Format("02 15:04")
			match := has(c.minute, at.Minute()) && has(c.hour, at.Hour()) && c.onDay(at) && (c.everyHour || !shown[key])
			shown[key] = true
			if match != at.Equal(next) {
				t.Fatalf("%s: at %v: match %v, but next is %v", text, at, match, next)
			}
			if match {
				next = c.Next(at)
			}
		}
	}
}

func TestParse_RefusesInvalidExpressions(t *testing.T) {
	for _, text := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8", "-1 * * * *", "+1 * * * *",
		"5-1 * * * *", "*/0 * * * *", "*/61 * * * *", "5/10 * * * *", "a * * * *", "1, * * * *", "1-2-3 * * * *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "@never", "? * * * *",
		strings.Repeat("1,", 200) + "1 * * * *",
	} {
		if c, err := Parse(text); err == nil {
			t.Errorf("%q was accepted: %+v", text, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "*/5 1-3,7 1 jan sun", "@daily", "0 0 29 2 *"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 28, 23, 59, 30, 0, time.UTC)
		for range 3 {
			next := c.Next(at)
			if !next.After(at) || next.Second() != 0 || !has(c.minute, next.Minute()) || !has(c.hour, next.Hour()) || !c.onDay(next) {
				t.Fatalf("%q after %v: %v", text, at, next)
			}
			at = next
		}
	})
}

func TestTable_AJobThatWasMissedOftenIsDueOnceNonetheless(t *testing.T) {
	var table Table
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	j, err := table.New(Job{Schedule: "* * * * *", Prompt: "p", Created: now})
	if err != nil {
		t.Fatal(err)
	}
	table.Add(j)
	later := now.Add(2000*time.Minute + time.Second)
	if due := table.Due(later); len(due) != 1 || due[0].Times != 1000 {
		t.Errorf("due %+v, want once, 1000 times", due)
	}
	table.Skip(later)
	if due := table.Due(later); len(due) > 0 {
		t.Errorf("due again at the same time: %+v", due)
	}
}

func TestTable_DueMissedAndLimits(t *testing.T) {
	var table Table
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	add := func(schedule string, once bool) Job {
		t.Helper()
		j, err := table.New(Job{Schedule: schedule, Prompt: "p", Once: once, Created: now})
		if err != nil {
			t.Fatal(err)
		}
		table.Add(j)
		return j
	}
	hourly, once := add("0 * * * *", false), add("30 12 * * *", true)
	if due := table.Due(now); len(due) > 0 {
		t.Errorf("due at once: %v", due)
	}
	if got, want := table.Next(time.UTC), now.Add(30*time.Minute); !got.Equal(want) {
		t.Errorf("next at %v, want %v", got, want)
	}
	// After three hours, each is due once, and then no more.
	due := table.Due(now.Add(3*time.Hour + 5*time.Minute))
	if got, want := fmt.Sprint(due[0].ID, "|", due[0].Times, due[0].At.Hour(), "|", due[1].ID, "|", due[1].Times), "1|3 15|2|1"; len(due) != 2 || got != want {
		t.Errorf("due %q, want %q", got, want)
	}
	for _, d := range due {
		table.Ran(d.ID, d.At)
	}
	table.Ran(hourly.ID, now.Add(time.Hour)) // an older record that is read later
	if due := table.Due(now.Add(3*time.Hour + 5*time.Minute)); len(due) > 0 {
		t.Errorf("due twice: %v", due)
	}
	if jobs := table.Jobs(); len(jobs) != 1 || jobs[0].ID != hourly.ID || table.Delete(once.ID) {
		t.Errorf("jobs %v, want only the one that repeats", jobs)
	}
	// It ends after 30 days, even without calls to Due in between.
	if due := table.Due(now.AddDate(0, 0, 31)); len(due) != 1 || due[0].Times != 717 {
		t.Errorf("due %+v, want 717 times in 30 days", due)
	}
	table.Skip(now.AddDate(0, 0, 31))
	if next := table.Next(time.UTC); !next.IsZero() {
		t.Errorf("due again at %v, after its lifetime of 30 days", next)
	}
	table.Add(once) // its record is read again
	if jobs := table.Jobs(); len(jobs) != 1 {
		t.Errorf("jobs %v, want one", jobs)
	}
	for range 49 {
		add("0 0 * * *", false)
	}
	if _, err := table.New(Job{Schedule: "* * * * *", Prompt: "p"}); err == nil {
		t.Error("a 51st job was accepted")
	}
}

func TestTable_AJobThatRunsOnceMayBeDueLater(t *testing.T) {
	var table Table
	j := Job{Schedule: "0 9 1 6 *", Prompt: "p", Once: true, Created: time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)}
	once, err := table.New(j)
	if err != nil {
		t.Fatal(err)
	}
	table.Add(once)
	if got, want := table.Next(time.UTC), time.Date(2027, 6, 1, 9, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("due at %v, want %v", got, want)
	}
	j.Once = false
	if _, err := table.New(j); err == nil {
		t.Error("a job that repeats was accepted, although it ends before it is due")
	}
}
