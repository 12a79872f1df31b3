package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
)

// maxDecoded limits the memory for decoding one image.
const maxDecoded = 256 << 20

// fit returns an image within the limits and its MIME type. A PNG or JPEG within the limits is returned unchanged. Any
// other image is decoded, scaled down if necessary, turned upright and encoded as PNG or, if that is too large or the
// image is a photograph, as JPEG. Only an animation's first frame is left. The error is an [Error].
func fit(data []byte, l limits) (out []byte, mime string, err error) {
	f, err := formatOf(data)
	if err != nil {
		return nil, "", err
	}
	size, err := f.size(data)
	if err != nil {
		return nil, "", err
	}
	// Only decoding shows that an image is complete.
	img, err := f.image(data)
	if err != nil {
		return nil, "", err
	}
	fits := l.holds(len(data)) && (l.side == 0 || max(size.X, size.Y) <= l.side)
	if (f.mime == pngType || f.mime == jpegType) && fits {
		return data, f.mime, nil
	}
	src := source{Image: img, turn: orientation(data, f.mime), photo: f.lossy}
	if f.mime == pngType {
		src.png = len(data)
	}
	return src.encode(l)
}

// configOf reads the image's header.
func (f format) configOf(data []byte) (c image.Config, err error) {
	defer f.survive(&err)
	c, err = f.config(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return image.Config{}, f.corrupt(err)
	}
	return c, nil
}

// size returns the image's size, or an error if decoding it needs too much memory.
func (f format) size(data []byte) (size image.Point, err error) {
	c, err := f.configOf(data)
	if err != nil {
		return size, err
	}
	perPixel := bytesPerPixel(c.ColorModel)
	if f.mime == jpegType && progressiveJPEG(data) {
		perPixel += 12 // three coefficients of four bytes
	}
	if int64(c.Width)*int64(c.Height) > maxDecoded/perPixel {
		return size, &Error{
			Reason:  TooLarge,
			Message: fmt.Sprintf("the image of %d × %d pixels is too large to process; scale it down first", c.Width, c.Height),
		}
	}
	return image.Pt(c.Width, c.Height), nil
}

func bytesPerPixel(m color.Model) int64 {
	switch m {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}

func (f format) image(data []byte) (img image.Image, err error) {
	defer f.survive(&err)
	img, err = f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, f.corrupt(err)
	}
	if img.Bounds().Empty() {
		return nil, f.corrupt(errors.New("it has no pixels"))
	}
	return img, nil
}

// survive turns a panic into an error: decoders of rare formats may panic on malicious data.
func (f format) survive(err *error) {
	if r := recover(); r != nil {
		*err = f.corrupt(fmt.Errorf("the decoder panicked: %v", r))
	}
}

func (f format) corrupt(err error) *Error {
	return &Error{Reason: Corrupt, Message: fmt.Sprintf("the %s image is damaged or incomplete", f.name), Err: err}
}

// qualities lists the JPEG qualities to try, best first.
var qualities = []int{90, 75, 60, 40}

// minSide is a scaled image's minimum size.
const minSide = 32

// source is an image to encode again.
type source struct {
	image.Image
	turn  int // EXIF orientation
	photo bool
	png   int // original size as a PNG, or 0
}

// encode scales the image to the limit, then reduces its quality, then scales it further.
func (s source) encode(l limits) ([]byte, string, error) {
	side := max(s.Bounds().Dx(), s.Bounds().Dy())
	if l.side > 0 {
		side = min(side, l.side)
	}
	for {
		small := upright(shrink(s.Image, side), s.turn)
		if out, mime := s.smallest(small, l); out != nil {
			return out, mime, nil
		}
		if side = side * 3 / 4; side < minSide {
			return nil, "", &Error{Reason: TooLarge, Message: "the image cannot be made small enough to be sent"}
		}
	}
}

// smallest returns the first encoding within the limits, or nil.
func (s source) smallest(img *image.RGBA, l limits) ([]byte, string) {
	var b bytes.Buffer
	if (!s.photo || !img.Opaque()) && l.holds(s.expected(img)) {
		if png.Encode(&b, img) == nil && l.holds(b.Len()) {
			return b.Bytes(), pngType
		}
	}
	flat := flatten(img)
	for _, q := range qualities {
		b.Reset()
		if jpeg.Encode(&b, flat, &jpeg.Options{Quality: q}) == nil && l.holds(b.Len()) {
			return bytes.Clone(b.Bytes()), jpegType
		}
	}
	return nil, ""
}

// expected estimates the scaled image's size as a PNG, or returns 0. Encoding a PNG is slow.
func (s source) expected(img *image.RGBA) int {
	area := func(r image.Rectangle) int64 { return int64(r.Dx()) * int64(r.Dy()) }
	return int(int64(s.png) * area(img.Bounds()) / area(s.Bounds()))
}
