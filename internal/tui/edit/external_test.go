package edit

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// script writes a shell script.
func script(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func variables(m map[string]string) func(string) string {
	return func(name string) string { return m[name] }
}

func TestExternal_EditsTheWholeTextInAPrivateFileAndFoldsItAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	seen := filepath.Join(t.TempDir(), "seen")
	editor := filepath.Join(t.TempDir(), "my editor")
	script(t, editor, `[ "$1" = --wait ] || exit 3
ls -ld "$(dirname "$2")" "$2" | cut -c1-10 >`+seen+`
sed -i 's/please fix/FIX/' "$2"; echo "and more" >>"$2"`)
	e := New(Options{})
	long := strings.Repeat("line\n", 20)
	press(t, e, "'please fix ")
	e.Paste(long)
	e.Insert("end")
	x, err := e.External(variables(map[string]string{"EDITOR": "false", "VISUAL": "'" + editor + "' --wait"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Finish(x.Cmd.Run()); err != nil {
		t.Fatal(err)
	}
	if got := e.Message().Text; got != "FIX "+long+"endand more" {
		t.Errorf("the draft is %q", got)
	}
	if got := screen(e, 60, 5); got != "FIX [paste #1, 20 lines]endand more|" {
		t.Errorf("shows %q", got)
	}
	modes, err := os.ReadFile(seen)
	if err != nil || string(modes) != "drwx------\n-rw-------\n" {
		t.Errorf("the file and its directory have the permissions %q, %v", modes, err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	e.Do(keys.Undo)
	if got := e.Message().Text; got != "please fix "+long+"end" {
		t.Errorf("undo makes %q", got)
	}
}

func TestExternal_KeepsTheDraftAfterAnError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	e := New(Options{})
	press(t, e, "'text")
	if _, err := e.External(variables(nil)); err == nil || !strings.Contains(err.Error(), "set VISUAL or EDITOR") {
		t.Errorf("without an editor: %v", err)
	}
	for editor, want := range map[string]string{
		"false; :": "the editor failed", "rm -f; exit 4; :": "exit status 4", "rm": "cannot read what the editor wrote",
	} {
		x, err := e.External(variables(map[string]string{"EDITOR": editor}))
		if err != nil {
			t.Fatal(err)
		}
		run := x.Cmd.Run()
		if editor == "false; :" {
			run = errors.New("signal")
		}
		if err := x.Finish(run); err == nil || !strings.Contains(err.Error(), want) || e.Message().Text != "text" {
			t.Errorf("%s: error %v, draft %q", editor, err, e.Message().Text)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEditorCommand_OnWindowsTakesQuotesAndArguments(t *testing.T) {
	for program, want := range map[string][]string{
		`"C:\Program Files\Code.exe" --wait`: {`C:\Program Files\Code.exe`, "--wait", "f"},
		`code --wait`:                        {"code", "--wait", "f"},
		`notepad`:                            {"notepad", "f"},
	} {
		if got := editorCommand("windows", program, "f").Args; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func TestClipboard_ReadsImagesWithTheProgramOfTheSystem(t *testing.T) {
	bin := t.TempDir()
	image := filepath.Join(bin, "image.png")
	if err := os.WriteFile(image, []byte(png), 0o600); err != nil {
		t.Fatal(err)
	}
	script(t, filepath.Join(bin, "wl-paste"), `case "$*" in
--list-types) echo text/plain; echo image/png;;
"--no-newline --type image/png") cat `+image+`;;
*) exit 1;; esac`)
	script(t, filepath.Join(bin, "xclip"), `case "$*" in
"-selection clipboard -t TARGETS -o") echo TARGETS; echo image/png;;
"-selection clipboard -t image/png -o") cat `+image+`;;
*) exit 1;; esac`)
	script(t, filepath.Join(bin, "osascript"), `echo '«data PNGf`+strings.ToUpper(hex.EncodeToString([]byte(png)))+`»'`)
	script(t, filepath.Join(bin, "powershell.exe"), `echo '`+base64.StdEncoding.EncodeToString([]byte(png))+`'; printf '\r\n'`)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, c := range map[string]Clipboard{
		"wayland": {"linux", variables(map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"})},
		"x11":     {"linux", variables(map[string]string{"DISPLAY": ":0"})},
		"x11 ssh": {"linux", variables(map[string]string{"DISPLAY": "localhost:10.0", "SSH_TTY": "/dev/pts/1"})},
		"macos":   {"darwin", variables(nil)},
		"wsl":     {"linux", variables(map[string]string{"WSL_DISTRO_NAME": "Ubuntu", "WAYLAND_DISPLAY": "wayland-0"})},
		"windows": {"windows", variables(nil)},
	} {
		if i, err := c.Image(t.Context()); err != nil || string(i.Data) != png || i.Type != "image/png" {
			t.Errorf("%s: %q, %s, %v", name, i.Data, i.Type, err)
		}
	}
}

func TestClipboard_SaysWhyThereIsNoImage(t *testing.T) {
	bin := t.TempDir()
	script(t, filepath.Join(bin, "wl-paste"), `case "$1" in --list-types) echo "$TYPES";; *) echo text;; esac`)
	script(t, filepath.Join(bin, "powershell.exe"), "exit 0")
	wayland := variables(map[string]string{"WAYLAND_DISPLAY": "w"})
	for _, c := range []struct {
		path, types string
		clipboard   Clipboard
		want        string
	}{
		{bin, "text/plain", Clipboard{"linux", wayland}, "the clipboard has no image"},
		{bin, "image/png", Clipboard{"linux", wayland}, "the image in the clipboard is not a PNG, JPEG, WebP or GIF image"},
		{"/nonexistent", "", Clipboard{"linux", wayland}, "pasting images needs wl-paste: install wl-clipboard"},
		{"/nonexistent", "", Clipboard{"linux", variables(map[string]string{"DISPLAY": ":0"})}, "pasting images needs xclip: install xclip"},
		{bin, "", Clipboard{"linux", variables(map[string]string{"SSH_CONNECTION": "x"})}, "the clipboard is on the computer that you connect from"},
		{bin, "", Clipboard{"darwin", variables(map[string]string{"SSH_TTY": "x"})}, "the clipboard is on the computer that you connect from"},
		{bin, "", Clipboard{"linux", variables(nil)}, "there is no clipboard"},
		{bin, "", Clipboard{"windows", variables(nil)}, "the clipboard has no image"},
	} {
		t.Setenv("PATH", c.path+string(os.PathListSeparator)+"/bin:/usr/bin")
		if c.path == "/nonexistent" {
			t.Setenv("PATH", c.path)
		}
		t.Setenv("TYPES", c.types)
		if _, err := c.clipboard.Image(t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestDropped_RecognizesPathsOfImagesAsTerminalsWriteThem(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a b's.png"), filepath.Join(dir, "ü.JPG")
	for _, path := range []string{a, b, filepath.Join(dir, "c.txt")} {
		if err := os.WriteFile(path, []byte(png), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := (&url.URL{Scheme: "file", Path: a}).String()
	for pasted, want := range map[string][]string{
		b:             {b},
		b + "\n":      {b},
		`"` + a + `"`: {a},
		strings.NewReplacer(" ", `\ `, "'", `\'`).Replace(a) + " " + b: {a, b},
		"'" + strings.ReplaceAll(a, "'", `'\''`) + "' '" + b + "'":     {a, b},
		file:                        {a},
		file + "\n" + file:          {a, a},
		a:                           nil, // an open quote
		filepath.Join(dir, "c.txt"): nil,
		filepath.Join(dir, "d.png"): nil,
		"look at " + b:              nil,
		"a.png":                     nil,
		"":                          nil,
		dir:                         nil,
	} {
		if got := Dropped(pasted); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", pasted, got, want)
		}
	}
	if i, err := ReadImage(a); err != nil || i.Name != "a b's.png" || i.Type != "image/png" {
		t.Errorf("read %+v, %v", i, err)
	}
	for path, want := range map[string]string{dir: "is not a file", filepath.Join(dir, "d.png"): "cannot read the image"} {
		if _, err := ReadImage(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := os.Truncate(a, 21<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadImage(a); err == nil || !strings.Contains(err.Error(), "is larger than 20 MB") {
		t.Errorf("21 MB: %v", err)
	}
}

func FuzzDropped_NeverPanics(f *testing.F) {
	f.Add(`'a b' c\ d "e" file:///x%20y.png`)
	f.Fuzz(func(t *testing.T, s string) {
		if list := Dropped(s); len(list) > 20 {
			t.Errorf("%d paths", len(list))
		}
	})
}
