package keys

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of keys in docs/terminal.md")

func mustParse(t *testing.T, name string) Key {
	t.Helper()
	k, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDefault_HasTheDocumentedKeys(t *testing.T) {
	m := Default()
	for _, c := range []struct {
		key      string
		contexts []Context
		want     Action
	}{
		{"esc", []Context{Editor, Global}, "global.interrupt"},
		{"esc", []Context{Question, Global}, "question.refuse"},
		{"esc", []Context{List, Editor, Global}, "list.cancel"},
		{"ctrl+c", []Context{Question, Global}, "global.cancel"},
		{"pgup", []Context{Editor, Global}, "global.page-up"},
		{"ctrl+home", []Context{Editor, Global}, "global.top"},
		{"ctrl+end", []Context{Editor, Global}, "global.bottom"},
		{"ctrl+f", []Context{Editor, Global}, "global.search"},
		{"ctrl+q", []Context{Editor, Global}, "global.quit"},
		{"enter", []Context{Editor, Global}, "editor.submit"},
		{"shift+enter", []Context{Editor, Global}, "editor.newline"},
		{"alt+enter", []Context{Editor, Global}, "editor.newline"},
		{"ctrl+j", []Context{Editor, Global}, "editor.newline"},
		{"ctrl+g", []Context{Editor, Global}, "editor.external-editor"},
		{"ctrl+r", []Context{Editor, Global}, "editor.history-search"},
		{"shift+tab", []Context{Editor, Global}, "global.next-mode"},
	} {
		if got, _ := m.Find(mustParse(t, c.key), c.contexts...); got != c.want {
			t.Errorf("%s in %v is %q, want %q", c.key, c.contexts, got, c.want)
		}
	}
	if a, ok := m.Find(Key{Code: 'x', Text: "x"}, Editor, Global); ok {
		t.Errorf("x does %s instead of typing", a)
	}
}

func TestDefault_EveryActionHasAKeyThatEveryTerminalReports(t *testing.T) {
	m := Default()
	for _, c := range Contexts() {
		for _, row := range m.Table(c) {
			if row.Summary == "" || !slices.ContainsFunc(row.Keys, func(name string) bool { return Everywhere(mustParse(t, name)) }) {
				t.Errorf("%s (%s) has only the keys %v", row.Action, row.Summary, row.Keys)
			}
		}
	}
}

func TestDefault_HasNoConflict(t *testing.T) {
	seen := map[binding]Action{}
	for _, a := range actions {
		if a.action.Name() == "" || !slices.Contains(Contexts(), a.action.Context()) {
			t.Errorf("%q has no context", a.action)
		}
		for _, name := range strings.Fields(a.keys) {
			k := mustParse(t, name)
			if k.String() != name {
				t.Errorf("%s: %s is named %s", a.action, name, k)
			}
			if k.typed() && a.action.Context() != Transcript {
				t.Errorf("%s: %s types text", a.action, name)
			}
			b := binding{a.action.Context(), name}
			if old, ok := seen[b]; ok {
				t.Errorf("%s is the key of %s and %s", name, old, a.action)
			}
			seen[b] = a.action
		}
	}
}

func TestRead_ReplacesTheKeysOfAnAction(t *testing.T) {
	m, err := Read("keys.toml", []byte(`
vim = true
[editor]
submit = "ctrl+s"           # the key of nothing else
newline = ["enter", "ctrl+j"]
`))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Action{"ctrl+s": Submit, "enter": Newline, "ctrl+j": Newline, "alt+enter": "", "ctrl+k": KillLineRight} {
		if got, _ := m.Find(mustParse(t, key), Editor); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if !m.Vim || len(m.Notes) != 0 || !slices.Equal(m.Keys(Newline), []string{"enter", "ctrl+j"}) || m.Key(Submit) != "ctrl+s" {
		t.Errorf("vim %v, notes %q, newline %q, submit %q", m.Vim, m.Notes, m.Keys(Newline), m.Key(Submit))
	}
}

func TestRead_TakesKeysFromOtherActionsAndReportsIt(t *testing.T) {
	m, err := Read("keys.toml", []byte("[editor]\nup = \"ctrl+r\"\nleft = \"ctrl+l\"\nright = [\"ctrl+i\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"keys.toml:2: ctrl+r is the key of editor.up now, and editor.history-search has no key",
		"keys.toml:3: ctrl+l is the key of editor.left, so it does not do global.redraw in this context",
		"keys.toml:4: editor.right: only terminals with the kitty keyboard protocol report ctrl+i",
	}
	if !slices.Equal(m.Notes, want) {
		t.Errorf("notes:\n%s\nwant:\n%s", strings.Join(m.Notes, "\n"), strings.Join(want, "\n"))
	}
	if got, _ := m.Find(mustParse(t, "ctrl+r"), Editor); got != CaretUp || len(m.Keys(HistorySearch)) != 0 {
		t.Errorf("ctrl+r is %s, and %s has %v", got, HistorySearch, m.Keys(HistorySearch))
	}
}

func TestRead_SwapsKeys(t *testing.T) {
	m, err := Read("keys.toml", []byte("[editor]\nup = \"down\"\ndown = \"up\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	up, _ := m.Find(mustParse(t, "up"), Editor)
	down, _ := m.Find(mustParse(t, "down"), Editor)
	if up != CaretDown || down != CaretUp || len(m.Notes) != 0 {
		t.Errorf("up is %s, down is %s, notes %q", up, down, m.Notes)
	}
}

func TestRead_RefusesMistakesWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"[editor]\nnewlin = \"ctrl+j\"":                   `k:2: unknown action "editor.newlin": did you mean newline`,
		"[editr]\n":                                       `k:1: unknown table [editr]: did you mean editor?`,
		"[[editor]]\n":                                    `k:1: unknown table [editor]`,
		"\nnewline = 1":                                   `k:2: unknown action "newline": did you mean editor.newline`,
		"[editor]\nnewline = \"ctrl+jj\"":                 `k:2: editor.newline: unknown key "ctrl+jj"`,
		"[editor]\nnewline = 3":                           `k:2: editor.newline must be the name of a key`,
		"[editor]\nnewline = [1]":                         `k:2: editor.newline must be the name of a key`,
		"[editor]\nup = \"x\"":                            `k:2: editor.up: x types text there: add ctrl or alt`,
		"[editor]\nup = \"alt+x\"\ndown = \"alt+x\"":      `k:3: editor.down: alt+x is the key of editor.up already, in line 2`,
		"[editor]\nup = \"alt+x\"\nup = \"alt+y\"":        `k:3: `,
		"editor.up = \"alt+x\"\n[editor]\nup=\"alt+x\"":   `k:2: `,
		"[question]\nrefuse = []":                         `k:2: question.refuse needs a key`,
		"[global]\nhelp = \"esc\"":                        `k:2: global.interrupt needs a key`,
		"[editor\n":                                       `k:1: `,
		"vim = 1":                                         `k:1: vim must be true or false`,
		"[editor]\nnewline = \"ctrl+j":                    `k:2: `,
		"[global]\nquit = [\"ctrl+q\", # x\n\"hyper+q\"]": `k:2: global.quit: unknown key "hyper+q"`,
	} {
		if _, err := Read("k", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func FuzzRead_NeverLeavesAnActionThatIsNeededWithoutAKey(f *testing.F) {
	f.Add([]byte("vim = true\n[editor]\nup = [\"alt+x\"]\n[global]\nquit=\"esc\"\ninterrupt=\"ctrl+c\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read("keys.toml", data)
		if err != nil {
			return
		}
		for _, a := range actions {
			for _, name := range m.Keys(a.action) {
				if got, _ := m.Find(mustParse(t, name), a.action.Context()); got != a.action {
					t.Errorf("%s is listed for %s, and does %s", name, a.action, got)
				}
			}
			if a.needed && len(m.Keys(a.action)) == 0 {
				t.Errorf("%s has no key", a.action)
			}
		}
	})
}

// page is the documentation with the table of keys between two marks.
const page = "../../../docs/terminal.md"

func TestDocs_ListTheKeys(t *testing.T) {
	const begin, end = "<!-- keys -->\n", "<!-- end of keys -->\n"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for the table", page)
	}
	want := markdown(Default())
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the keys in %s are not current: run go test ./internal/tui/keys -run Docs -update", page)
	}
}

// markdown returns the table of keys for the documentation.
func markdown(m *Map) string {
	titles := map[Context]string{
		Global:     "Everywhere",
		Editor:     "In the draft",
		List:       "In lists and completions",
		Question:   "In questions",
		Transcript: "In the conversation",
		Panel:      "In views",
	}
	var b strings.Builder
	for _, c := range Contexts() {
		b.WriteString("\n### " + titles[c] + "\n\n| key | does | action |\n|---|---|---|\n")
		for _, r := range m.Table(c) {
			keys := make([]string, len(r.Keys))
			for i, name := range r.Keys {
				keys[i] = "`" + name + "`"
			}
			b.WriteString("| " + strings.Join(keys, ", ") + " | " + r.Summary + " | `" + string(r.Action) + "` |\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}
