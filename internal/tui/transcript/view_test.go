package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// session makes records and applies them.
type session struct {
	view.State
	seq   event.Seq
	calls map[string]int
}

func (s *session) add(agent string, d event.Data) []view.Key {
	r := event.Record{Time: epoch.Add(time.Duration(s.seq) * time.Second), Agent: agent, Data: d}
	if !event.KindOf(d).Transient() {
		s.seq++
		r.Seq = s.seq
	}
	return slices.Clone(s.Apply(r))
}

func (s *session) begin(agent string) []view.Key {
	if s.calls == nil {
		s.calls = make(map[string]int)
	}
	s.calls[agent]++
	return s.add(agent, event.ModelCallStart{Call: s.calls[agent], Provider: "p", Model: "m"})
}

func (s *session) delta(agent, text string) []view.Key {
	return s.add(agent, event.TextDelta{Call: s.calls[agent], Text: text})
}

func (s *session) answer(agent, text string, calls ...string) []view.Key {
	m := llm.Message{Role: llm.RoleAssistant}
	if text != "" {
		m.Parts = append(m.Parts, llm.Text{Text: text})
	}
	for _, id := range calls {
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "shell", Arguments: `{"command":"make test"}`})
	}
	keys := s.add(agent, event.TextEnd{Call: s.calls[agent], Message: m})
	return append(keys, s.add(agent, event.ModelCallEnd{Call: s.calls[agent], Model: "m"})...)
}

func (s *session) run(agent, id, output string) []view.Key {
	keys := s.add(agent, event.ToolCallStart{ID: id, Name: "shell", Arguments: []byte(`{"command":"make test"}`)})
	return append(keys, s.add(agent, event.ToolCallEnd{
		ID:        id,
		Name:      "shell",
		Model:     output,
		Duration:  1500 * time.Millisecond,
		Artifacts: tool.Artifacts{CommandsRun: []string{"make test"}},
	})...)
}

// full lays out the whole conversation without a View, and returns the first row of each item.
func full(v *View) (rows []text.Line, first map[view.Key]int) {
	first = make(map[view.Key]int)
	var before *view.Item
	for i := range v.state.Len() {
		item := v.state.Item(i)
		if !v.every && item.Agent != v.agent {
			continue
		}
		first[item.Key] = len(rows)
		o := v.layout
		o.Expanded = v.expanded(item.Key)
		label := ""
		if v.every && (before == nil && item.Agent != "" || before != nil && before.Agent != item.Agent) {
			label = v.label(item.Agent)
		}
		b := render.Item(item, label, o)
		for k := range b.Len() {
			if k > 0 && b.Block(k).Gap || k == 0 && before != nil &&
				!(before.Kind == item.Kind && before.Agent == item.Agent && (item.Kind == view.KindTool || item.Kind == view.KindNotice)) {
				rows = append(rows, text.Line{})
			}
			rows = append(rows, b.Lines(k, o)...)
		}
		before = &item
	}
	return rows, first
}

// at returns the number of the row at the top of the window.
func (v *View) at(first map[view.Key]int) int {
	if len(v.entries) == 0 {
		return 0
	}
	e := v.entries[v.top.entry]
	n := first[e.key] + v.top.row
	for b := range v.top.block {
		n += len(v.block(v.top.entry, b))
	}
	return n
}

func show(lines []text.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// matching fails unless the window shows a part of the conversation as it is when everything is laid out.
func (v *View) matching(t interface{ Fatalf(string, ...any) }, now time.Time) {
	got := v.Lines(now)
	rows, first := full(v)
	top := v.at(first)
	for i, l := range got {
		var want text.Line
		if top+i < len(rows) {
			want = rows[top+i]
		}
		if !slices.Equal(l, want) {
			t.Fatalf("row %d of the window is %q, row %d of %d is %q\n%s", i, l.Text(), top+i, len(rows), want.Text(), show(got))
		}
		if w := v.layout.Rule.LineWidth(l); w > v.layout.Width {
			t.Fatalf("row %d has %d columns of %d: %q", i, w, v.layout.Width, l.Text())
		}
	}
	if len(got) != v.height {
		t.Fatalf("the window has %d rows of %d", len(got), v.height)
	}
	if v.follow && top != max(len(rows)-v.height, 0) {
		t.Fatalf("the window follows, and shows row %d of %d", top, len(rows))
	}
}

var texts = []string{
	"word ", "two words ", "日本語 ", "\n\n", "\n", "- item\n", "```go\nfunc main() {\n", "```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n",
	"# Heading\n", "> quote\n", "\x1b[2J", "👩‍💻",
	"a rather long sentence that has to be wrapped on every screen that is not very wide at all. ",
}

// step applies a random record.
func (s *session) step(t *rapid.T) []view.Key {
	agent := rapid.SampledFrom([]string{"", "", "1", "2"}).Draw(t, "agent")
	text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(texts), 0, 12).Draw(t, "text"), "")
	switch rapid.IntRange(0, 9).Draw(t, "record") {
	case 0:
		return s.add(agent, event.UserInput{Message: llm.UserText(text)})
	case 1:
		return s.begin(agent)
	case 2, 3:
		return s.delta(agent, text)
	case 4:
		return s.add(agent, event.ReasoningDelta{Call: s.calls[agent], Text: text})
	case 5:
		return s.answer(agent, text, "a", "b")
	case 6:
		return s.run(agent, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "call"), strings.Repeat(text+"\n", 5))
	case 7:
		return s.add(agent, event.Warning{Message: "careful"})
	case 8:
		if i := s.Len() - 1; i >= 0 && s.Item(i).Kind == view.KindInput && agent == "" {
			return s.add("", event.Rewind{Input: s.Item(i).Seq, Chat: true})
		}
		return s.add(agent, event.ModelRetry{Call: s.calls[agent], Attempt: 2, Discard: true})
	}
	return s.add(agent, event.ToolCallStart{ID: "a", Name: "shell", Arguments: []byte(`{"command":"make"}`)})
}

// act does what a reader can do.
func (v *View) act(t *rapid.T) {
	switch n := rapid.IntRange(-30, 30).Draw(t, "rows"); rapid.IntRange(0, 12).Draw(t, "act") {
	case 0, 1, 2:
		v.Scroll(n)
	case 3:
		v.Page(n / 10)
	case 4:
		v.Top()
	case 5:
		v.Bottom()
	case 6:
		v.Jump(n / 10)
	case 7:
		v.Resize(40+n, 20+n/2)
	case 8:
		if keys := v.Visible(); len(keys) > 0 {
			v.Toggle(keys[len(keys)/2])
		}
	case 9:
		v.ExpandAll(n > 0)
	case 10:
		v.Show(rapid.SampledFrom([]string{"", "1"}).Draw(t, "show"), n > 0)
	case 11:
		v.Search(rapid.SampledFrom([]string{"o", "word", "日本", "b | a", "test"}).Draw(t, "query"))
		v.Next(n / 10)
		v.Search("")
	case 12:
		if key, ok := v.At(abs(n)); ok {
			v.Go(key)
		}
	}
}

func abs(n int) int { return max(n, -n) }

func TestView_ShowsTheSameInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s session
		v := New(&s.State)
		v.Show("", rapid.Bool().Draw(t, "every"))
		v.Resize(rapid.IntRange(1, 130).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "record or act") {
				v.Sync(s.step(t))
			} else {
				v.act(t)
			}
			v.matching(t, epoch)
		}
	})
}

func long(items int) *session {
	s := new(session)
	for i := range items {
		s.add("", event.UserInput{Message: llm.UserText(fmt.Sprintf("Question %d: what is in part %d of the program?", i, i))})
		s.begin("")
		s.answer("", fmt.Sprintf("## Answer %d\n\nIt **has** a function in `file%d.go` that does this:\n\n```go\nfunc part%d() error {\n"+
			"\tfor i := range 10 {\n\t\tif err := do(i); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn nil\n}\n```\n\n"+
			"- first point about part %d\n"+
			"- second point, which is longer and wraps around the edge of a narrow window\n- third\n", i, i, i, i), "a")
		s.run("", "a", strings.Repeat("ok  \tgithub.com/example/package\t0.1s\n", 30))
	}
	return s
}

func TestView_LaysOutTwoScreensAtMost(t *testing.T) {
	s := long(1000)
	v := New(&s.State)
	v.Resize(100, 40)
	for name, move := range map[string]func(){"open": func() {}, "top": v.Top, "bottom": v.Bottom, "page": func() { v.Page(-1) }} {
		v.forgetAll()
		move()
		if v.Lines(epoch); v.rows > 2*40 || v.rows < 40 {
			t.Errorf("%s: %d rows were laid out for 40", name, v.rows)
		}
	}
	v.Top()
	if got := v.Lines(epoch)[0].Text(); !strings.HasPrefix(got, "› Question 0:") {
		t.Errorf("the first row is %q", got)
	}
}

func TestView_RowsInMemoryAreBounded(t *testing.T) {
	s := long(1000)
	v := New(&s.State)
	v.ExpandAll(true)
	v.Resize(100, 40)
	v.Top()
	last, most := place{}, 0
	for v.Lines(epoch); !v.Following(); v.Lines(epoch) {
		v.Page(1)
		if most = max(most, v.rows); !v.Following() && v.top == last {
			t.Fatalf("a page did not move the window from %v", last)
		}
		last = v.top
	}
	if most > maxRows+200 {
		t.Errorf("%d rows were in memory", most)
	}
}

func TestView_FinishedBlocksAreLaidOutOnce(t *testing.T) {
	var s session
	v := New(&s.State)
	v.Resize(60, 50)
	s.begin("")
	v.Sync(s.delta("", "First paragraph.\n\n- item\n\n```go\n"+strings.Repeat("x := 1\n", 100)))
	v.Lines(epoch)
	body := v.entries[0].body
	before := slices.Clone(body.rows)
	for range 50 {
		v.Sync(s.delta("", "y := 2\n"))
		v.Lines(epoch)
	}
	if v.entries[0].body != body {
		t.Fatal("the answer was parsed again")
	}
	kept := 0
	for i, rows := range before[:len(before)-1] {
		if len(rows) > 0 && len(body.rows[i]) > 0 && &rows[0] == &body.rows[i][0] {
			kept++
		}
	}
	if kept < 1 {
		t.Errorf("no finished block was kept: %d blocks before, %d after", len(before), len(body.rows))
	}
	keys := s.answer("", s.Item(0).Text)
	v.Sync(keys)
	v.Lines(epoch)
	if v.entries[0].body != body {
		t.Error("the answer was parsed again when it was complete")
	}
	v.matching(t, epoch)
}

func TestView_ResizeKeepsTheRowUnderTheReadersEyes(t *testing.T) {
	s := new(session)
	s.begin("")
	var words strings.Builder
	for i := range 600 {
		fmt.Fprintf(&words, "word%04d ", i)
	}
	s.answer("", "# Title\n\n"+words.String()+"\n\n"+strings.Repeat("more\n\n", 100))
	v := New(&s.State)
	v.Resize(80, 10)
	v.Top()
	v.Scroll(30)
	at := v.Lines(epoch)[0].Text()[:8]
	for _, width := range []int{33, 120, 47, 200, 20, 80} {
		v.Resize(width, 10)
		if got := v.Lines(epoch)[0].Text(); !strings.Contains(got, at) {
			t.Errorf("%d columns: the first row is %q, without %s", width, got, at)
		}
	}
	if got := v.Lines(epoch)[0].Text(); !strings.HasPrefix(got, at) {
		t.Errorf("the first row is %q, want %s first", got, at)
	}
}

func TestView_StaysWhereTheReaderIsWhileTheSessionContinues(t *testing.T) {
	s := long(20)
	v := New(&s.State)
	v.Resize(80, 20)
	if !v.Following() {
		t.Fatal("a new view does not follow")
	}
	v.Page(-3)
	before := show(v.Lines(epoch))
	for i := range 30 {
		v.Sync(s.begin(""))
		v.Sync(s.delta("", "new text\n\n"))
		v.Sync(s.answer("", fmt.Sprint("new text ", i)))
		if got := show(v.Lines(epoch)); got != before {
			t.Fatalf("the window changed:\n%s\nwant\n%s", got, before)
		}
	}
	v.Bottom()
	if got := show(v.Lines(epoch)); !strings.Contains(got, "new text 29") {
		t.Errorf("the end is not shown:\n%s", got)
	}
	v.Scroll(-1)
	if v.Following() {
		t.Error("it follows after the reader scrolled up")
	}
	v.Scroll(1)
	if !v.Following() {
		t.Error("it does not follow at the end")
	}
}

func TestView_JumpsToPrompts(t *testing.T) {
	s := long(10)
	v := New(&s.State)
	v.Resize(80, 10)
	v.Lines(epoch)
	for _, c := range []struct {
		n    int
		want string
	}{{-1, "› Question 9:"}, {-1, "› Question 8:"}, {-3, "› Question 5:"}, {1, "› Question 6:"}, {-100, "› Question 0:"}} {
		if !v.Jump(c.n) {
			t.Errorf("%d: no prompt", c.n)
		}
		if got := v.Lines(epoch)[0].Text(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d: the first row is %q, want %s", c.n, got, c.want)
		}
	}
	v.Scroll(3)
	v.Jump(-1)
	if got := v.Lines(epoch)[0].Text(); !strings.HasPrefix(got, "› Question 0:") {
		t.Errorf("the first row is %q", got)
	}
}

func TestSearch_FindsWhatIsFolded(t *testing.T) {
	s := long(50)
	s.add("", event.UserInput{Message: llm.UserText("and this?")})
	s.begin("")
	s.answer("", "**Strong** words in `code` about the NEEDLE here", "a")
	s.run("", "a", "first\nneedle in the output\n"+strings.Repeat("x\n", 20))
	v := New(&s.State)
	v.Resize(60, 12)
	v.Top()
	v.Lines(epoch)
	if n := v.Search("need"); n != 2 {
		t.Fatalf("found %d matches, want 2", n)
	}
	if n := v.Search("needle"); n != 2 {
		t.Fatalf("found %d matches, want 2", n)
	}
	marked := func() (out []string) {
		for _, l := range v.Lines(epoch) {
			for _, span := range l {
				if span.Style.Role == text.Match {
					out = append(out, span.Text)
				}
			}
		}
		return out
	}
	if got := marked(); !slices.Contains(got, "NEEDLE") {
		t.Errorf("marked %q:\n%s", got, show(v.Lines(epoch)))
	}
	v.Next(1)
	if got := show(v.Lines(epoch)); !strings.Contains(got, "needle in the output") {
		t.Errorf("the folded match is not shown:\n%s", got)
	}
	if at, total := v.Match(); at != 2 || total != 2 {
		t.Errorf("at %d of %d", at, total)
	}
	v.Next(1)
	if at, _ := v.Match(); at != 1 {
		t.Errorf("the search did not continue at the start, but at %d", at)
	}
	if n := v.Search("nowhere"); n != 0 || v.Next(1) {
		t.Errorf("found %d matches of nothing", n)
	}
	v.Search("")
	if got := marked(); len(got) != 0 {
		t.Errorf("marked %q after the end of the search", got)
	}
}

func TestSearch_ComparesRegardlessOfCaseAndAcrossRows(t *testing.T) {
	s := new(session)
	s.add("", event.UserInput{Message: llm.UserText("The quick brown fox jumps over the lazy dog, ÄÖÜ 日本")})
	v := New(&s.State)
	v.Resize(18, 5)
	for query, want := range map[string]string{"BROWN FOX": "brown fox", "äöü": "ÄÖÜ", "日本": "日本", "lazy dog": "lazydog"} {
		if n := v.Search(query); n != 1 {
			t.Errorf("%q: found %d", query, n)
		}
		got := ""
		for _, l := range v.Lines(epoch) {
			for _, span := range l {
				if span.Style.Role == text.Match {
					got += span.Text
				}
			}
		}
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%q: marked %q:\n%s", query, got, show(v.Lines(epoch)))
		}
	}
}

func TestView_ShowsAgentsAloneOrTogether(t *testing.T) {
	s := new(session)
	s.add("", event.UserInput{Message: llm.UserText("go")})
	s.add("", event.SubagentStart{ID: "1", Name: "scout", Task: "look"})
	s.begin("1")
	s.answer("1", "I looked.")
	s.begin("")
	s.answer("", "It looked.")
	v := New(&s.State)
	v.Resize(40, 12)
	if got := show(v.Lines(epoch)); strings.Contains(got, "I looked") || !strings.Contains(got, "It looked") {
		t.Errorf("main agent:\n%s", got)
	}
	v.Show("1", false)
	if got := show(v.Lines(epoch)); !strings.Contains(got, "I looked") || strings.Contains(got, "It looked") {
		t.Errorf("subagent:\n%s", got)
	}
	v.Show("", true)
	if got := show(v.Lines(epoch)); !strings.Contains(got, "▍1 scout\nI looked.") || !strings.Contains(got, "▍main\nIt looked.") {
		t.Errorf("all:\n%s", got)
	}
}

func TestView_CopiesTheSource(t *testing.T) {
	s := new(session)
	s.begin("")
	s.answer("", "See **this**:\n\n```go\nx := 1\n```\n", "a")
	s.run("", "a", "out\nput")
	v := New(&s.State)
	v.Resize(40, 20)
	keys := v.Visible()
	if len(keys) != 2 {
		t.Fatalf("got %q", keys)
	}
	if got := v.Source(keys[0]); got != "See **this**:\n\n```go\nx := 1\n```\n" {
		t.Errorf("got %q", got)
	}
	if got := v.Codes(keys[0]); len(got) != 1 || got[0].Source != "x := 1" || got[0].Language != "go" {
		t.Errorf("got %q", got)
	}
	if got := v.Source(keys[1]); got != "out\nput" {
		t.Errorf("got %q", got)
	}
	if key, ok := v.At(0); !ok || key != keys[0] {
		t.Errorf("got %q", key)
	}
	if _, ok := v.At(15); ok {
		t.Error("there is an item below the end")
	}
}

func TestView_RunningCallsShowTheirSeconds(t *testing.T) {
	s := new(session)
	s.begin("")
	s.answer("", "", "a")
	s.add("", event.ToolCallStart{ID: "a", Name: "shell", Arguments: []byte(`{"command":"make"}`)})
	v := New(&s.State)
	now := s.Item(0).Tool.Started
	if v.Lines(now); !v.Running() {
		t.Error("no call runs")
	}
	if got := show(v.Lines(now.Add(61 * time.Second))); !strings.Contains(got, "1m1s") {
		t.Errorf("got\n%s", got)
	}
	v.Sync(s.add("", event.ToolCallEnd{ID: "a", Name: "shell", Duration: time.Second}))
	if got := show(v.Lines(now.Add(99 * time.Second))); v.Running() || !strings.Contains(got, "✓") {
		t.Errorf("it still runs:\n%s", got)
	}
}
