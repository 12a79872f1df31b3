package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/picture"
	"github.com/reins-agent/reins/llm/wire"
)

// What comes into a conversation stays there, and is sent again with every request, perhaps to
// another provider than the one of today. So files are read when they come in, and images made such
// that every provider takes them.

// ingest is the parts with their files read and their images fit to be sent. An image that is none
// is an error.
func ingest(parts []llm.Part) ([]llm.Part, error) {
	out := slices.Clone(parts)
	for i, p := range parts {
		var err error
		switch p := p.(type) {
		case llm.Image:
			p, err = fitImage(p)
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

// inline reads a file. A part that refers to nothing at all is left to the adapters to complain of.
func inline(m llm.Media) (llm.Media, error) {
	if m.Path == "" && m.URL == "" && m.Data == nil {
		return m, nil
	}
	if strings.HasPrefix(m.URL, "blob:") {
		return m, errors.New("a blob: address means something only to the program that made it; give the data instead")
	}
	m, err := wire.Inline(m)
	if m.Data != nil {
		m.Path = ""
	}
	return m, err
}

// fitImage makes an image fit to be sent to any provider. One that is only referred to is left as
// it is.
func fitImage(img llm.Image) (llm.Image, error) {
	m, err := inline(img.Media)
	if err != nil || m.Data == nil {
		return img, err
	}
	data, mime, err := picture.Fit(m.Data, picture.Strictest())
	if err != nil {
		return img, err
	}
	m.Data, m.MIME = data, mime
	img.Media = m
	return img, nil
}

// fitImages makes the images of a tool fit to be sent. What is wrong with those that are none is in
// the note.
func fitImages(images []llm.Image) (fit []llm.Image, note string) {
	for _, img := range images {
		img, err := fitImage(img)
		if err != nil {
			note += fmt.Sprintf("\n[an image is left out: %v]", err)
			continue
		}
		fit = append(fit, img)
	}
	return fit, note
}
