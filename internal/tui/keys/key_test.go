package keys

import (
	"strings"
	"testing"
)

func TestParse_ReadsTheNamesThatUsersWrite(t *testing.T) {
	for name, want := range map[string]Key{
		"a":              {Code: 'a', Text: "a"},
		"G":              {Code: 'g', Mods: Shift, Text: "G"},
		"shift+g":        {Code: 'g', Mods: Shift, Text: "G"},
		"?":              {Code: '?', Text: "?"},
		"space":          {Code: ' ', Text: " "},
		"ctrl+j":         {Code: 'j', Mods: Ctrl},
		"Control+J":      {Code: 'j', Mods: Ctrl | Shift},
		"ctrl+space":     {Code: ' ', Mods: Ctrl},
		"ctrl++":         {Code: '+', Mods: Ctrl},
		"+":              {Code: '+', Text: "+"},
		"ctrl+alt+x":     {Code: 'x', Mods: Ctrl | Alt},
		"alt+shift+left": {Code: Left, Mods: Alt | Shift},
		"shift+enter":    {Code: Enter, Mods: Shift},
		"return":         {Code: Enter},
		"Escape":         {Code: Esc},
		"PageDown":       {Code: PgDown},
		"f1":             {Code: F1},
		"f24":            {Code: F1 + 23},
		"cmd+k":          {Code: 'k', Mods: Super},
		`\`:              {Code: '\\', Text: `\`},
		"é":              {Code: 'é', Text: "é"},
	} {
		if got, err := Parse(name); err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestParse_RefusesUnknownNamesAndSaysWhy(t *testing.T) {
	for name, want := range map[string]string{
		"":            "write a character",
		"hyper+x":     `"hyper" is not one of`,
		"ctrl+":       "write a character",
		"ctrl+enterr": "write a character",
		"f0":          "write a character",
		"f25":         "write a character",
		"f+1":         `"f" is not one of`,
		"f01":         "write a character",
		"\x01":        "write a character",
		"\xff":        "write a character",
	} {
		if k, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %+v, %v; want an error with %q", name, k, err, want)
		}
	}
}

func TestString_IsTheSameForTheSameKeyInEveryTerminal(t *testing.T) {
	for want, list := range map[string][]Key{
		"G":           {{Code: 'g', Mods: Shift, Text: "G"}, {Code: 'G', Text: "G"}},
		"alt+shift+a": {{Code: 'a', Mods: Alt | Shift}, {Code: 'A', Mods: Alt}},
		"space":       {{Code: ' ', Text: " "}},
		"ctrl+_":      {{Code: '_', Mods: Ctrl}},
		"pgdown":      {{Code: PgDown}},
		"f12":         {{Code: F1 + 11}},
	} {
		for _, k := range list {
			if got := k.String(); got != want {
				t.Errorf("%+v.String() = %q, want %q", k, got, want)
			}
		}
	}
}

func FuzzParse_ReadsWhatStringWrites(f *testing.F) {
	for _, s := range []string{"ctrl+j", "G", "alt+shift+left", "f12", "++", "ctrl++", "space", "ß", "ǅ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, err := Parse(name)
		if err != nil {
			return
		}
		again, err := Parse(k.String())
		if err != nil || again.String() != k.String() {
			t.Errorf("Parse(%q) is %q, which is read as %q, %v", name, k, again, err)
		}
	})
}
