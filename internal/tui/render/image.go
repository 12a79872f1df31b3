package render

import (
	"fmt"
	"path"
	"strings"

	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// Images draws images in cells.
type Images interface {
	// Block returns the cells for an image, which are blank until it can be shown, or nil if it is not shown.
	Block(i view.Image, width int) []text.Line
}

// picture is an image with its caption.
type picture struct {
	prefix
	image view.Image
	small bool // only the caption is shown
}

func (p *picture) Rows(Layout) int { return 1 }

func (p *picture) Lines(o Layout) []text.Line {
	var lines []text.Line
	if o.Images != nil && !p.small {
		lines = o.Images.Block(p.image, p.width(o))
	}
	return p.put(o, append(lines, o.Rule.Cut(one(caption(p.image), role(text.Dim)), p.width(o))))
}

// caption describes an image.
func caption(i view.Image) string {
	s := "[image"
	if i.Name != "" {
		s += " " + text.Clean(path.Base(strings.ReplaceAll(i.Name, "\\", "/")))
	}
	if i.Width > 0 {
		s += fmt.Sprintf(", %d×%d", i.Width, i.Height)
	}
	return s + fmt.Sprintf(", %d KB]", (i.Bytes+1023)/1024)
}

// images adds images. If a call is folded, only the first one is drawn.
func (b *Body) images(p prefix, list []view.Image, all bool) {
	for n, i := range list {
		b.rest = append(b.rest, Block{Part: &picture{prefix: p, image: i, small: n > 0 && !all}})
	}
}

// withoutMarks removes the words that stand for images at the end of an input, which are shown as captions.
func withoutMarks(s string, images []view.Image) string {
	for range images {
		rest, ok := strings.CutSuffix(s, "[image]")
		if !ok || rest != "" && !strings.HasSuffix(rest, "\n") {
			return s
		}
		s = strings.TrimSuffix(rest, "\n")
	}
	return s
}
