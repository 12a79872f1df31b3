package screen

import (
	"slices"
	"strconv"
	"time"

	"github.com/reins-agent/reins/internal/tui/text"
)

// settle is how long an image must have its place before it is drawn, because each drawing sends the whole image.
const settle = 150 * time.Millisecond

// placed is an image with its first cell.
type placed struct {
	image *text.Image
	x, y  int
}

// images are the images that a terminal without cells for them shows: they are drawn over blank cells.
type images struct {
	drawn  []placed
	wanted []placed // by the last frame
	since  time.Time
}

// Owes returns after which time the last frame should be painted again, because it has images that are not drawn yet; 0 means
// never.
func (s *Screen) Owes() time.Duration {
	if slices.Equal(s.images.drawn, s.images.wanted) {
		return 0
	}
	return max(settle-time.Since(s.images.since), time.Millisecond)
}

// imageStyle returns the SGR parameters of an image's cells: the color is the image's number.
func imageStyle(i *text.Image) string {
	if i.ID == 0 {
		return ""
	}
	n := int(i.ID)
	return "38;2;" + strconv.Itoa(n>>16&0xff) + ";" + strconv.Itoa(n>>8&0xff) + ";" + strconv.Itoa(n&0xff)
}

// whole returns the images in rows whose blocks are complete.
func whole(rows []row) (list []placed) {
	for y := 0; y < len(rows); y++ {
		p := placed{rows[y].image, rows[y].imageX, y}
		if p.image == nil {
			continue
		}
		for y+1 < len(rows) && rows[y+1].image == p.image && rows[y+1].imageX == p.x {
			y++
		}
		if y+1-p.y == p.image.Rows {
			list = append(list, p)
		}
	}
	return list
}

// clearImages erases drawn images that the next rows do not show in the same place, and reports whether there are images at
// all: terminals scroll them in different ways.
func (s *Screen) clearImages(next []row) bool {
	i := &s.images
	found := whole(next)
	if !slices.Equal(found, i.wanted) {
		i.wanted, i.since = found, time.Now()
	}
	any := len(i.drawn) > 0 || len(found) > 0
	i.drawn = slices.DeleteFunc(i.drawn, func(p placed) bool {
		if slices.Contains(found, p) {
			return false
		}
		for y := p.y; y < min(p.y+p.image.Rows, s.h); y++ {
			s.erase(0, y)
			s.rows[y] = row{}
		}
		return true
	})
	return any
}

// drawImages draws the images that have had their place for a while.
func (s *Screen) drawImages() {
	i := &s.images
	if len(i.wanted) == 0 || time.Since(i.since) < settle {
		return
	}
	for _, p := range i.wanted {
		if !slices.Contains(i.drawn, p) {
			s.draw(p.x, p.y, p.image)
		}
	}
	i.drawn = slices.Clone(i.wanted)
}

// draw draws an image from its first cell. Terminals leave the cursor in different places, so it is saved.
func (s *Screen) draw(x, y int, i *text.Image) {
	s.setStyle(0)
	s.put("\x1b7")
	wasX, wasY := s.x, s.y
	s.move(x, y)
	s.out = append(s.out, i.Draw...)
	s.put("\x1b8")
	s.x, s.y = wasX, wasY
}

// drawAbove draws an image whose last row was just written, in lines above an inline screen.
func (s *Screen) drawAbove(i *text.Image, x int) {
	s.put("\x1b7\r")
	if i.Rows > 1 {
		s.csi(i.Rows-1, 'A')
	}
	if x > 0 {
		s.csi(x, 'C')
	}
	s.out = append(s.out, i.Draw...)
	s.put("\x1b8")
}
