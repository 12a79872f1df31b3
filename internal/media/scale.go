package media

import (
	"image"
	"image/color"
	"image/draw"
)

// shrink scales the image down to this many pixels on the longer side; it does not enlarge. Each pixel is the
// average of all pixels it covers, which keeps thin lines and avoids patterns. It reads the source row by row
// to save memory.
func shrink(src image.Image, side int) *image.RGBA {
	b := src.Bounds()
	longer := max(b.Dx(), b.Dy())
	side = min(side, longer)
	scaled := func(n int) int { return max(1, int((int64(n)*int64(side)+int64(longer)/2)/int64(longer))) }
	dst := image.NewRGBA(image.Rect(0, 0, scaled(b.Dx()), scaled(b.Dy())))
	if side == longer {
		draw.Draw(dst, dst.Bounds(), src, b.Min, draw.Src)
		return dst
	}
	width := dst.Bounds().Dx()
	columns := spread(b.Dx(), width)
	rows := spread(b.Dy(), dst.Bounds().Dy())
	line := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	across := make([]float32, 4*width) // one source row, scaled
	this, next := make([]float32, 4*width), make([]float32, 4*width)
	for y := range b.Dy() {
		draw.Draw(line, line.Bounds(), src, image.Pt(b.Min.X, b.Min.Y+y), draw.Src)
		squeeze(across, line.Pix, columns)
		row := rows[y]
		for i, v := range across {
			this[i] += v * row.here
			next[i] += v * row.next
		}
		if row.last {
			store(dst.Pix[row.at*dst.Stride:], this)
			this, next = next, this
			clear(next)
		}
	}
	return dst
}

// share is how much a source pixel adds to result pixel at and to the next one.
type share struct {
	at         int
	here, next float32
	last       bool // the result pixel is complete
}

// spread divides n pixels among m ≤ n.
func spread(n, m int) []share {
	shares := make([]share, n)
	for i := range shares {
		// Where the pixel starts and ends in the result, in n-ths of a pixel.
		from, to := int64(i)*int64(m), int64(i+1)*int64(m)
		at := from / int64(n)
		edge := min(to, (at+1)*int64(n))
		shares[i] = share{
			at:   int(at),
			here: float32(float64(edge-from) / float64(n)),
			next: float32(float64(to-edge) / float64(n)),
			last: to >= (at+1)*int64(n),
		}
	}
	return shares
}

// squeeze scales one row.
func squeeze(dst []float32, pix []byte, columns []share) {
	clear(dst)
	for x, c := range columns {
		p := pix[4*x : 4*x+4]
		d := dst[4*c.at : 4*c.at+4]
		d[0] += float32(p[0]) * c.here
		d[1] += float32(p[1]) * c.here
		d[2] += float32(p[2]) * c.here
		d[3] += float32(p[3]) * c.here
		if c.next > 0 {
			d = dst[4*c.at+4 : 4*c.at+8]
			d[0] += float32(p[0]) * c.next
			d[1] += float32(p[1]) * c.next
			d[2] += float32(p[2]) * c.next
			d[3] += float32(p[3]) * c.next
		}
	}
}

func store(pix []byte, sums []float32) {
	for i, v := range sums {
		pix[i] = byte(min(v+0.5, 255))
	}
}

// flatten puts the image on white, because JPEG has no transparency.
func flatten(img *image.RGBA) *image.RGBA {
	if img.Opaque() {
		return img
	}
	flat := image.NewRGBA(img.Bounds())
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), img, img.Bounds().Min, draw.Over)
	return flat
}
