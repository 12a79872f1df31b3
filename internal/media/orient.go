package media

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation returns an image's EXIF orientation, from 1 (upright) to 8. Cameras store images unturned.
func orientation(data []byte, mime string) int {
	turn := 1
	switch mime {
	case "image/tiff":
		turn = orientationTag(data)
	case jpegType:
		segments(data, func(marker byte, body []byte) bool {
			exif, ok := bytes.CutPrefix(body, []byte("Exif\x00\x00"))
			if marker != 0xe1 || !ok {
				return true
			}
			turn = orientationTag(exif)
			return false
		})
	}
	return turn
}

// orientationTag returns the orientation in a TIFF structure's first directory, or 1.
func orientationTag(data []byte) int {
	if len(data) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(data[4:]))
	if at+2 > int64(len(data)) {
		return 1
	}
	entries := data[at+2:]
	for range order.Uint16(data[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == 0x0112 {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// upright turns an image by its orientation.
func upright(img *image.RGBA, turn int) *image.RGBA {
	if turn <= 1 {
		return img
	}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	size := image.Rect(0, 0, w, h)
	if turn >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			p := turned(turn, x, y, w, h)
			copy(out.Pix[out.PixOffset(p.X, p.Y):], img.Pix[img.PixOffset(x, y):][:4])
		}
	}
	return out
}

// turned returns a pixel's new position in a w × h image.
func turned(turn, x, y, w, h int) image.Point {
	switch turn {
	case 2: // mirrored
		return image.Pt(w-1-x, y)
	case 3: // upside down
		return image.Pt(w-1-x, h-1-y)
	case 4:
		return image.Pt(x, h-1-y)
	case 5:
		return image.Pt(y, x)
	case 6: // turn clockwise
		return image.Pt(h-1-y, x)
	case 7:
		return image.Pt(h-1-y, w-1-x)
	case 8: // turn counter-clockwise
		return image.Pt(y, w-1-x)
	}
	return image.Pt(x, y)
}
