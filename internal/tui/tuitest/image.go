package tuitest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Image is an image that the emulator got, with kitty graphics or as an iTerm2 inline image.
type Image struct {
	ID         int // kitty graphics only
	Cols, Rows int
	Width      int // in pixels
	Height     int
}

// transfer is a kitty image of which more parts come.
type transfer struct {
	Image
	data []byte
	open bool
}

// keyValues reads control data.
func keyValues(s, separator string) map[string]string {
	m := make(map[string]string)
	for _, pair := range strings.Split(s, separator) {
		k, v, _ := strings.Cut(pair, "=")
		m[k] = v
	}
	return m
}

func integer(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// kitty handles a graphics command.
func (e *Emulator) kitty(s string) {
	control, payload, _ := strings.Cut(s, ";")
	m := keyValues(control, ",")
	switch {
	case m["a"] != "" && e.part.open:
		e.Unknown = append(e.Unknown, "_G"+control+" within an image")
		return
	case m["a"] == "q":
		e.Asked++
		return
	case m["a"] == "d" && (m["d"] == "I" || m["d"] == "R"):
		first, last := integer(m["i"]), integer(m["i"])
		if m["d"] == "R" {
			first, last = integer(m["x"]), integer(m["y"])
		}
		for id := range e.Images {
			if id >= first && id <= last {
				delete(e.Images, id)
			}
		}
		return
	case m["a"] == "T" && m["U"] == "1" && m["f"] == "100" && m["q"] == "2":
		e.part = transfer{Image: Image{ID: integer(m["i"]), Cols: integer(m["c"]), Rows: integer(m["r"])}, open: true}
	case m["a"] != "" || !e.part.open && len(payload) > 0:
		e.Unknown = append(e.Unknown, "_G"+control)
		return
	}
	data, err := base64.StdEncoding.DecodeString(payload)
	if err != nil || len(payload) > 4096 {
		e.Unknown = append(e.Unknown, fmt.Sprintf("_G%s: %d bytes, %v", control, len(payload), err))
	}
	if e.part.data = append(e.part.data, data...); m["m"] == "1" {
		return
	}
	if i, ok := e.decode(e.part.Image, e.part.data); ok {
		if e.Images == nil {
			e.Images = make(map[int]Image)
		}
		e.Images[i.ID] = i
		e.Sent = append(e.Sent, i)
	}
	e.part = transfer{}
}

// decode returns the image with its size in pixels.
func (e *Emulator) decode(i Image, data []byte) (Image, bool) {
	c, err := png.DecodeConfig(bytes.NewReader(data))
	i.Width, i.Height = c.Width, c.Height
	if err != nil && len(data) > 0 {
		e.Unknown = append(e.Unknown, fmt.Sprintf("an image: %v", err))
	}
	return i, err == nil
}

// inline draws an iTerm2 image at the cursor, and leaves the cursor after its last row.
func (e *Emulator) inline(s string) {
	control, payload, _ := strings.Cut(s, ":")
	m := keyValues(control, ";")
	data, err := base64.StdEncoding.DecodeString(payload)
	i, ok := e.decode(Image{Cols: integer(m["width"]), Rows: integer(m["height"])}, data)
	if !ok || err != nil || m["inline"] != "1" || integer(m["size"]) != len(data) {
		e.Unknown = append(e.Unknown, "]1337;File="+control)
		return
	}
	e.Sent = append(e.Sent, i)
	for y := range i.Rows {
		if y > 0 {
			e.next([]byte{'\n'})
		}
		for x := e.X; x < min(e.X+i.Cols, e.W); x++ {
			e.Cells[e.Y][x] = Cell{Text: " ", Image: fmt.Sprintf("%d:%d,%d", len(e.Sent)-1, x-e.X, y)}
		}
	}
	e.X = min(e.X+i.Cols, e.W-1)
}

// Part is a part of an image in a cell: the number of a kitty image, or the index in Sent of an iTerm2 image.
type Part struct{ Image, X, Y int }

const (
	placeholder = '\U0010EEEE'
	rowMarks    = "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357" +
		"\u035b\u0363\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484"
)

// PartAt returns the part of an image that the emulator shows in a cell.
func (e *Emulator) PartAt(x, y int) (p Part, ok bool) {
	c := e.Cells[y][x]
	if c.Image != "" {
		_, err := fmt.Sscanf(c.Image, "%d:%d,%d", &p.Image, &p.X, &p.Y)
		return p, err == nil
	}
	r, n := utf8.DecodeRuneInString(c.Text)
	var red, green, blue int
	if _, err := fmt.Sscanf(c.SGR, "38;2;%d;%d;%d", &red, &green, &blue); err != nil || r != placeholder {
		return p, false
	}
	p.Image = red<<16 | green<<8 | blue
	if mark, _ := utf8.DecodeRuneInString(c.Text[n:]); n < len(c.Text) {
		at := strings.IndexRune(rowMarks, mark)
		p.Y = utf8.RuneCountInString(rowMarks[:max(at, 0)])
	} else if left, ok := e.PartAt(max(x-1, 0), y); x > 0 && ok && left.Image == p.Image {
		p.X, p.Y = left.X+1, left.Y
	} else {
		return p, false
	}
	i, ok := e.Images[p.Image]
	return p, ok && p.X < i.Cols && p.Y < i.Rows
}
