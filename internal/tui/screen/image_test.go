package screen

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/internal/tui/tuitest"
)

const cols, rows = 8, 3

func pixels() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, cols, rows))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// picture returns an image, which the emulator already has if it is shown in cells.
func picture(e *tuitest.Emulator, drawn bool) *text.Image {
	if drawn {
		return &text.Image{Cols: cols, Rows: rows, Draw: term.DrawImage(cols, rows, pixels())}
	}
	e.Images = map[int]tuitest.Image{0x123456: {ID: 0x123456, Cols: cols, Rows: rows}}
	return &text.Image{Cols: cols, Rows: rows, ID: 0x123456}
}

// place returns lines with the block of an image at a column, from a row on that may be outside of the screen.
func place(lines []text.Line, i *text.Image, x, y int) []text.Line {
	out := append([]text.Line(nil), lines...)
	for n, l := range i.Lines() {
		if at := y + n; at >= 0 && at < len(out) {
			out[at] = append(text.Line{{Text: strings.Repeat("-", x)}}, l...)
		}
	}
	return out
}

// checkParts checks that the emulator shows the image from a cell on, and nowhere else.
func checkParts(t *rapid.T, e *tuitest.Emulator, x, y int, visible bool) {
	for row := range e.H {
		for column := range e.W {
			p, got := e.PartAt(column, row)
			want := visible && column >= x && column < x+cols && row >= y && row < y+rows
			if got != want || want && (p.X != column-x || p.Y != row-y) {
				t.Fatalf("column %d, row %d: part %+v, %v; the image is at %d, %d and visible: %v", column, row, p, got, x, y, visible)
			}
		}
	}
	if len(e.Unknown) > 0 {
		t.Fatalf("unknown sequences %q", e.Unknown)
	}
}

func TestImage_IsWhereItsCellsAreAndNowhereElse(t *testing.T) {
	for name, drawn := range map[string]bool{"cells": false, "drawn": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				const w, h = 30, 10
				s, e := New(w, h, false, dark.SGR), tuitest.New(w, h)
				s.Sync, e.Modes["?7"] = rapid.Bool().Draw(t, "sync"), false
				i := picture(e, drawn)
				var lines []text.Line
				for range rapid.IntRange(1, 8).Draw(t, "frames") {
					lines = nextLines(t, lines, h)
					x, y := rapid.SampledFrom([]int{0, 2, 5}).Draw(t, "x"), rapid.IntRange(-rows, h).Draw(t, "y")
					f := Frame{Lines: place(fit(lines, w, s.Rule), i, x, y), Cursor: true}
					e.Write(s.Paint(f))
					if owes := s.Owes() > 0; owes && !drawn {
						t.Fatal("an image in cells waits to be drawn")
					}
					s.images.since = time.Time{} // it has had its place for a while
					e.Write(s.Paint(f))
					whole := y >= 0 && y+rows <= h
					checkParts(t, e, x, y, whole || !drawn)
					if drawn { // its cells are blank
						check(t, e, f.Lines, s.Rule)
					}
					if e.X != 0 || e.Y != 0 || s.Owes() > 0 {
						t.Fatalf("the cursor is at %d, %d, and it owes an image: %v", e.X, e.Y, s.Owes())
					}
					if out := s.Paint(f); len(out) != 0 {
						t.Fatalf("an equal frame took the bytes %q", out)
					}
				}
			})
		})
	}
}

func TestImage_IsNotDrawnWhileItMoves(t *testing.T) {
	s, e := New(30, 10, false, dark.SGR), tuitest.New(30, 10)
	i := picture(e, true)
	for y := range 6 {
		e.Write(s.Paint(Frame{Lines: place(make([]text.Line, 10), i, 0, y)}))
	}
	if len(e.Sent) > 0 || s.Owes() <= 0 {
		t.Errorf("the terminal got the image %d times while it moved; it is drawn after %v", len(e.Sent), s.Owes())
	}
}

func TestImage_IsPrintedAboveAnInlineScreen(t *testing.T) {
	for name, drawn := range map[string]bool{"cells": false, "drawn": true} {
		t.Run(name, func(t *testing.T) {
			s, e := New(30, 3, true, dark.SGR), tuitest.New(30, 10)
			i := picture(e, drawn)
			for n := range 3 {
				lines := append(place(make([]text.Line, rows), i, 2, 0), text.Line{{Text: "caption"}})
				e.Write(s.Print(lines, Frame{Lines: []text.Line{{{Text: "region"}}, nil, {{Text: "end"}}}, Cursor: true}))
				if got := strings.Count(e.Text(), "region"); got != 1 {
					t.Fatalf("after %d images the region is shown %d times:\n%s", n+1, got, e.Text())
				}
			}
			shown := 0
			for y := range e.H {
				for x := range e.W {
					if p, ok := e.PartAt(x, y); ok && p.X == x-2 {
						shown++
					}
				}
			}
			// Above the region, there is room for the last image, and two rows of the image before, with their captions.
			if want := cols * (rows + 2); shown != want || len(e.Unknown) > 0 {
				t.Errorf("%d cells show images, want %d; unknown %q\n%s", shown, want, e.Unknown, e.Text())
			}
		})
	}
}

func TestPaint_ForgetsImagesThatAreDrawn(t *testing.T) {
	s := New(10, 3, false, dark.SGR)
	for range 5 {
		i := &text.Image{Cols: 4, Rows: 2, Draw: []byte("much data")}
		s.Paint(Frame{Lines: i.Lines()})
	}
	s.Paint(Frame{})
	for style := range s.styles {
		if style.Image != nil {
			t.Errorf("the screen remembers %+v", *style.Image)
		}
	}
}
