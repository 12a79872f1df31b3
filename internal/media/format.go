package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

const (
	pngType  = "image/png"
	jpegType = "image/jpeg"
)

// format is an image format that can be decoded.
type format struct {
	name, mime string
	config     func(io.Reader) (image.Config, error)
	decode     func(io.Reader) (image.Image, error)
	lossy      bool // probably a photograph, not a drawing or a screenshot
}

// Detect returns an image's MIME type by its bytes, or "" if the format is unknown.
func Detect(data []byte) string {
	head := string(data[:min(len(data), 64)])
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		return pngType
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return jpegType
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(head, "RIFF") && len(head) > 12 && head[8:12] == "WEBP":
		return "image/webp"
	case strings.HasPrefix(head, "BM") && len(head) > 18:
		return "image/bmp"
	case strings.HasPrefix(head, "II*\x00"), strings.HasPrefix(head, "MM\x00*"):
		return "image/tiff"
	case strings.HasPrefix(head, "\x00\x00\x01\x00"):
		return "image/x-icon"
	case len(head) > 12 && head[4:8] == "ftyp":
		return brand(head[8:12])
	}
	text := bytes.TrimLeft(data[:min(len(data), 512)], "\ufeff \t\r\n")
	if bytes.HasPrefix(text, []byte("<svg")) || bytes.HasPrefix(text, []byte("<?xml")) && bytes.Contains(text, []byte("<svg")) {
		return "image/svg+xml"
	}
	return ""
}

// brand returns the type of an image in an ISO container by its major brand.
func brand(b string) string {
	switch b {
	case "heic", "heix", "hevc", "hevx":
		return "image/heic"
	case "mif1", "msf1", "heim", "heis":
		return "image/heif"
	case "avif", "avis":
		return "image/avif"
	}
	return ""
}

// formatOf returns an image's format.
func formatOf(data []byte) (format, error) {
	switch mime := Detect(data); mime {
	case pngType:
		return format{"PNG", mime, png.DecodeConfig, png.Decode, false}, nil
	case jpegType:
		return format{"JPEG", mime, jpeg.DecodeConfig, jpeg.Decode, true}, nil
	case "image/gif":
		return format{"GIF", mime, gif.DecodeConfig, gif.Decode, false}, nil
	case "image/webp":
		if animatedWebP(data) {
			return format{}, &Error{Reason: Unsupported, Message: "animated WebP images are not supported; convert it to PNG or JPEG"}
		}
		lossless := bytes.Contains(data[:min(len(data), 4096)], []byte("VP8L"))
		return format{"WebP", mime, webp.DecodeConfig, webp.Decode, !lossless}, nil
	case "image/bmp":
		return format{"BMP", mime, bmp.DecodeConfig, bmp.Decode, false}, nil
	case "image/tiff":
		return format{"TIFF", mime, tiff.DecodeConfig, tiff.Decode, false}, nil
	case "":
		return format{}, &Error{
			Reason:  NotAnImage,
			Message: "not an image in a known format; send it as text or as a document, or convert it to PNG",
		}
	default:
		return format{}, &Error{
			Reason:  Unsupported,
			Message: fmt.Sprintf("images of type %s are not supported; convert it to PNG or JPEG", mime),
		}
	}
}

// animatedWebP reports whether a WebP is an animation, by its extended header.
func animatedWebP(data []byte) bool {
	return len(data) > 20 && string(data[12:16]) == "VP8X" && data[20]&2 != 0
}

// progressiveJPEG reports whether a JPEG is progressive: decoding it needs far more memory.
func progressiveJPEG(data []byte) bool {
	found := false
	segments(data, func(marker byte, _ []byte) bool {
		found = found || marker == 0xc2
		return !found
	})
	return found
}

// segments visits the segments in a JPEG header until visit returns false.
func segments(data []byte, visit func(marker byte, body []byte) bool) {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff {
			at++
			continue
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || n < 2 || at+2+n > len(data) || !visit(marker, data[at+4:at+2+n]) {
			return
		}
		at += 2 + n
	}
}
