package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
)

// maxDecoded bounds the memory that one image may take while it is decoded.
const maxDecoded = 256 << 20

// Fit returns an image that is within the limits, and its MIME type. One that is within them already
// is returned as it is, not as a copy. All others are decoded, scaled down where they must be, turned
// upright and encoded anew, as PNG or, where that is too large or the image is a photograph, as JPEG;
// of an animation this keeps the first frame. The error is an [Error].
func Fit(data []byte, l Limits) (out []byte, mime string, err error) {
	f, err := formatOf(data)
	if err != nil {
		// What is unknown here may still be something that the provider reads.
		if mime := Detect(data); mime != "" && mime != WebP && l.takes(mime) && l.holds(len(data)) {
			return data, mime, nil
		}
		return nil, "", err
	}
	size, err := f.size(data)
	if err != nil {
		return nil, "", err
	}
	// An image is decoded even if it is to be sent as it is: only then one knows that it is whole.
	img, err := f.image(data)
	if err != nil {
		return nil, "", err
	}
	if l.takes(f.mime) && l.holds(len(data)) && l.spans(size.X, size.Y) && !(f.mime == GIF && animatedGIF(data)) {
		return data, f.mime, nil
	}
	src := source{Image: img, turn: orientation(data, f.mime), photo: f.lossy}
	if f.mime == PNG {
		src.png = len(data)
	}
	return src.encode(l)
}

// size reads how large the image is and refuses one that would take too much memory.
func (f format) size(data []byte) (size image.Point, err error) {
	defer f.survive(&err)
	c, err := f.config(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return size, f.corrupt(err)
	}
	perPixel := bytesPerPixel(c.ColorModel)
	if f.mime == JPEG && progressiveJPEG(data) {
		perPixel += 12 // three coefficients of four bytes
	}
	if int64(c.Width)*int64(c.Height) > maxDecoded/perPixel {
		return size, &Error{Reason: TooLarge, Message: fmt.Sprintf("The image of %d × %d pixels is too large to be processed; scale it down first.", c.Width, c.Height)}
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

// survive makes an error of a panic: decoders of rare formats are known to have one left for data
// that somebody made for the purpose.
func (f format) survive(err *error) {
	if r := recover(); r != nil {
		*err = f.corrupt(fmt.Errorf("the decoder panicked: %v", r))
	}
}

func (f format) corrupt(err error) *Error {
	return &Error{Reason: Corrupt, Message: fmt.Sprintf("The %s image is damaged or incomplete and cannot be read.", f.name), Err: err}
}

// qualities are those of JPEG that are tried, best first.
var qualities = []int{90, 75, 60, 40}

// minSide is the size below which an image is not worth sending.
const minSide = 32

// source is an image that is to be encoded anew.
type source struct {
	image.Image
	turn  int // its orientation
	photo bool
	png   int // how large it was as a PNG; 0 if it was none
}

// encode makes the image small enough: by scaling it to the limit, by quality, and at last by size.
func (s source) encode(l Limits) ([]byte, string, error) {
	side := max(s.Bounds().Dx(), s.Bounds().Dy())
	if l.Side > 0 {
		side = min(side, l.Side)
	}
	for {
		small := upright(shrink(s.Image, side), s.turn)
		if out, mime := s.smallest(small, l); out != nil {
			return out, mime, nil
		}
		if side = side * 3 / 4; side < minSide {
			return nil, "", &Error{Reason: TooLarge, Message: "The image cannot be made small enough to be sent."}
		}
	}
}

// smallest encodes in the first way that is within the limits.
func (s source) smallest(img *image.RGBA, l Limits) ([]byte, string) {
	var b bytes.Buffer
	if (!s.photo || !img.Opaque()) && l.takes(PNG) && l.holds(s.expected(img)) {
		if png.Encode(&b, img) == nil && l.holds(b.Len()) {
			return b.Bytes(), PNG
		}
	}
	flat := flatten(img)
	for _, q := range qualities {
		b.Reset()
		if jpeg.Encode(&b, flat, &jpeg.Options{Quality: q}) == nil && l.takes(JPEG) && l.holds(b.Len()) {
			return bytes.Clone(b.Bytes()), JPEG
		}
	}
	return nil, ""
}

// expected is about how large the scaled image is as a PNG, to spare the long work of finding out
// that it is too large. It is 0 where nothing is known.
func (s source) expected(img *image.RGBA) int {
	area := func(r image.Rectangle) int64 { return int64(r.Dx()) * int64(r.Dy()) }
	return int(int64(s.png) * area(img.Bounds()) / area(s.Bounds()))
}
