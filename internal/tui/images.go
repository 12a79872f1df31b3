package tui

import (
	"context"
	"errors"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/media"
	"github.com/reins-agent/reins/internal/tui/term"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/view"
)

// Limits for images.
const (
	imageShare  = 40        // percent of the screen's height
	imagePixels = 16 << 20  // of an image; models get smaller ones
	imageSource = 32 << 20  // bytes of an image
	maxSent     = 1 << 20   // bytes of an image that the terminal gets once
	maxDrawn    = 256 << 10 // bytes of an image that the terminal gets with each drawing
	keptImages  = 40        // in the terminal, besides those on the screen
	imageWait   = 5 * time.Second
)

// images has the images that the terminal draws. It loads one at a time, beside the loop, when its place is laid out.
type images struct {
	a      *app
	kind   term.Graphics
	list   map[imageKey]*shownImage
	wanted []view.Image // the last one is loaded next
	busy   bool
	gone   []uint32 // numbers to delete when nothing is sent
	clock  int      // counts how often everything was laid out
}

// imageKey identifies an image in the session.
type imageKey struct {
	record event.Seq
	index  int
}

// shownImage is an image with its size in cells.
type shownImage struct {
	cols, rows int
	cells      *text.Image // nil while it is loaded
	failed     bool
	used       int
}

func keyOf(i view.Image) imageKey { return imageKey{i.Record, i.Index} }

// on draws images if the terminal can.
func (m *images) on(kind term.Graphics) {
	if m.kind = kind; kind != term.NoGraphics && m.a.live != nil && !m.a.o.Inline {
		m.a.live.view.SetImages(m)
	}
}

// reset forgets all images, because the terminal or the session is another one.
func (m *images) reset() {
	for _, s := range m.list {
		m.remove(s)
	}
	m.list, m.wanted = make(map[imageKey]*shownImage), nil
	m.layOut()
}

// layOut lays out the images again. Images that wait are forgotten if they are not on the screen any more.
func (m *images) layOut() {
	for _, i := range m.wanted {
		delete(m.list, keyOf(i))
	}
	m.wanted = nil
	m.clock++
	m.on(m.kind)
}

// remove deletes an image in the terminal.
func (m *images) remove(s *shownImage) {
	if s.cells == nil || s.cells.ID == 0 || m.a.o.Inline {
		return
	}
	if m.gone = append(m.gone, s.cells.ID); !m.busy {
		m.sweep()
	}
}

func (m *images) sweep() {
	for _, id := range m.gone {
		m.a.term.DeleteImage(id)
	}
	m.gone = nil
}

// Block implements [render.Images].
func (m *images) Block(i view.Image, width int) []text.Line {
	s := m.want(i, width)
	switch {
	case s == nil || s.failed:
		return nil
	case s.cells == nil:
		return make([]text.Line, s.rows)
	}
	return s.cells.Lines()
}

// want returns an image, which is loaded if necessary, or nil if it cannot be drawn.
func (m *images) want(i view.Image, width int) *shownImage {
	cols, rows := m.size(i, width)
	if m.kind == term.NoGraphics || cols == 0 {
		return nil
	}
	s := m.list[keyOf(i)]
	if s == nil || s.cols != cols || s.rows != rows {
		if s != nil {
			m.remove(s)
		}
		s = &shownImage{cols: cols, rows: rows}
		m.list[keyOf(i)] = s
		m.wanted = append(m.wanted, i)
		m.next()
	}
	s.used = m.clock
	return s
}

// size returns the size of an image in cells. An image that is too large to be loaded has none.
func (m *images) size(i view.Image, width int) (cols, rows int) {
	if width < 2 || i.Width <= 0 || i.Height <= 0 || i.Height > imagePixels/i.Width || i.Bytes > imageSource {
		return 0, 0
	}
	cw, ch := m.a.term.Cell()
	most := min(max(m.a.h*imageShare/100, 1), text.MaxImageRows)
	w, h := float64(i.Width)/float64(cw), float64(i.Height)/float64(ch)
	scale := min(1, float64(width)/w, float64(most)/h)
	up := func(n float64, most int) int { return min(max(int(n*scale+0.999), 1), most) }
	return up(w, width), up(h, most)
}

// next begins to load the image that was wanted last.
func (m *images) next() {
	if m.busy || len(m.wanted) == 0 {
		return
	}
	i := m.wanted[len(m.wanted)-1]
	m.wanted = m.wanted[:len(m.wanted)-1]
	s, l := m.list[keyOf(i)], loader{term: m.a.term, kind: m.kind, keep: m.a.o.Inline}
	if s == nil || m.a.live == nil {
		return
	}
	l.handle, l.cells = m.a.live, text.Image{Cols: s.cols, Rows: s.rows}
	l.cellW, l.cellH = l.term.Cell()
	m.busy = true
	m.a.do(func(ctx context.Context) func() {
		cells, err := l.load(ctx, i)
		return func() { m.loaded(i, s, cells, err) }
	})
}

// loader loads one image beside the loop.
type loader struct {
	handle       session.Handle
	term         *term.Terminal
	kind         term.Graphics
	keep         bool // the terminal keeps the image
	cells        text.Image
	cellW, cellH int // in pixels
}

// load reads an image, scales it to its cells, and gives it to the terminal.
func (l loader) load(ctx context.Context, i view.Image) (*text.Image, error) {
	data, err := imageData(ctx, l.handle, i)
	if err != nil {
		return nil, err
	}
	limit := maxSent
	if l.kind == term.Drawn {
		limit = maxDrawn
	}
	c := &l.cells
	png, err := media.Preview(data, c.Cols*l.cellW, c.Rows*l.cellH, imagePixels, limit)
	if err != nil {
		return nil, err
	}
	if l.kind == term.Drawn {
		c.Draw = term.DrawImage(c.Cols, c.Rows, png)
		return c, nil
	}
	ok := false
	if c.ID, ok = l.term.SendImage(c.Cols, c.Rows, png, l.keep); !ok {
		return nil, errors.New("the terminal was restored")
	}
	return c, nil
}

// imageData reads an image from the session.
func imageData(ctx context.Context, h session.Handle, i view.Image) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, imageWait)
	defer stop()
	for r, err := range h.Events(ctx, i.Record-1) {
		if err != nil {
			return nil, err
		}
		if data := i.Data(r); data != nil {
			return data, nil
		}
		if r.Seq >= i.Record {
			break
		}
	}
	return nil, errors.New("the session does not have the image")
}

// loaded shows an image that was loaded, and loads the next.
func (m *images) loaded(i view.Image, s *shownImage, cells *text.Image, err error) {
	m.busy = false
	s.cells, s.failed = cells, err != nil
	if m.list[keyOf(i)] != s { // it is not wanted any more
		m.remove(s)
	}
	m.sweep()
	m.evict()
	m.layOut()
}

// evict deletes images that have not been laid out for the longest time, if there are too many.
func (m *images) evict() {
	for len(m.list) > keptImages {
		var oldest imageKey
		at := m.clock
		for k, s := range m.list {
			if s.used < at && (s.cells != nil || s.failed) {
				oldest, at = k, s.used
			}
		}
		if at == m.clock {
			return
		}
		m.remove(m.list[oldest])
		delete(m.list, oldest)
	}
}

// waits reports whether an item has an image that is being loaded.
func (m *images) waits(item view.Item, width int) bool {
	for n, i := range item.Images {
		if item.Tool != nil && n > 0 {
			break // only the first one is drawn
		}
		if s := m.want(i, width); s != nil && s.cells == nil && !s.failed {
			return true
		}
	}
	return false
}
