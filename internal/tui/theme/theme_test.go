package theme

import (
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/text"
)

// backgrounds are common backgrounds of terminals, dark and light.
var backgrounds = map[bool][]RGB{
	true:  {{0, 0, 0}, {12, 12, 12}, {30, 30, 30}, {40, 42, 54}, {40, 44, 52}, {0, 43, 54}},
	false: {{255, 255, 255}, {250, 250, 250}, {253, 246, 227}, {239, 241, 245}},
}

func TestThemes_TextHasAContrastOfFourAndAHalf(t *testing.T) {
	for _, name := range Names() {
		for _, dark := range []bool{true, false} {
			for _, depth := range []Depth{TrueColor, ANSI256} {
				checkContrast(t, Named(name, dark, depth), 4.5)
			}
		}
	}
}

func TestThemes_HighContrastIsSevenOnBlackAndWhite(t *testing.T) {
	for _, name := range []string{"dark-contrast", "light-contrast"} {
		checkContrast(t, Named(name, false, TrueColor), 7)
	}
}

func checkContrast(t *testing.T, theme *Theme, want float64) {
	t.Helper()
	for role, look := range theme.Looks {
		if look.FG == nil {
			continue
		}
		grounds := backgrounds[theme.Dark]
		if want == 7 {
			grounds = grounds[:1]
		}
		if look.BG != nil {
			grounds = []RGB{shown(*look.BG, theme.Depth)}
		}
		for _, ground := range grounds {
			if c := Contrast(shown(*look.FG, theme.Depth), ground); c < want {
				t.Errorf("%s, depth %d: %s on %v has a contrast of %.1f, want %.1f",
					theme.Name, theme.Depth, names[role], ground, c, want)
			}
		}
	}
}

// shown returns the color that a terminal shows.
func shown(c RGB, d Depth) RGB {
	if d == ANSI256 {
		return palette(near(c))
	}
	return c
}

func TestTheme_ANSIUsesOnlyTheSixteenColors(t *testing.T) {
	for _, dark := range []bool{true, false} {
		theme := Named("ansi", dark, TrueColor)
		for role := range text.Roles {
			for p := range strings.SplitSeq(theme.SGR(text.Style{Role: role}), ";") {
				n, _ := strconv.Atoi(p)
				if n == 38 || n == 39 || n >= 48 && n < 90 {
					t.Errorf("%s has the parameter %s", names[role], p)
				}
			}
		}
	}
}

func TestTheme_WithoutColorsOnlyAttributes(t *testing.T) {
	theme := Named("auto", true, DepthOf(func(k string) string {
		return map[string]string{"NO_COLOR": "1", "COLORTERM": "truecolor"}[k]
	}))
	if got := theme.SGR(text.Style{Role: text.Failure, Attr: text.Bold}); got != "1" {
		t.Errorf("a bold failure is %q, want 1", got)
	}
	if got := theme.SGR(text.Style{Role: text.Selected}); got != "7" {
		t.Errorf("a selection is %q, want 7: it must be seen without colors", got)
	}
}

func TestDepthOf_ReadsTheEnvironment(t *testing.T) {
	for want, env := range map[Depth]map[string]string{
		TrueColor:  {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
		ANSI256:    {"TERM": "tmux-256color"},
		ANSI16:     {"TERM": "xterm"},
		Monochrome: {"TERM": "dumb"},
	} {
		if got := DepthOf(func(k string) string { return env[k] }); got != want {
			t.Errorf("DepthOf(%v) = %d, want %d", env, got, want)
		}
	}
}

func TestRead_ChangesRolesForEachBackground(t *testing.T) {
	f, err := Read("x.toml", []byte(`
accent = "bold #010203 on #dadbdc"

[light]
accent = "#005a8f"
`))
	if err != nil || len(f.Notes) > 0 {
		t.Fatal(err, f)
	}
	for dark, want := range map[bool]string{true: "1;38;2;1;2;3;48;2;218;219;220", false: "38;2;0;90;143"} {
		theme := f.Theme(dark, TrueColor)
		if got := theme.SGR(text.Style{Role: text.Accent}); got != want {
			t.Errorf("dark %v: the accent is %q, want %q", dark, got, want)
		}
		if got, want := theme.SGR(text.Style{Role: text.Failure}), Named("", dark, TrueColor).SGR(text.Style{Role: text.Failure}); got != want {
			t.Errorf("dark %v: a failure is %q, want %q as in the base", dark, got, want)
		}
	}
}

func TestRead_MistakesNameTheLine(t *testing.T) {
	for file, want := range map[string]string{
		"\naccnt = '#010203'":          `x.toml:2: unknown role "accnt"; did you mean accent?`,
		"[dark]\naccent = 'blue-ish'":  `x.toml:2: accent: "blue-ish" is not a color`,
		"[sepia]\naccent = '#010203'":  `x.toml:1: unknown table or key "sepia"`,
		"base = 'sepia'":               `x.toml:1: unknown theme "sepia"; use auto`,
		"accent = 3":                   `x.toml:1: accent must be a text`,
		"\n\naccent = ":                `x.toml:3: `,
		"[dark]\n[dark.x]\na = '#000'": `x.toml:2: unknown table`,
	} {
		if _, err := Read("x.toml", []byte(file)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got the error %v, want %s", file, err, want)
		}
	}
}

func TestRead_NotesColorsThatAreHardToRead(t *testing.T) {
	for file, want := range map[string]string{
		"accent = '#888888'":                                  "x.toml:1: accent is hard to read on a light background: its contrast is 3.5",
		"base = 'dark'\naccent = '#444444'":                   "x.toml:2: accent is hard to read on a dark background",
		"base = 'dark'\naccent = '#ffffff'":                   "",
		"accent = '#222222 on #333333'":                       "x.toml:1: accent is hard to read on its background",
		"accent = '#000000'\n[dark]\naccent = '#ffffff'":      "",
		"base = 'light-contrast'\n[dark]\naccent = '#000000'": "",
	} {
		f, err := Read("x.toml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.Notes, " "); !strings.HasPrefix(got, want) || (want == "") != (got == "") || len(f.Notes) > 1 {
			t.Errorf("%q: got %q, want %q", file, f.Notes, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("accent = '#010203'\n[light]\naccent = 'bold #000000 on #ffffff'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := Read("x.toml", data); err == nil {
			file.Theme(true, TrueColor)
		}
	})
}

func TestNames_EveryRoleHasAName(t *testing.T) {
	for role, name := range names {
		if name == "" {
			t.Errorf("role %d has no name", role)
		}
	}
}
