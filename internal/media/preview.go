package media

import (
	"bytes"
	"image"
	"image/png"
)

// Size returns an image's width and height in pixels as viewers show it, from its header. It returns 0, 0 if the format is
// unknown or the header is damaged.
func Size(data []byte) (width, height int) {
	f, err := formatOf(data)
	if err != nil {
		return 0, 0
	}
	c, err := f.configOf(data)
	if err != nil {
		return 0, 0
	}
	if orientation(data, f.mime) >= 5 { // turned by a quarter
		return c.Height, c.Width
	}
	return c.Width, c.Height
}

// Preview returns an image as a PNG that is not larger than the given width and height in pixels and size in bytes. It
// refuses images with more pixels than given by their header, before it decodes them.
func Preview(data []byte, width, height, pixels, maxBytes int) ([]byte, error) {
	f, err := formatOf(data)
	if err != nil {
		return nil, err
	}
	size, err := f.size(data)
	if err != nil {
		return nil, err
	}
	if size.X*size.Y > pixels {
		return nil, &Error{Reason: TooLarge, Message: "the image has too many pixels for a preview"}
	}
	img, err := f.image(data)
	if err != nil {
		return nil, err
	}
	turn := orientation(data, f.mime)
	if turn >= 5 {
		width, height = height, width
	}
	side := fitting(img.Bounds().Size(), width, height)
	for ; side > 0; side = side * 3 / 4 {
		var b bytes.Buffer
		if err := png.Encode(&b, upright(shrink(img, side), turn)); err != nil {
			return nil, err
		}
		if b.Len() <= maxBytes {
			return b.Bytes(), nil
		}
	}
	return nil, &Error{Reason: TooLarge, Message: "the image cannot be made small enough"}
}

// fitting returns the longer side of an image that fits into a width and height. It does not enlarge.
func fitting(size image.Point, width, height int) int {
	longer := max(size.X, size.Y)
	scale := min(1, float64(width)/float64(size.X), float64(height)/float64(size.Y))
	return max(int(float64(longer)*scale), 1)
}
