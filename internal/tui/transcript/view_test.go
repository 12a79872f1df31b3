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
	if !d.Kind().Transient() {
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
	"# Heading\n", "a rather long sentence that has to be wrapped on every screen that is not very wide at all. ", "> quote\n", "\x1b[2J", "👩‍💻",
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
			"- first point about part %d\n- second point, which is longer and wraps around the edge of a narrow window\n- third\n", i, i, i, i), "a")
		s.run("", "a", strings.Repeat("ok  \tgithub.com/example/package\t0.1s\n", 30))
	}
	return s
}
