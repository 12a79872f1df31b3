package dialog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/tool"
)

// approval is a question about a command.
func approval(rows ...ask.Row) ask.Question {
	return ask.Question{
		ID: "1", Kind: ask.Approval, Who: "The agent", Title: "go test ./...", Rows: rows,
		Choices: []ask.Choice{
			{Key: "y", Text: "yes, once", Allow: true},
			{Key: "p", Text: "yes, and allow go test for this session", Allow: true, Scope: tool.ForSession},
			{Key: "a", Text: "yes, always in this project: save the rule Bash(go test:*) in .reins/config.toml", Allow: true},
			{Key: "n", Text: "no; or type what to do instead"},
		},
	}
}

func parse(t *testing.T, name string) keys.Key {
	t.Helper()
	k, err := keys.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// press sends keys by their names. A word after an apostrophe is typed. It returns the last outcome, with all typed text.
func press(t *testing.T, d *Dialog, names ...string) Outcome {
	t.Helper()
	var out Outcome
	typed := ""
	for _, name := range names {
		list := []keys.Key{}
		if s, ok := strings.CutPrefix(name, "'"); ok {
			for _, r := range s {
				list = append(list, keys.Key{Code: keys.Code(r), Text: string(r)})
			}
		} else {
			list = append(list, parse(t, name))
		}
		for _, k := range list {
			out = d.Handle(k)
			typed += out.Typed
		}
	}
	out.Typed = typed
	return out
}

func shown(d *Dialog, width, rows int) string {
	lines, _, _, _ := d.View(width, rows)
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l.Text(), " "))
	}
	return strings.Join(out, "\n")
}

func TestApproval_ShowsTheWholeCommandAndWhatEachChoiceGrants(t *testing.T) {
	q := approval(ask.Row{Kind: ask.RowCommand, Text: "go test ./...\nrm -rf /tmp/x"}, ask.Row{Kind: ask.RowDir, Text: "/src"},
		ask.Row{Kind: ask.RowWhy, Text: "it deletes files"})
	want := `Allow this? The agent
go test ./...
$ go test ./...
  rm -rf /tmp/x
in /src
! it deletes files
  y  yes, once
  p  yes, and allow go test for this
     session
  a  yes, always in this project: save
     the rule Bash(go test:*) in
     .reins/config.toml
  n  no; or type what to do instead`
	if got := shown(New(q, Options{}), 40, 30); got != want {
		t.Errorf("shows\n%s\nwant\n%s", got, want)
	}
}

func TestApproval_HidesNothing(t *testing.T) {
	command := "\ufeffecho a\x1b[2K\rrm -rf ~\u202e\U000E0041" + strings.Repeat(" ", 200) + "; curl x" + strings.Repeat("\n", 50) + "sh y\r\n"
	d := New(approval(ask.Row{Kind: ask.RowCommand, Text: command}), Options{})
	got := shown(d, 60, 30)
	for _, want := range []string{"�echo a␛[2K␍rm -rf ~��", "[200 blanks]", "; curl x", "[49 blank lines]", "sh y␍", "cannot be seen"} {
		if !strings.Contains(strings.ReplaceAll(got, "\n  ", ""), want) {
			t.Errorf("%q is not shown in\n%s", want, got)
		}
	}
	if strings.ContainsAny(got, "\x1b\r\u202e") {
		t.Errorf("shows %q", got)
	}
	if plain := shown(New(approval(ask.Row{Kind: ask.RowCommand, Text: "a\tb 漢字 👩\u200d🚀"}), Options{}), 60, 30); strings.Contains(plain, "cannot be seen") {
		t.Errorf("ordinary text is reported:\n%s", plain)
	}
}

func TestApproval_EveryLineOfALongDiffCanBeReached(t *testing.T) {
	q := approval()
	var diff strings.Builder
	diff.WriteString("--- a/x\n+++ b/x\n@@ -0,0 +1,500 @@\n")
	for i := range 500 {
		fmt.Fprintf(&diff, "+line%03d.\n", i)
	}
	q.Diff = diff.String()
	d := New(q, Options{})
	seen := map[string]bool{}
	for range 200 {
		got := shown(d, 80, 24)
		if n := strings.Count(got, "\n") + 1; n > 24 || !strings.Contains(got, Phrase) || !strings.Contains(got, "n  no") {
			t.Fatalf("%d lines:\n%s", n, got)
		}
		for i := range 500 {
			if line := fmt.Sprintf("line%03d.", i); strings.Contains(got, line) {
				seen[line] = true
			}
		}
		press(t, d, "pgdown")
	}
	if len(seen) != 500 {
		t.Errorf("%d of 500 lines can be seen", len(seen))
	}
	short := strings.Count(shown(d, 80, 200), "\n")
	press(t, d, "ctrl+o")
	if whole := strings.Count(shown(d, 80, 200), "\n"); whole < 150 || short > 40 {
		t.Errorf("%d lines, and with ctrl+o %d", short, whole)
	}
}

func TestChoices_AnAnswerNeedsASelectionAndEnter(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want Outcome
	}{
		{[]string{"enter"}, Outcome{}},
		{[]string{"'y"}, Outcome{Handled: true}},
		{[]string{"'y", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "y"}}},
		{[]string{"down", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "y"}}},
		{[]string{"down", "tab", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "p"}}},
		{[]string{"down", "'a", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "a"}}},
		{[]string{"esc"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "n"}}},
		{[]string{"'y", "esc"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "n"}}},
		{[]string{"up", "enter"}, Outcome{Handled: true}}, // asks for a message
		{[]string{"'n", "enter", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "n"}}},
		{[]string{"'n", "enter", "'use make", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "n", Text: "use make"}}},
		{[]string{"'n", "enter", "'use make", "esc"}, Outcome{Handled: true}},
		{[]string{"'yes please"}, Outcome{Handled: true, Typed: "yes please"}},
		{[]string{"'yes", "enter"}, Outcome{Typed: "yes"}},
		{[]string{"'x"}, Outcome{Handled: true, Typed: "x"}},
		{[]string{"'py"}, Outcome{Handled: true, Typed: "py"}},
		{[]string{"pgup", "ctrl+o", "enter"}, Outcome{}},
		{[]string{"alt+n"}, Outcome{}},
		{[]string{"ctrl+e"}, Outcome{Handled: true}},
		{[]string{"ctrl+e", "backspace", "'2", "enter"}, Outcome{Handled: true, Answer: &ask.Answer{Choice: "n", Text: "run this instead: go test 2"}}},
	} {
		d := New(approval(ask.Row{Kind: ask.RowCommand, Text: "go test 1"}), Options{})
		if got := press(t, d, c.keys...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.keys, got, c.want)
		}
		shown(d, 40, 10)
	}
}

func TestDialog_AllowsTheEditedCommandOnce(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want Outcome
	}{
		{[]string{"ctrl+e", "backspace", "'2", "enter"},
			Outcome{Handled: true, Answer: &ask.Answer{Choice: "y", Args: json.RawMessage(`{"command":"go test 2","timeout_ms":1}`)}}},
		{[]string{"ctrl+e", "ctrl+u", "enter"}, Outcome{Handled: true}}, // there is no command
		{[]string{"ctrl+e", "esc", "'n", "enter", "'use make", "enter"},
			Outcome{Handled: true, Answer: &ask.Answer{Choice: "n", Text: "use make"}}},
	} {
		q := approval(ask.Row{Kind: ask.RowCommand, Text: "go test 1"})
		q.Arguments = json.RawMessage(`{"timeout_ms":1,"command":"go test 1"}`)
		if got := press(t, New(q, Options{}), c.keys...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.keys, got, c.want)
		}
	}
}

func TestChoices_APasteIsForTheDraftUnlessAFieldHasTheFocus(t *testing.T) {
	d := New(approval(), Options{})
	press(t, d, "'y")
	if out := d.Paste("es\n"); out.Typed != "yes\n" || out.Answer != nil {
		t.Errorf("paste: %+v", out)
	}
	press(t, d, "'n", "enter")
	if out := d.Paste("no\n"); out.Typed != "" || out.Answer != nil {
		t.Errorf("paste into the message: %+v", out)
	}
	if out := press(t, d, "enter"); out.Answer == nil || out.Answer.Text != "no" {
		t.Errorf("the message: %+v", out)
	}
}

func TestChoices_LongKeysHaveNumbers(t *testing.T) {
	q := ask.Question{Kind: "trust", Who: "Reins", Title: "Trust this project?", Choices: []ask.Choice{
		{Key: "trust", Text: "use its settings", Allow: true}, {Key: "n", Text: "no"},
	}}
	d := New(q, Options{})
	if got := shown(d, 40, 10); got != "Reins asks:\nTrust this project?\n  1  trust  use its settings\n  n  no" {
		t.Errorf("shows\n%s", got)
	}
	if out := press(t, d, "'1", "enter"); out.Answer == nil || out.Answer.Choice != "trust" {
		t.Errorf("1: %+v", out)
	}
	if out := press(t, New(q, Options{}), "'n", "enter"); out.Answer == nil || out.Answer.Choice != "n" {
		t.Errorf("n: %+v", out)
	}
}

func TestItems_AreAnsweredOneAfterTheOther(t *testing.T) {
	q := ask.Question{Kind: ask.Input, Who: "The agent", Items: []event.Question{
		{Question: "Which database?", Options: []event.Option{{Label: "SQLite", Description: "a file"}, {Label: "Postgres"}}},
		{Question: "Which parts?", Options: []event.Option{{Label: "API"}, {Label: "UI"}}, Multiple: true},
		{Question: "Why?"},
	}}
	d := New(q, Options{})
	if got := shown(d, 50, 20); got != "The agent asks: (1 of 3)\nWhich database?\n  1  SQLite · a file\n  2  Postgres\n  another answer (down, tab, ctrl+n)" {
		t.Errorf("shows\n%s", got)
	}
	if out := press(t, d, "enter"); out.Handled {
		t.Errorf("enter without a selection: %+v", out)
	}
	press(t, d, "'2", "enter", "'1", "space", "down", "space", "enter")
	if out := press(t, d, "tab", "enter"); out.Answer != nil || !strings.Contains(shown(d, 50, 20), "Write an answer") {
		t.Errorf("an empty answer: %+v", out)
	}
	out := press(t, d, "'because", "enter")
	want := &ask.Answer{Replies: []ask.Reply{{Chosen: []string{"Postgres"}}, {Chosen: []string{"API", "UI"}}, {Text: "because"}}}
	if !reflect.DeepEqual(out.Answer, want) {
		t.Errorf("answer %+v, want %+v", out.Answer, want)
	}
	if _, err := q.Reply(*out.Answer); err != nil {
		t.Error(err)
	}
}

func TestItems_EscLeavesTheFieldAndThenRefuses(t *testing.T) {
	d := New(ask.Question{Kind: ask.Input, Title: "Why?", Who: "The agent"}, Options{})
	if out := press(t, d, "'no focus"); out.Typed != "no focus" {
		t.Errorf("typed: %+v", out)
	}
	if out := press(t, d, "tab", "'x", "esc"); out.Answer != nil {
		t.Errorf("esc in the field: %+v", out)
	}
	if out := press(t, d, "esc"); out.Answer == nil || out.Answer.Text == "" {
		t.Errorf("esc: %+v", out)
	}
	d = New(ask.Question{Kind: ask.Input, Title: "Why?", Who: "The agent"}, Options{})
	if out := press(t, d, "tab", "'so", "enter"); !reflect.DeepEqual(out.Answer, &ask.Answer{Text: "so"}) {
		t.Errorf("answer %+v", out.Answer)
	}
}

const formSchema = `{"type":"object","properties":{
	"name":{"type":"string","title":"Your name","minLength":2},
	"age":{"type":"integer"},
	"color":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"l"},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}},
	"sure":{"type":"boolean","description":"Are you sure?"},
	"more":{"type":"object"}
},"required":["name","sure"]}`

func form1(t *testing.T) *Dialog {
	return New(ask.Question{
		ID: "f", Kind: "form", Who: "server", Title: "Sign up", Schema: json.RawMessage(formSchema),
		Choices: []ask.Choice{{Key: "n", Text: "no"}},
	}, Options{})
}

func TestForm_ReturnsTypedValues(t *testing.T) {
	d := form1(t)
	out := press(t, d, "tab", "'Ada", "enter", "'36", "tab", "right", "right", "tab", "tab", "space", "right", "right", "space", "tab",
		"space", "tab", `'{"x":1}`, "enter", "enter")
	if out.Answer == nil || out.Typed != "" {
		t.Fatalf("%+v:\n%s", out, shown(d, 60, 30))
	}
	want := `{"name":"Ada","age":36,"color":"g","size":"l","tags":["a","c"],"sure":true,"more":{"x":1}}`
	if got := string(out.Answer.Values); got != want {
		t.Errorf("values %s, want %s", got, want)
	}
}

func TestForm_SaysWhatIsWrongAndSendsNothing(t *testing.T) {
	for want, list := range map[string][]string{
		"Your name is required":          {"up", "enter"},
		"age must be a whole number":     {"tab", "'Ada", "tab", "'x", "up", "up", "enter"},
		"sure is required":               {"tab", "'Ada", "up", "enter"},
		"the values do not fit the form": {"tab", "'A", "up", "up", "up", "space", "down", "down", "enter"},
		"more must be JSON":              {"tab", "'Ada", "up", "up", "'{", "up", "space", "down", "down", "enter"},
	} {
		d := form1(t)
		if out := press(t, d, list...); out.Answer != nil || !strings.Contains(strings.Join(strings.Fields(shown(d, 60, 30)), " "), want) {
			t.Errorf("%q: %+v, shows\n%s", want, out, shown(d, 60, 30))
		}
	}
	if out := press(t, form1(t), "esc"); out.Answer == nil || out.Answer.Choice != "n" {
		t.Errorf("esc: %+v", out)
	}
	if out := press(t, form1(t), "'hello", "enter"); out.Typed != "hello" || out.Handled {
		t.Errorf("text without focus: %+v", out)
	}
}

func FuzzForm_AnySchemaCanBeShownAndLeft(f *testing.F) {
	f.Add(formSchema)
	f.Add(`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":1},{"const":"x"}]},"default":[1]},"b":7}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		d := New(ask.Question{Kind: "form", Schema: json.RawMessage(schema), Choices: []ask.Choice{{Key: "n"}}}, Options{})
		if len(schema) == 0 {
			return
		}
		for _, name := range []string{"tab", "'1", "space", "right", "left", "backspace", "'x", "enter", "up", "enter"} {
			if out := press(t, d, name); out.Answer != nil {
				if !json.Valid(out.Answer.Values) {
					t.Errorf("values %q", out.Answer.Values)
				}
				return
			}
			if lines, x, y, _ := d.View(30, 8); len(lines) > 8 || x >= 30 || y > len(lines) {
				t.Errorf("%d lines, caret %d, %d", len(lines), x, y)
			}
		}
		press(t, d, "esc")
		if out := press(t, d, "esc"); out.Answer == nil || out.Answer.Choice != "n" {
			t.Errorf("esc: %+v", out)
		}
	})
}

func TestView_FitsAnyScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]text.Rule{text.Wcwidth, text.Graphemes}).Draw(t, "rule")
		q := approval(ask.Row{Kind: ask.RowCommand, Text: rapid.String().Draw(t, "command")})
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 1:
			q = ask.Question{Kind: ask.Input, Title: rapid.String().Draw(t, "title")}
		case 2:
			q = ask.Question{Kind: "form", Schema: json.RawMessage(formSchema)}
		}
		d := New(q, Options{Rule: rule})
		names := []string{"tab", "up", "y", "n", "enter", "ctrl+e", "pgdown", "ctrl+o", "space", "漢"}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 12).Draw(t, "keys") {
			k, err := keys.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			d.Handle(k)
			width, rows := rapid.IntRange(10, 80).Draw(t, "width"), rapid.IntRange(3, 30).Draw(t, "rows")
			lines, x, y, cursor := d.View(width, rows)
			if len(lines) > rows || cursor && (x < 0 || x >= width || y < 0 || y >= len(lines)) {
				t.Fatalf("%d×%d: %d lines, caret %d, %d, %v", width, rows, len(lines), x, y, cursor)
			}
			for _, l := range lines {
				if w := rule.LineWidth(l); w > width || text.Clean(l.Text()) != l.Text() {
					t.Fatalf("%d columns, %d wide: %q", width, w, l.Text())
				}
			}
		}
	})
}

// user types into an app that has a draft, a guard and at most one question.
type user struct {
	guard   Guard
	draft   *edit.Editor
	dialog  *Dialog
	answers int
	now     time.Time
}

// frame shows a waiting question if the guard allows it.
func (u *user) frame(waiting bool) {
	if waiting && u.dialog == nil && u.guard.MayShow(u.now) {
		u.dialog = New(approval(), Options{})
		u.guard.Painted(u.now)
	}
}

func (u *user) key(k keys.Key) {
	if !u.guard.Key(u.now) || u.dialog == nil {
		u.draft.Handle(k)
		return
	}
	out := u.dialog.Handle(k)
	if out.Answer != nil {
		u.answers++
		u.dialog = nil
		u.guard.Hidden()
	}
	if out.Typed != "" {
		u.draft.Insert(out.Typed)
		u.guard.Yield()
	}
}

func TestGuard_TypingAcrossAQuestionNeverAnswersItAndStaysInTheDraft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &user{draft: edit.New(edit.Options{}), now: time.Unix(1000, 0)}
		pause := rapid.IntRange(0, 5000).Draw(t, "pause before the question in ms")
		asked := u.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "asked after ms")) * time.Millisecond)
		start := asked.Add(-time.Duration(rapid.IntRange(50, 3000).Draw(t, "typing before ms")) * time.Millisecond)
		typed := rapid.SliceOfN(rapid.SampledFrom([]string{"y", "n", "p", "a", "ctrl+j", "x", " ", "1"}), 20, 100).Draw(t, "keys")
		u.now = start.Add(-time.Duration(pause) * time.Millisecond)
		want := ""
		for i, name := range typed {
			u.now = start.Add(time.Duration(i) * 50 * time.Millisecond) // 20 keys per second
			k, text := keys.Key{Code: keys.Code(name[0]), Text: name}, name
			if name == "ctrl+j" {
				k, text = keys.Key{Code: 'j', Mods: keys.Ctrl}, "\n"
			}
			u.frame(!u.now.Before(asked))
			u.key(k)
			want += text
		}
		if got := u.draft.Message().Text; got != want || u.answers != 0 || u.dialog != nil {
			t.Fatalf("%d answers, shown: %v, draft %q, want %q", u.answers, u.dialog != nil, got, want)
		}
	})
}

func TestGuard_TheQuestionTakesNoKeyUntilHalfASecondAfterItsPaint(t *testing.T) {
	start := time.Unix(1000, 0)
	ms := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	var g Guard
	g.Key(ms(0))
	if g.MayShow(ms(999)) || !g.MayShow(ms(1000)) || g.Wait(ms(400)) != 600*time.Millisecond || g.Wait(ms(3000)) != 0 {
		t.Errorf("shown after %v", g.Wait(ms(0)))
	}
	g.Painted(ms(1000))
	for _, c := range []struct {
		at   int
		want bool
	}{{1100, false}, {1499, false}, {1600, false}, {2099, false}, {2599, true}, {2600, true}, {2601, true}} {
		if got := g.Key(ms(c.at)); got != c.want {
			t.Errorf("a key after %d ms is for the question: %v, want %v", c.at, got, c.want)
		}
	}
	g.Yield()
	if g.Key(ms(2700)) || !g.Key(ms(3200)) {
		t.Error("after a text, the question takes keys at once, or never again")
	}
	g.Hidden()
	if g.Key(ms(9000)) {
		t.Error("a key belongs to a question that is not shown")
	}
}
