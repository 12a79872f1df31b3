package view

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/media"
	"github.com/reins-agent/reins/llm"
)

// Image describes an image in an item. Its data is in a record: see [Image.Data].
type Image struct {
	Record event.Seq `json:"record"`
	Index  int       `json:"index"` // among the record's images
	Name   string    `json:"name,omitempty"`
	Bytes  int       `json:"bytes"`
	Width  int       `json:"width,omitempty"` // in pixels, as the image claims; 0 is unknown
	Height int       `json:"height,omitempty"`
}

// Data returns the image's data, or nil if it is not in the record.
func (i Image) Data(r event.Record) []byte {
	if list := imagesOf(r.Data); r.Seq == i.Record && i.Index >= 0 && i.Index < len(list) {
		return list[i.Index].Media.Data
	}
	return nil
}

// images describes the images in a record. Images that only refer to a URL are left out.
func images(r event.Record) (list []Image) {
	for n, img := range imagesOf(r.Data) {
		if len(img.Media.Data) == 0 {
			continue
		}
		w, h := media.Size(img.Media.Data)
		list = append(list, Image{
			Record: r.Seq,
			Index:  n,
			Name:   valid(img.Name),
			Bytes:  len(img.Media.Data),
			Width:  w,
			Height: h,
		})
	}
	return list
}

// imagesOf returns the images in a record that an item shows.
func imagesOf(d event.Data) []llm.Image {
	switch d := d.(type) {
	case event.UserInput:
		return imageParts(d.Message)
	case event.SteeringInjected:
		return imageParts(d.Message)
	case event.ToolCallEnd:
		return d.Images
	}
	return nil
}

func imageParts(m llm.Message) (list []llm.Image) {
	for _, p := range m.Parts {
		if img, ok := p.(llm.Image); ok {
			list = append(list, img)
		}
	}
	return list
}
