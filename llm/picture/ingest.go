package picture

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// What comes into a conversation stays there and is sent again with every request, perhaps to
// another provider. So files are read once, when they come in, and images are made to fit the limits
// of every provider.

// Ingest returns the parts with their files read and their images fit for any provider. A part that
// cannot be used is an error that says which. Parts that only refer to a URL stay as they are.
func Ingest(parts []llm.Part) ([]llm.Part, error) {
	out := slices.Clone(parts)
	for i, p := range parts {
		var err error
		switch p := p.(type) {
		case llm.Image:
			p, err = fit(p)
			out[i] = p
		case llm.Audio:
			p.Media, err = inline(p.Media)
			out[i] = p
		case llm.Document:
			p.Media, err = inline(p.Media)
			out[i] = p
		}
		if err != nil {
			return nil, llm.Errorf(llm.ErrInvalidRequest, "", "part %d of the input cannot be used: %w", i+1, err)
		}
	}
	return out, nil
}

// FitAll returns the images of a tool's result that can be sent, fit for any provider. The note has
// a line for each of the others that says what is wrong with it.
func FitAll(images []llm.Image) (usable []llm.Image, note string) {
	for _, img := range images {
		img, err := fit(img)
		if err != nil {
			note += fmt.Sprintf("\n[image left out: %v]", err)
			continue
		}
		usable = append(usable, img)
	}
	return usable, note
}

// fit makes an image fit for any provider. One that only refers to a URL stays as it is.
func fit(img llm.Image) (llm.Image, error) {
	m, err := inline(img.Media)
	if err != nil || m.Data == nil {
		return img, err
	}
	if m.Data, m.MIME, err = Fit(m.Data, Strictest()); err != nil {
		return img, err
	}
	img.Media = m
	return img, nil
}

// inline reads a file. A part that refers to nothing at all is left for the adapters to refuse.
func inline(m llm.Media) (llm.Media, error) {
	if m.Path == "" && m.URL == "" && m.Data == nil {
		return m, nil
	}
	if strings.HasPrefix(m.URL, "blob:") {
		return m, errors.New("a blob: URL is known only to the program that made it; pass the data instead")
	}
	m, err := wire.Inline(m)
	if m.Data != nil {
		m.Path = ""
	}
	return m, err
}
