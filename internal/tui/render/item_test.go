package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/tool"
	"github.com/reins-agent/reins/view"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func bodyLines(item view.Item, label string, o Layout) []text.Line {
	b := Item(item, label, o)
	var out []text.Line
	for i := range b.Len() {
		if i > 0 && b.Block(i).Gap {
			out = append(out, text.Line{})
		}
		out = append(out, b.Lines(i, o)...)
	}
	return out
}

func numbered(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line+"\n", i+1)
	}
	return b.String()
}

// fileDiff returns the diff of a file that was changed in two places.
func fileDiff() string {
	before := "package main\n\nfunc main() {\n\tx := compute(1, 2)\n\tprintln(x)\n}\n" + numbered(20, "// line %d") + "var last = true\n"
	after := strings.NewReplacer("compute(1, 2)", "compute(1, 3, nil)", "println(x)\n", "println(x)\n\tprintln(\"done\")\n",
		"// line 18\n", "").Replace(before)
	return show.Unified("cmd/main.go", before, after)
}

// items returns items of all kinds by name.
func items() map[string]view.Item {
	input := func(s string) view.Item { return view.Item{Kind: view.KindInput, Seq: 1, Text: s} }
	call := func(t view.Tool) view.Item { return view.Item{Kind: view.KindTool, Seq: 1, Tool: &t} }
	origin := input("Check the nightly build.\nThen report.")
	origin.Origin = &event.Origin{Kind: event.OriginSchedule, ID: "nightly"}
	steered := input("Not that file")
	steered.Steered = true
	undone := input("Delete everything")
	undone.Undone = 7
	list := map[string]view.Item{
		"input": input("What does this do?\n\n  indented, and a line that is long enough to be wrapped " +
			"on most of the screens that are tested"),
		"input-origin":  origin,
		"input-steered": steered,
		"input-undone":  undone,
		"partial":       {Kind: view.KindText, Seq: 1, Text: "The answer **beg", Partial: true},
		"reasoning":     {Kind: view.KindReasoning, Seq: 1, Text: "**Reading** the file\n\nThen the other."},
		"thinking":      {Kind: view.KindReasoning, Text: "First this.\nNow that"},
		"said":          {Kind: view.KindReasoning, Seq: 1, Text: "I will *read* it.", Said: true},
		"warning":       {Kind: view.KindNotice, Seq: 1, Text: "80 % of the budget is spent", Notice: event.KindWarning, Count: 3},
		"compacted":     {Kind: view.KindNotice, Seq: 1, Text: "compacted: 90k to 12k tokens", Notice: event.KindCompaction, Count: 1},
		"writing":       call(view.Tool{Title: "write_file", State: view.ToolWriting, Bytes: 12345}),
		"queued":        call(view.Tool{Title: "shell: make", State: view.ToolQueued}),
		"waiting":       call(view.Tool{Title: "shell: rm -r build", State: view.ToolWaiting, Started: epoch, Asked: epoch}),
		"running": call(view.Tool{
			Title:   "shell: make test",
			State:   view.ToolRunning,
			Started: epoch.Add(-65 * time.Second),
			Output:  view.Output{Omitted: 40, Tail: numbered(9, "ok\tpackage %d") + "\x1b[32mPASS\x1b[0m"},
		}),
		"done": call(view.Tool{
			Title:   "shell: make test",
			State:   view.ToolDone,
			Ran:     3200 * time.Millisecond,
			Command: true,
			Outcome: "PASS",
			Output:  view.Output{Head: "first\nsecond", Omitted: 100, Tail: numbered(7, "ok\tpackage %d") + "PASS"},
		}),
		"read": call(view.Tool{
			Title:  "read_file: main.go",
			State:  view.ToolDone,
			Ran:    2 * time.Millisecond,
			Output: view.Output{Tail: numbered(3, "line %d") + "end"},
		}),
		"failed": call(view.Tool{
			Title:   "edit_file: a.go",
			State:   view.ToolFailed,
			Ran:     time.Millisecond,
			Outcome: "the text was not found …",
			Error:   "the text was not found in a.go.\nRead it again.",
		}),
		"refused": call(view.Tool{
			Title:   "shell: curl example.com",
			State:   view.ToolRefused,
			Outcome: "refused by the user: use the cache",
		}),
		"stopped": call(view.Tool{Title: "shell: sleep 100", State: view.ToolInterrupted, Ran: 9 * time.Second}),
		"edit":    call(view.Tool{Title: "edit_file: cmd/main.go", State: view.ToolDone, Ran: 5 * time.Millisecond, Diff: fileDiff()}),
		"long-edit": call(view.Tool{
			Title: "write_file: big.txt",
			State: view.ToolDone,
			Diff:  show.Unified("big.txt", "", numbered(500, "line %d")),
		}),
		"hidden": call(view.Tool{
			Title:  "web_fetch: example.com",
			State:  view.ToolDone,
			Hidden: "3 tag characters",
			Output: view.Output{Tail: "text"},
		}),
		"plan": call(view.Tool{Title: "update_plan", State: view.ToolDone, Plan: []view.Step{
			{Text: "read", Status: "completed"}, {Text: "write the parser", Status: "in_progress"}, {Text: "test", Status: "pending"},
		}}),
		"asking": call(view.Tool{Title: "ask_user", State: view.ToolAsking, Asks: []event.Question{
			{Question: "Which one?", Options: []event.Option{{Label: "A", Description: "the first"}, {Label: "B"}}},
		}}),
		"message": call(view.Tool{Title: "notify", State: view.ToolDone, Message: &tool.Message{
			Level: "warning", Title: "Careful", Content: "- one\n- `two`", Evidence: []string{"main.go:12"},
		}}),
	}
	return list
}

func TestItem_LooksAsIntended(t *testing.T) {
	list := items()
	for _, width := range goldenWidths {
		for _, expanded := range []bool{false, true} {
			o := Layout{Width: width, Expanded: expanded, Now: epoch}
			var b strings.Builder
			for _, name := range slices.Sorted(maps.Keys(list)) {
				lines := bodyLines(list[name], "1 explorer", o)
				check(t, lines, o)
				b.WriteString("== " + name + "\n" + plainText(lines[1:]))
			}
			name := "items." + strconv.Itoa(width)
			if expanded {
				name += ".expanded"
			}
			golden(t, name+".txt", b.String())
		}
	}
}

// hostile is text that tries to control the terminal, to hide, or to look like something else.
const hostile = "\x1b[2J\x1b]0;title\x07\x1b]52;c;aGk=\x1b\\\x1bP\x1b\\" +
	"\x9b31m\u009b1049l\r\b\x00\u202e\u2066\u200b\U000E0041\u2028\ufeff\xff\u0301\t\x7f"

func TestItem_NothingControlsTheTerminal(t *testing.T) {
	for name, item := range items() {
		item.Text = hostile + item.Text + "\n" + hostile + "`" + hostile + "` [" + hostile + "](http://" + hostile +
			")\n\n|" + hostile + "|\n|-|\n|" + hostile + "|\n\n```" + hostile + "\n" + hostile + "\n```\n# " + hostile
		item.Origin = &event.Origin{Kind: "x" + hostile, ID: hostile}
		if item.Tool != nil {
			call := *item.Tool
			call.Title += hostile
			call.Outcome += hostile
			call.Error += hostile
			call.Diff = strings.ReplaceAll(call.Diff, "l", "l"+hostile)
			call.Output = view.Output{Head: hostile + "\n" + hostile, Omitted: 3, Tail: call.Output.Tail + hostile}
			call.Hidden += hostile
			call.Plan = append(call.Plan, view.Step{Text: hostile, Status: hostile})
			options := []event.Option{{Label: hostile, Description: hostile}}
			call.Asks = append(call.Asks, event.Question{Question: hostile, Options: options})
			call.Message = &tool.Message{Level: hostile, Title: hostile, Content: hostile, Evidence: []string{hostile}}
			item.Tool = &call
		}
		for _, width := range []int{1, 2, 3, 7, 40, 130} {
			for _, rule := range []text.Rule{text.Wcwidth, text.Graphemes} {
				for _, expanded := range []bool{false, true} {
					o := Layout{Width: width, Rule: rule, Expanded: expanded, Now: epoch}
					lines := bodyLines(item, "1 "+hostile, o)
					if len(lines) < 2 {
						t.Errorf("%s has no lines", name)
					}
					check(t, lines, o)
				}
			}
		}
	}
}

func TestInline_LinksLeadToSafeAddressesOnly(t *testing.T) {
	for s, want := range map[string]string{
		"[a](https://example.com/x)":       "https://example.com/x",
		"<mailto:a@example.com>":           "mailto:a@example.com",
		"[a](file:///tmp/x)":               "file:///tmp/x",
		"see https://example.com/a_(b).":   "https://example.com/a_(b)",
		"[a](javascript:alert(1))":         "",
		"[a](data:text/html,x)":            "",
		"[a](https:)":                      "",
		"[a](https://x.example/\x1b]0;t)":  "",
		"[a](https://x.example/\u202efdp)": "https://x.example/%E2%80%AEfdp",
		"[a](ssh://host/)":                 "",
		"![a](https://example.com/p.png)":  "https://example.com/p.png",
	} {
		got := ""
		for _, l := range Inline(s, text.Style{}) {
			for _, span := range l {
				if span.Style.URL != "" {
					got = span.Style.URL
				}
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestInline_LinkShowsWhereItLeads(t *testing.T) {
	l := Inline("[https://bank.example](https://evil.example)", text.Style{})[0]
	if got := l.Text(); got != "https://bank.example (https://evil.example)" {
		t.Errorf("got %q", got)
	}
}

func TestInline_Emphasis(t *testing.T) {
	for s, want := range map[string]string{
		"**a** *b* _c_ __d__ ~~e~~": "{b}a{} {i}b{} {i}c{} {b}d{} {s}e",
		"***a***":                   "{bi}a",
		"*a **b** c*":               "{i}a {bi}b{i} c",
		"a_b_c 2*3*4 * x *":         "a_b_c 2{i}3{}4 * x *",
		"**a*":                      "*{i}a",
		"`**a**`":                   "**a**",
		`\*a\*`:                     "*a*",
		"~a~~":                      "~a~~",
	} {
		var b strings.Builder
		last := text.Attr(0)
		for _, span := range Inline(s, text.Style{})[0] {
			if a := span.Style.Attr; a != last {
				b.WriteString("{")
				for i, c := range "biu" {
					if a&(1<<i) != 0 {
						b.WriteRune(c)
					}
				}
				if a&text.Strike != 0 {
					b.WriteString("s")
				}
				b.WriteString("}")
				last = a
			}
			b.WriteString(span.Text)
		}
		if b.String() != want {
			t.Errorf("%q: got %q, want %q", s, b.String(), want)
		}
	}
}

func TestCodes_ReturnsTheSource(t *testing.T) {
	long := numbered(200, "line %d")
	got := Codes("text\n\n- item\n  ```Go title\n  func a() {\n  \treturn\n  }\n  ```\n\n~~~\n" + long +
		"~~~\n    indented\n\n    code\n\n```\nopen")
	want := []Code{
		{"go", "func a() {\n\treturn\n}"},
		{"", strings.TrimSuffix(long, "\n")},
		{"", "indented\n\ncode"},
		{"", "open"},
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// roles formats a line as words with their roles.
func roles(l text.Line, names map[text.Role]string) string {
	var b strings.Builder
	for _, s := range l {
		if n := names[s.Style.Role]; n != "" {
			fmt.Fprintf(&b, "<%s:%s>", n, s.Text)
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestHighlight(t *testing.T) {
	names := map[text.Role]string{
		text.Keyword: "k",
		text.String:  "s",
		text.Comment: "c",
		text.Number:  "n",
		text.Kind:    "t",
		text.Name:    "f",
		text.Added:   "+",
		text.Removed: "-",
	}
	for _, c := range []struct{ lang, source, want string }{
		{"go", "func f(s string) { // x\n\treturn `a\nb` + \"c\\\"\" + 'd' + 0x1F /* e\nf */ }",
			"<k:func> <f:f>(s <t:string>) { <c:// x>\n    <k:return> <s:`a>\n" +
				"<s:b`> + <s:\"c\\\"\"> + <s:'d'> + <n:0x1F> <c:/* e>\n<c:f */> }"},
		{"python", "def f(x):  # y\n  '''a\n  b''' + None", "<k:def> <f:f>(x):  <c:# y>\n  <s:'''a>\n<s:  b'''> + <t:None>"},
		{"rust", "fn f<'a>(x: &'a str) -> char { 'x' }", "<k:fn> f<'a>(x: &'a <t:str>) -> <t:char> { <s:'x'> }"},
		{"sql", "SELECT a FROM t -- c", "<k:SELECT> a <k:FROM> t <c:-- c>"},
		{"sh", "if [ $HOME ]; then echo \"a\"; fi # c", "<k:if> [ $HOME ]; <k:then> <t:echo> <s:\"a\">; <k:fi> <c:# c>"},
		{"json", `{"a": true, "b": 1.5}`, `{<s:"a">: <t:true>, <s:"b">: <n:1.5>}`},
		{"html", "<p class=\"x\"><!-- a\nb --></p>", "<<k:p> <t:class>=<s:\"x\">><c:<!-- a>\n<c:b -->></<k:p>>"},
		{"lua", "--[[ a\nb ]] local x = 1 -- c", "<c:--[[ a>\n<c:b ]]> <k:local> x = <n:1> <c:-- c>"},
		{"diff", "+a\n-b\n c", "<+:+a>\n<-:-b>\n c"},
		{"nothing", "func 1 \"a\"", "func 1 \"a\""},
	} {
		h := highlighter{lang: languageOf(c.lang)}
		var got []string
		for s := range text.CleanLines(c.source) {
			got = append(got, roles(h.line(s), names))
		}
		if s := strings.Join(got, "\n"); s != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.lang, s, c.want)
		}
	}
}

func TestHighlight_EveryLanguageKeepsTheText(t *testing.T) {
	source := "if (x == 'a') { return \"b\\\"\"; } // c # d -- e /* f */ <!-- g --> 1.5e3 `h` '''i''' [[j]] {-k-} @l $m é日本 'open"
	n := 0
	for _, l := range syntaxes() {
		for name := range strings.FieldsSeq(l.names) {
			n++
			h := highlighter{lang: languageOf(name)}
			for range 3 {
				if got := h.line(source).Text(); got != source {
					t.Errorf("%s: got %q", name, got)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d names", n)
	}
}

func TestDiff_MarksTheWordsThatChanged(t *testing.T) {
	names := map[text.Role]string{text.Added: "+", text.Removed: "-", text.AddedWord: "A", text.RemovedWord: "R", text.Dim: ""}
	diff := show.Unified("a.go", "a := f(one, two)\nunchanged\ncompletely different\n", "a := f(one, three)\nunchanged\n#####\n")
	var got []string
	for _, l := range all(Diff(diff, Layout{Width: 60}), Layout{Width: 60}) {
		got = append(got, roles(l, names))
	}
	want := []string{
		"a.go",
		"1 <-:- a := f(one, ><R:two><-:)>", "1 <+:+ a := f(one, ><A:three><+:)>", "2   unchanged",
		"3 <-:- completely different>", "3 <+:+ #####>",
	}
	for i := range got {
		got[i] = strings.ReplaceAll(strings.ReplaceAll(got[i], "><-:", ""), "><+:", "")
	}
	for i := range want {
		want[i] = strings.ReplaceAll(strings.ReplaceAll(want[i], "><-:", ""), "><+:", "")
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func FuzzDiff(f *testing.F) {
	f.Add(fileDiff(), 130, true)
	f.Add("@@ -1,2 +1 @@\n-a\n\\ No newline\n+\x1b[2J\n x", 3, false)
	f.Fuzz(func(t *testing.T, diff string, width int, expanded bool) {
		o := Layout{Width: 1 + width&0xff, Expanded: expanded}
		check(t, all(Diff(diff, o), o), o)
		Counts(diff)
	})
}

func BenchmarkParse(b *testing.B) {
	s := strings.Repeat("# Heading\n\nText with **bold** and `code` in a paragraph.\n\n- item one\n- item two\n\n"+
		"```go\nfunc main() {\n\treturn\n}\n```\n\n", 5000)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		Parse(s)
	}
}
