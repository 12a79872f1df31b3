//go:build unix

package tui

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/internal/tui/tuitest"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// What terminals answer: their names, graphics, the size of a cell, and attributes.
const (
	asKitty  = "\x1bP>|kitty(0.40.0)\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;22c"
	asITerm  = "\x1bP>|iTerm2 3.6.9\x1b\\\x1b[6;20;10t\x1b[?62;22c"
	ctrlHome = "\x1b[1;5H"
	ctrlEnd  = "\x1b[1;5F"
	lineUp   = "\x1b[1;2A"
	lineDown = "\x1b[1;2B"
)

// drawing returns a PNG.
func drawing(w, h int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, color.RGBA{uint8(i), uint8(i / w), 99, 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// attaches attaches an image of 200×100 pixels, which is 20×5 cells, and sends it.
func (r *rig) attaches(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	r.check(os.WriteFile(path, drawing(200, 100), 0o600))
	r.press("\x1b[200~" + path + "\x1b[201~")
	r.sees("[image #1, " + name + "]")
	r.press(text)
	r.sees(text)
	r.press(enter)
}

// parts returns the rows of an image that the screen shows, each with its row on the screen, such as "3:0 4:1". A row is
// shown only if it has all columns.
func parts(e *tuitest.Emulator, cols int) string {
	var list []string
	for y := range e.H {
		row, n := -1, 0
		for x := range e.W {
			if p, ok := e.PartAt(x, y); ok && p.X == n {
				row, n = p.Y, n+1
			}
		}
		if n == cols {
			list = append(list, fmt.Sprintf("%d:%d", y, row))
		} else if n > 0 {
			list = append(list, fmt.Sprintf("%d:%d, %d columns", y, row, n))
		}
	}
	return strings.Join(list, " ")
}

// shows waits until the screen shows rows of an image.
func (r *rig) shows(want string) {
	r.t.Helper()
	r.until("the image in the rows "+want, func(string) bool { return parts(r.screen, 20) == want })
}

// sent returns how many images the terminal got, and which it has.
func (r *rig) sent() (sent int, has []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.screen.Images {
		has = append(has, id)
	}
	return len(r.screen.Sent), has
}

func TestImages_KittyGetsAnImageOnceAndShowsItInCells(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("first"), llmtest.Say(strings.Repeat("a line\n\n", 30)+"the end"))
	r.press(asKitty)
	r.attaches("shot.png", "What is this?")
	r.sees("[image shot.png, 200×100, ")
	r.shows("1:0 2:1 3:2 4:3 5:4")
	if strings.Contains(r.text(), "[image]") {
		t.Errorf("the image is named twice:\n%s", r.text())
	}
	r.sends("More")
	r.sees("the end")
	r.press(ctrlHome)
	r.shows("1:0 2:1 3:2 4:3 5:4")
	r.press(lineDown)
	r.shows("0:0 1:1 2:2 3:3 4:4")
	r.press(lineDown + lineDown)
	r.shows("0:2 1:3 2:4") // clipped at the window's edge
	r.press(lineUp)
	r.shows("0:1 1:2 2:3 3:4")
	r.press(ctrlEnd)
	r.shows("")
	eventually(t, "silence", func() bool {
		before := r.bytes()
		time.Sleep(300 * time.Millisecond)
		return r.bytes() == before
	})
	if sent, has := r.sent(); sent != 1 || len(has) != 1 {
		t.Errorf("the terminal got %d images and has %v, want one", sent, has)
	}
	r.mu.Lock()
	i := r.screen.Sent[0]
	r.mu.Unlock()
	if i.Cols != 20 || i.Rows != 5 || i.Width != 200 || i.Height != 100 {
		t.Errorf("the terminal got %+v", i)
	}
	r.press(ctrlQ)
	r.quits()
	r.until("a terminal without images", func(string) bool { return len(r.screen.Images) == 0 })
	r.understood()
}

// understood checks that the terminal understood everything.
func (r *rig) understood() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.screen.Unknown) > 0 {
		r.t.Errorf("unknown sequences %q", r.screen.Unknown)
	}
}

func TestImages_AnotherSizeReplacesTheImage(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("seen"))
	r.press(asKitty)
	r.attaches("shot.png", "What is this?")
	r.shows("1:0 2:1 3:2 4:3 5:4")
	r.mu.Lock()
	r.screen.Resize(14, 24)
	r.mu.Unlock()
	r.check(pty.Setsize(r.pty, &pty.Winsize{Rows: 24, Cols: 14}))
	r.resized(14, 24)
	r.until("a smaller image", func(string) bool { return strings.Count(parts(r.screen, 12), ":") == 3 && len(r.screen.Images) == 1 })
	if sent, _ := r.sent(); sent != 2 {
		t.Errorf("the terminal got %d images, want 2", sent)
	}
	r.app.post(func() { r.app.terminal(term.Resume{}) }) // the terminal lost its images when it was restored
	r.until("the image again", func(string) bool {
		return len(r.screen.Sent) == 3 && len(r.screen.Images) == 1 && strings.Count(parts(r.screen, 12), ":") == 3
	})
}

func TestImages_ITermDrawsWhatIsCompleteAndSettled(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, llmtest.Say("first"), llmtest.Say(strings.Repeat("a line\n\n", 30)+"the end"))
	r.press(asITerm)
	r.attaches("shot.png", "What is this?")
	r.shows("1:0 2:1 3:2 4:3 5:4")
	r.sees("first")
	r.press("typing does not draw it again")
	r.sees("draw it again")
	if sent, _ := r.sent(); sent != 1 {
		t.Errorf("the terminal got the image %d times, want once", sent)
	}
	r.press("\x15") // ctrl+u
	r.sends("More")
	r.sees("the end")
	r.press(ctrlHome)
	r.shows("1:0 2:1 3:2 4:3 5:4")
	r.press(lineDown)
	r.shows("0:0 1:1 2:2 3:3 4:4")
	r.press(lineDown)
	r.shows("") // it is not complete
	r.sees("[image shot.png, 200×100, ")
	r.press(lineUp)
	r.shows("0:0 1:1 2:2 3:3 4:4")
	r.mu.Lock()
	r.screen.Resize(60, 20)
	r.mu.Unlock()
	r.check(pty.Setsize(r.pty, &pty.Winsize{Rows: 20, Cols: 60}))
	r.resized(60, 20)
	r.shows("0:0 1:1 2:2 3:3 4:4")
	r.press(ctrlQ)
	r.quits()
	r.understood()
}

func TestImages_TerminalsThatCannotDrawGetNone(t *testing.T) {
	t.Parallel()
	tmux := map[string]string{"TERM": "xterm-256color", "TMUX": "/tmp/tmux", "TERM_PROGRAM": "iTerm.app"}
	for name, test := range map[string]struct {
		answer string
		env    map[string]string
		off    bool
		asked  int
	}{
		"no answer":        {"", map[string]string{"TERM_PROGRAM": "iTerm.app"}, false, 1},
		"xterm":            {"\x1bP>|XTerm(370)\x1b\\\x1b[?62;22c", map[string]string{"TERM_PROGRAM": "iTerm.app"}, false, 1},
		"no placeholders":  {"\x1bP>|other 1.0\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[?62;22c", nil, false, 1},
		"kitty without":    {"\x1bP>|kitty(0.40.0)\x1b\\\x1b_Gi=31;ENOTSUP:no\x1b\\\x1b[?62;22c", nil, false, 1},
		"an old kitty":     {strings.Replace(asKitty, "0.40.0", "0.26.5", 1), nil, false, 1},
		"VS Code without":  {"\x1bP>|xterm.js(6.1.0)\x1b\\\x1b[?62;22c", nil, false, 1},
		"tmux":             {asKitty, tmux, false, 0},
		"screen":           {asITerm, map[string]string{"TERM": "screen.xterm-256color"}, false, 0},
		"off":              {asKitty, nil, true, 0},
		"the Apple one":    {"\x1b[?1;2c", map[string]string{"TERM_PROGRAM": "Apple_Terminal"}, false, 0},
		"the Linux one":    {asKitty, map[string]string{"TERM": "linux"}, true, 0},
		"an older Windows": {"\x1b[?1;0c", nil, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, 80, 24, func(_ *rig, o *Options) {
				o.NoImages = test.off
				o.Getenv = func(name string) string {
					if v, ok := test.env[name]; ok || name != "TERM" {
						return v
					}
					return "xterm-256color"
				}
			}, llmtest.Say("seen"))
			r.press(test.answer)
			r.attaches("shot.png", "What is this?")
			r.sees("[image shot.png, 200×100, ")
			r.sees("seen")
			r.press(ctrlQ)
			r.quits()
			r.mu.Lock()
			defer r.mu.Unlock()
			raw := slices.ContainsFunc(r.screen.Strings, func(s string) bool {
				return strings.HasPrefix(s, "_G") && !strings.Contains(s, "a=q") || strings.Contains(s, "1337")
			})
			if raw || r.screen.Asked != test.asked || strings.ContainsRune(r.all.String(), '\U0010EEEE') {
				t.Errorf("asked %d times, want %d; strings %q", r.screen.Asked, test.asked, r.screen.Strings)
			}
		})
	}
}

func TestImages_InlineTheyBecomePartOfTheHistory(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"kitty": asKitty, "iterm": asITerm} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, 80, 24, func(_ *rig, o *Options) { o.Inline = true }, llmtest.Say("seen"))
			r.sees(Placeholder)
			r.press(answer)
			r.attaches("shot.png", "What is this?")
			r.sees("seen")
			r.until("the whole image", func(s string) bool {
				rows := strings.Split(parts(r.screen, 20), " ")
				return len(rows) == 5 && strings.HasSuffix(rows[0], ":0") && strings.HasSuffix(rows[4], ":4")
			})
			r.press(ctrlQ)
			r.quits()
			r.understood()
			r.mu.Lock()
			defer r.mu.Unlock()
			if rows := strings.Fields(parts(r.screen, 20)); len(rows) != 5 || len(r.screen.Sent) != 1 {
				t.Errorf("after the end: rows %q, %d images\n%s", rows, len(r.screen.Sent), r.screen.Text())
			}
		})
	}
}

func TestImages_OfToolResultsAreDrawn(t *testing.T) {
	t.Parallel()
	r := start(t, 80, 24, nil, call("read_file", "file_path", "plot.png"), llmtest.Say("a plot"))
	r.check(os.WriteFile(filepath.Join(r.dir, "plot.png"), drawing(100, 60), 0o600))
	r.press(asKitty)
	r.sends("Read the plot")
	r.sees("a plot")
	r.sees("[image plot.png, 100×60, ")
	r.until("the image", func(string) bool { return strings.Count(parts(r.screen, 10), ":") == 3 })
}

// altered is a session whose images have other data.
type altered struct {
	session.Handle
	change func(llm.Media) llm.Media
}

func (h altered) Events(ctx context.Context, after event.Seq) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		for r, err := range h.Handle.Events(ctx, after) {
			if d, ok := r.Data.(event.UserInput); ok {
				d.Message.Parts = slices.Clone(d.Message.Parts)
				for i, p := range d.Message.Parts {
					if img, ok := p.(llm.Image); ok {
						img.Media = h.change(img.Media)
						d.Message.Parts[i] = img
					}
				}
				r.Data = d
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// bomb returns a PNG of 60000×60000 pixels, by its header.
func bomb() []byte {
	b := drawing(1, 1)
	binary.BigEndian.PutUint32(b[16:], 60000)
	binary.BigEndian.PutUint32(b[20:], 60000)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func TestImages_HostileOnesAreOnlyCaptions(t *testing.T) {
	t.Parallel()
	whole := drawing(200, 100)
	for name, test := range map[string]struct {
		media llm.Media
		want  string
	}{
		"truncated": {llm.Media{Data: whole[:len(whole)/2], Name: "half.png"}, "[image half.png, 200×100, "},
		"a bomb":    {llm.Media{Data: bomb(), Name: "bomb.png"}, "[image bomb.png, 60000×60000, "},
		"no image":  {llm.Media{Data: []byte("hello"), Name: "none.png"}, "[image none.png, 1 KB]"},
		"a name":    {llm.Media{Data: []byte("hello"), Name: "a\x1b]0;owned\x07\U0010EEEE\u202e.png"}, "[image a␛]0;owned␇��.png, 1 KB]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, 80, 24, func(_ *rig, o *Options) {
				first := o.First
				o.First = func(ctx context.Context) (session.Handle, error) {
					h, err := first(ctx)
					return altered{h, func(llm.Media) llm.Media { return test.media }}, err
				}
			}, llmtest.Say("seen"))
			r.press(asKitty)
			r.attaches("shot.png", "What is this?")
			r.sees("seen")
			r.until(test.want+" below the text", func(s string) bool {
				_, after, found := strings.Cut(s, "What is this?\n  "+test.want)
				return found && strings.Contains(after, "seen")
			})
			r.mu.Lock()
			defer r.mu.Unlock()
			if all := strings.Join(r.screen.Strings, "\n"); len(r.screen.Sent) > 0 || strings.Contains(all, "owned") {
				t.Errorf("the terminal got %d images and %q", len(r.screen.Sent), all)
			}
		})
	}
}

func TestImages_TakeAtMostTwoFifthsOfTheHeight(t *testing.T) {
	r := start(t, 80, 24, nil)
	r.sees(Placeholder)
	size := make(chan string)
	for _, test := range []struct {
		w, h, width int
		want        string
	}{
		{100, 100, 78, "10×5"},
		{4000, 4000, 78, "18×9"},
		{4000, 100, 78, "78×1"},
		{1, 4000, 78, "1×9"},
		{1, 1, 78, "1×1"},
		{70000, 70000, 78, "0×0"},
		{0, 0, 78, "0×0"},
		{100, 100, 1, "0×0"},
	} {
		r.app.post(func() {
			cols, rows := r.app.images.size(view.Image{Width: test.w, Height: test.h}, test.width)
			size <- fmt.Sprintf("%d×%d", cols, rows)
		})
		if got := <-size; got != test.want {
			t.Errorf("an image of %d×%d pixels has %s cells, want %s", test.w, test.h, got, test.want)
		}
	}
}

var _ render.Images = (*images)(nil)
