package term

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Graphics is a way in which a terminal draws images.
type Graphics uint8

// Ways to draw images.
const (
	NoGraphics Graphics = iota
	Cells               // kitty graphics with placeholders: images are sent once, and cells show them
	Drawn               // iTerm2 inline images: each drawing sends the image
)

const (
	queryGraphics = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t"
	imageChunk    = 4096 // bytes of base64 in a sequence
	imageIDs      = 1 << 12
	endImage      = "\x1b_Gm=0,q=2;\x1b\\" // of an image that was not sent completely
)

// graphics is what is known about the terminal's graphics.
type graphics struct {
	kitty   bool // it answered the query
	sixel   bool // as it says; VS Code says so if it draws images
	version string
	kind    Graphics
	w, h    int // of a cell in pixels, as it says; 0 is unknown

	first, next uint32 // numbers of images
}

func newGraphics() graphics { return graphics{first: 1<<16 + rand.Uint32N(1<<23)} }

// asks reports whether the terminal may draw images. A multiplexer does not know of them.
func (t *Terminal) asks() bool {
	name := t.o.Getenv("TERM")
	muxed := strings.HasPrefix(name, "tmux") || strings.HasPrefix(name, "screen")
	for _, v := range []string{"TMUX", "STY", "ZELLIJ"} {
		muxed = muxed || t.o.Getenv(v) != ""
	}
	return t.o.Images && !muxed && t.o.Getenv("TERM_PROGRAM") != "Apple_Terminal"
}

// Graphics returns how the terminal draws images: not at all until it has answered.
func (t *Terminal) Graphics() Graphics { return t.graphics.kind }

// learn applies a reply about graphics. The reply about attributes comes last.
func (g *graphics) learn(r Reply, getenv func(string) string) {
	switch r.Query {
	case QueryGraphics:
		g.kitty = r.Text == "OK"
	case QueryVersion:
		g.version = strings.ToLower(r.Text)
	case QueryCell:
		g.w, g.h = r.Mode, r.Value
	case QueryAttributes:
		g.sixel = r.Value == 1
		g.kind = g.choose(getenv)
	}
}

// choose returns how the terminal draws images. Only kitty and ghostty are known to have placeholders. A name in the
// environment may be that of a terminal from which this one was started, so the terminal's own name counts more.
func (g *graphics) choose(getenv func(string) string) Graphics {
	name, _, _ := strings.Cut(strings.ReplaceAll(g.version, "(", " "), " ")
	if name == "" {
		name = strings.ToLower(getenv("TERM_PROGRAM"))
		if getenv("LC_TERMINAL") == "iTerm2" {
			name = "iterm2"
		}
	}
	switch name {
	case "kitty", "ghostty":
		if g.kitty && !g.old() {
			return Cells
		}
	case "iterm2", "iterm.app", "wezterm", "mintty", "konsole":
		return Drawn
	case "xterm.js", "vscode":
		if g.sixel {
			return Drawn
		}
	}
	return NoGraphics
}

// old reports whether the terminal is a kitty without placeholders, which came with version 0.28.
func (g *graphics) old() bool {
	var major, minor int
	_, err := fmt.Sscanf(g.version, "kitty(%d.%d", &major, &minor)
	return err == nil && major == 0 && minor < 28
}

// Cell returns the size of a cell in pixels.
func (t *Terminal) Cell() (w, h int) {
	w, h = cellSize(t.o.Out)
	if w == 0 || h == 0 {
		w, h = t.graphics.w, t.graphics.h
	}
	if w < 4 || h < 8 || w > 64 || h > 128 {
		return 10, 20
	}
	return w, h
}

// SendImage gives a terminal with [Cells] an image, and returns the number that cells show it by. The terminal loses the image
// when it is restored, unless it is kept. SendImage returns false if the terminal was restored meanwhile. It takes as long as
// the terminal, which can be written to at the same time; but only one goroutine may send and delete images.
func (t *Terminal) SendImage(cols, rows int, png []byte, keep bool) (id uint32, ok bool) {
	id = t.graphics.first + t.graphics.next%imageIDs
	t.graphics.next++
	if w := t.watch.Load(); w != nil && !keep {
		w.images()
	}
	unfinished := mode{off: endImage + deleteImage(id)}
	t.set(unfinished, true)
	ok = true
	control := fmt.Sprintf("a=T,U=1,q=2,f=100,i=%d,c=%d,r=%d,", id, cols, rows)
	for data := base64.StdEncoding.EncodeToString(png); data != "" && ok; control = "" {
		n, more := min(len(data), imageChunk), 0
		if n < len(data) {
			more = 1
		}
		ok = t.offer(fmt.Sprintf("\x1b_G%sm=%d;%s\x1b\\", control, more, data[:n]))
		data = data[n:]
	}
	<-t.writer
	defer func() { t.writer <- struct{}{} }()
	t.modes.set(unfinished, false) // what it returns is written already, or not needed
	if ok = ok && t.state == ours; ok && !keep {
		t.modes.set(mode{off: deleteImage(id)}, true)
	}
	return id, ok
}

// DeleteImage deletes an image that is not kept.
func (t *Terminal) DeleteImage(id uint32) { t.set(mode{off: deleteImage(id)}, false) }

func deleteImage(id uint32) string { return fmt.Sprintf("\x1b_Ga=d,d=I,q=2,i=%d\x1b\\", id) }

// deleteAll deletes all images that are not kept, for the watchdog.
func (g *graphics) deleteAll() string {
	return endImage + fmt.Sprintf("\x1b_Ga=d,d=R,q=2,x=%d,y=%d\x1b\\", g.first, g.first+imageIDs-1)
}

// offer writes a sequence unless the terminal is restored.
func (t *Terminal) offer(s string) bool {
	<-t.writer
	defer func() { t.writer <- struct{}{} }()
	if t.state != ours {
		return false
	}
	_, err := t.o.Out.WriteString(s)
	return err == nil
}

// DrawImage returns the sequence with which a terminal with [Drawn] draws an image at the cursor.
func DrawImage(cols, rows int, png []byte) []byte {
	s := fmt.Sprintf("\x1b]1337;File=inline=1;size=%d;width=%d;height=%d;preserveAspectRatio=1:", len(png), cols, rows)
	return append(base64.StdEncoding.AppendEncode([]byte(s), png), '\a')
}
