package dialog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/keys"
)

func manyRows(n int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{Label: fmt.Sprintf("Session %d about topic %d", i, i%97), Detail: fmt.Sprintf("%d min ago", i), Find: fmt.Sprintf("id-%08x", i*7919)}
	}
	return rows
}

func pressList(t *testing.T, l *List, names ...string) Choice {
	t.Helper()
	var c Choice
	for _, name := range names {
		if s, ok := strings.CutPrefix(name, "'"); ok {
			for _, r := range s {
				c = l.Handle(keys.Key{Code: keys.Code(r), Text: string(r)})
			}
			continue
		}
		c = l.Handle(parse(t, name))
	}
	return c
}

func TestList_ShowsRowsThatHaveAllWordsAndReturnsTheChoice(t *testing.T) {
	few := NewList([]Row{
		{"Fix the parser", "today", "id-1"}, {"Write tests", "today", "for the Parser"}, {"Parser", "yesterday", ""}, {"parser TODAY", "", ""},
	}, Options{})
	if c := pressList(t, few, "'today PARS", "down", "down", "enter"); c.Row != 3 {
		t.Errorf("chose row %d", c.Row)
	}
	l := NewList(manyRows(10_000), Options{})
	pressList(t, l, "'id-0fffffff")
	if l.Selected() != -1 {
		t.Errorf("selected %d", l.Selected())
	}
	if lines, _, _ := l.View(40, 5); len(lines) != 2 || lines[1].Text() != "nothing found" {
		t.Errorf("shows %v", lines)
	}
	pressList(t, l, "ctrl+u", "'id-00001eef")
	lines, x, y := l.View(50, 5)
	if len(lines) != 2 || lines[1].Text() != "› Session 1 about topic 1                1 min ago" || x != 13 || y != 0 {
		t.Errorf("shows %v, caret %d, %d", lines, x, y)
	}
	if c := pressList(t, l, "esc"); !c.Canceled || c.Row != -1 {
		t.Errorf("esc: %+v", c)
	}
}

func TestList_KeepsTheSelectionVisibleAndOnItsRow(t *testing.T) {
	l := NewList(manyRows(100), Options{})
	for _, c := range []struct {
		key  string
		want int
	}{{"up", 99}, {"down", 0}, {"pgdown", 4}, {"pgdown", 8}, {"pgup", 4}, {"pgup", 0}, {"pgup", 0}, {"down", 1}} {
		l.View(40, 5)
		pressList(t, l, c.key)
		lines, _, _ := l.View(40, 5)
		visible := false
		for _, line := range lines {
			visible = visible || strings.HasPrefix(line.Text(), fmt.Sprintf("› Session %d ", c.want))
		}
		if l.Selected() != c.want || !visible || len(lines) != 5 {
			t.Errorf("%s: row %d, visible %v, want %d", c.key, l.Selected(), visible, c.want)
		}
	}
	l.SetRows(append([]Row{{Label: "new"}}, manyRows(100)...))
	if l.Selected() != 2 {
		t.Errorf("after a new row: %d", l.Selected())
	}
	l.SetRows(nil)
	if l.Selected() != -1 || pressList(t, l, "down", "enter").Row != -1 {
		t.Errorf("an empty list selects %d", l.Selected())
	}
}

// BenchmarkList filters and shows 10,000 rows, as with one key.
func BenchmarkList(b *testing.B) {
	l := NewList(manyRows(10_000), Options{})
	for b.Loop() {
		l.Handle(keys.Key{Code: 't', Text: "t"})
		l.View(120, 40)
		l.Handle(keys.Key{Code: keys.Backspace})
		l.View(120, 40)
	}
}

func BenchmarkNewList(b *testing.B) {
	rows := manyRows(10_000)
	for b.Loop() {
		NewList(rows, Options{}).View(120, 40)
	}
}
