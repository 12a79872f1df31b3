// Package media prepares files for model providers before they enter a conversation.
//
// A conversation is sent again with every request, perhaps to another provider. An image that a provider refuses
// would be refused every time. So files are read once, and images are checked by their bytes: those within
// the limits of every provider are used as they are, others are scaled down or converted to PNG or JPEG, and
// the rest is refused with an [Error].
package media

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Reason is the reason why an image cannot be sent.
type Reason string

// The reasons.
const (
	NotAnImage  Reason = "not_an_image" // the data is not a known image format
	Unsupported Reason = "unsupported"  // the format can be neither sent nor converted
	Corrupt     Reason = "corrupt"      // the image is damaged or incomplete
	TooLarge    Reason = "too_large"    // decoding needs too much memory, or the image cannot be made small enough
)

// Error is the error for an image that cannot be sent.
type Error struct {
	Reason  Reason
	Message string
	Err     error // the decoder's error, or nil
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// limits are the limits for an image; 0 means no limit. Only PNG and JPEG are sent, because some servers read
// nothing else.
type limits struct {
	side  int // longer side in pixels
	bytes int
}

// strictest is within the limits of all providers, as of 2026. Anthropic allows 8000 pixels, but only 2000 once a
// request has more than 20 images. Groq allows 4 MB in base64; Anthropic 5 MB, Gemini 7 MB and OpenAI 20 MB.
var strictest = limits{side: 2000, bytes: 3_000_000}

func (l limits) holds(bytes int) bool { return l.bytes == 0 || bytes <= l.bytes }

// Ingest reads the parts' files and converts images to a form that every provider accepts. Parts that only refer to a
// URL stay unchanged.
func Ingest(parts []llm.Part) ([]llm.Part, error) {
	out := slices.Clone(parts)
	for i, p := range parts {
		var err error
		switch p := p.(type) {
		case llm.Image:
			p, err = ingest(p)
			out[i] = p
		case llm.Audio:
			p.Media, err = inline(p.Media)
			out[i] = p
		case llm.Document:
			p.Media, err = inline(p.Media)
			out[i] = p
		}
		if err != nil {
			return nil, llm.Errorf(llm.ErrInvalidRequest, "", "cannot use part %d of the input: %w", i+1, err)
		}
	}
	return out, nil
}

// FitAll converts the images in a tool result to a form that every provider accepts. The note has a line for each image
// that cannot be sent.
func FitAll(images []llm.Image) (usable []llm.Image, note string) {
	for _, img := range images {
		img, err := ingest(img)
		if err != nil {
			note += fmt.Sprintf("\n[image omitted: %v]", err)
			continue
		}
		usable = append(usable, img)
	}
	return usable, note
}

// ingest converts an image to a form that every provider accepts, unless it only refers to a URL.
func ingest(img llm.Image) (llm.Image, error) {
	m, err := inline(img.Media)
	if err != nil || m.Data == nil {
		return img, err
	}
	if m.Data, m.MIME, err = fit(m.Data, strictest); err != nil {
		return img, err
	}
	img.Media = m
	return img, nil
}

// inline reads a file. It leaves a part without any data to the adapters, which refuse it.
func inline(m llm.Media) (llm.Media, error) {
	if m.Path == "" && m.URL == "" && m.Data == nil {
		return m, nil
	}
	if strings.HasPrefix(m.URL, "blob:") {
		return m, errors.New("only the program that created a blob: URL can read it; pass the data instead")
	}
	m, err := wire.Inline(m)
	if m.Data != nil {
		m.Path = ""
	}
	return m, err
}
