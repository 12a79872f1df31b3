package event

import (
	"errors"
	"fmt"

	"github.com/reins-agent/reins/llm"
)

// mapMedia is the data with every image, sound and document in it replaced by what f makes of it.
// Where f fails, a text takes its place. Nothing of d is changed.
func mapMedia(d Data, f func(llm.Media) (llm.Media, error)) (Data, error) {
	m := mediaMap{f: f}
	switch e := d.(type) {
	case UserInput:
		e.Message = m.message(e.Message)
		d = e
	case SteeringQueued:
		e.Message = m.message(e.Message)
		d = e
	case SteeringInjected:
		e.Message = m.message(e.Message)
		d = e
	case TextEnd:
		e.Message = m.message(e.Message)
		d = e
	case Quarantine:
		e.Message = m.message(e.Message)
		d = e
	case Compaction:
		e.Messages = m.messages(e.Messages)
		d = e
	case SessionEnd:
		e.Undelivered = m.messages(e.Undelivered)
		d = e
	case ToolCallEnd:
		images := m.images(e.Images)
		if n := len(e.Images) - len(images); n > 0 {
			e.Model += fmt.Sprintf("\n[%d images that stood here are lost]", n)
		}
		e.Images = images
		d = e
	}
	return d, m.err
}

type mediaMap struct {
	f   func(llm.Media) (llm.Media, error)
	err error
}

func (m *mediaMap) messages(in []llm.Message) []llm.Message {
	var out []llm.Message
	for _, msg := range in {
		out = append(out, m.message(msg))
	}
	return out
}

func (m *mediaMap) message(msg llm.Message) llm.Message {
	msg.Parts = m.parts(msg.Parts)
	return msg
}

func (m *mediaMap) parts(in []llm.Part) []llm.Part {
	if !hasMedia(in) {
		return in
	}
	out := make([]llm.Part, len(in))
	for i, p := range in {
		out[i] = m.part(p)
	}
	return out
}

func hasMedia(parts []llm.Part) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Image, llm.Audio, llm.Document:
			return true
		case llm.ToolResult:
			if hasMedia(p.Parts) {
				return true
			}
		}
	}
	return false
}

func (m *mediaMap) part(p llm.Part) llm.Part {
	switch p := p.(type) {
	case llm.Image:
		media, ok := m.media(p.Media)
		if !ok {
			return llm.Text{Text: "[an image that stood here is lost]"}
		}
		p.Media = media
		return p
	case llm.Audio:
		media, ok := m.media(p.Media)
		if !ok {
			return llm.Text{Text: "[a recording that stood here is lost]"}
		}
		return llm.Audio{Media: media}
	case llm.Document:
		media, ok := m.media(p.Media)
		if !ok {
			return llm.Text{Text: "[a document that stood here is lost]"}
		}
		return llm.Document{Media: media}
	case llm.ToolResult:
		p.Parts = m.parts(p.Parts)
		return p
	}
	return p
}

func (m *mediaMap) media(in llm.Media) (llm.Media, bool) {
	out, err := m.f(in)
	m.err = errors.Join(m.err, err)
	return out, err == nil
}

func (m *mediaMap) images(in []llm.Image) []llm.Image {
	var out []llm.Image
	for _, img := range in {
		if media, ok := m.media(img.Media); ok {
			img.Media = media
			out = append(out, img)
		}
	}
	return out
}
