package event

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// Larger values are stored in blobs instead of records.
const (
	maxOutput = 64 << 10 // tool output
	maxMedia  = 4 << 10  // an image, sound or document
)

// Blob refers to data that a store keeps beside a session's records.
type Blob struct {
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

// blobScheme is the URL scheme for media in blobs.
const blobScheme = "blob:"

// Save appends records after moving their large values into blobs.
func Save(ctx context.Context, w Writer, records ...Record) error {
	light := make([]Record, len(records))
	for i, r := range records {
		var err error
		if light[i], err = putBlobs(ctx, w, r); err != nil {
			return err
		}
	}
	return w.Append(ctx, light...)
}

// putBlobs returns the record with its large values moved into blobs.
func putBlobs(ctx context.Context, w Writer, r Record) (Record, error) {
	if e, ok := r.Data.(ToolCallEnd); ok && e.OutputBlob == nil && e.Output != nil && e.Output.Len() > maxOutput {
		out := e.Output.Open()
		hash, size, err := w.PutBlob(ctx, out)
		if err := errors.Join(err, out.Close()); err != nil {
			return r, err
		}
		e.OutputBlob, e.Output = &Blob{hash, size}, nil
		r.Data = e
	}
	var err error
	r.Data, err = mapMedia(r.Data, func(m llm.Media) (llm.Media, error) {
		if len(m.Data) <= maxMedia {
			return m, nil
		}
		hash, _, err := w.PutBlob(ctx, bytes.NewReader(m.Data))
		m.URL, m.Data = blobScheme+hash, nil
		return m, err
	})
	return r, err
}

// Read loads records like Store.Load and restores values in blobs: media at once, and tool output when it is opened.
// Lost media is replaced by a text, and the record comes with a *CorruptError.
func Read(ctx context.Context, s Store, id string, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range s.Load(ctx, id, after) {
			if err == nil {
				r, err = getBlobs(ctx, s, id, r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func getBlobs(ctx context.Context, s Store, id string, r Record) (Record, error) {
	r.Session = id // an imported copy has the old id
	if e, ok := r.Data.(ToolCallEnd); ok && e.OutputBlob != nil {
		e.Output = blobOutput{s, id, *e.OutputBlob}
		r.Data = e
	}
	var lost error
	r.Data, _ = mapMedia(r.Data, func(m llm.Media) (llm.Media, error) {
		hash, ok := strings.CutPrefix(m.URL, blobScheme)
		if !ok {
			return m, nil
		}
		data, err := readBlob(ctx, s, id, hash)
		if err != nil {
			lost = &CorruptError{Session: id, Err: fmt.Errorf("record %d: %w", r.Seq, err)}
			return m, err
		}
		m.URL, m.Data = "", data
		return m, nil
	})
	return r, lost
}

func readBlob(ctx context.Context, s Store, id, hash string) ([]byte, error) {
	f, err := s.OpenBlob(ctx, id, hash)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Blobs returns the blobs that a stored record refers to. Media blobs have size 0.
func Blobs(r Record) []Blob {
	var blobs []Blob
	if e, ok := r.Data.(ToolCallEnd); ok && e.OutputBlob != nil {
		blobs = append(blobs, *e.OutputBlob)
	}
	_, _ = mapMedia(r.Data, func(m llm.Media) (llm.Media, error) {
		if hash, ok := strings.CutPrefix(m.URL, blobScheme); ok {
			blobs = append(blobs, Blob{Hash: hash})
		}
		return m, nil
	})
	return blobs
}

// blobOutput is tool output in a blob.
type blobOutput struct {
	store   Store
	session string
	blob    Blob
}

var _ tool.Output = blobOutput{}

// Len returns the output length in bytes.
func (o blobOutput) Len() int64 { return o.blob.Size }

// Open opens the blob. If it is missing, the first read fails.
func (o blobOutput) Open() io.ReadCloser {
	r, err := o.store.OpenBlob(context.Background(), o.session, o.blob.Hash)
	if err != nil {
		return io.NopCloser(failingReader{err})
	}
	return r
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// mapMedia returns a copy in which f has replaced every image, sound and document. If f fails, a text takes its place.
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
		e.Messages, e.Appended = m.messages(e.Messages), m.messages(e.Appended)
		d = e
	case SessionEnd:
		e.Undelivered = m.messages(e.Undelivered)
		d = e
	case ToolCallEnd:
		images := m.images(e.Images)
		if n := len(e.Images) - len(images); n > 0 {
			e.Model += fmt.Sprintf("\n[images lost: %d]", n)
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
	lost := ""
	switch q := p.(type) {
	case llm.Image:
		q.Media, lost = m.media(q.Media, "image")
		p = q
	case llm.Audio:
		q.Media, lost = m.media(q.Media, "recording")
		p = q
	case llm.Document:
		q.Media, lost = m.media(q.Media, "document")
		p = q
	case llm.ToolResult:
		q.Parts = m.parts(q.Parts)
		p = q
	}
	if lost != "" {
		return llm.Text{Text: "[" + lost + " lost]"}
	}
	return p
}

// media returns the result of f for in and, if f fails, the media's name.
func (m *mediaMap) media(in llm.Media, name string) (out llm.Media, lost string) {
	out, err := m.f(in)
	if err != nil {
		m.err = errors.Join(m.err, err)
		return out, name
	}
	return out, ""
}

func (m *mediaMap) images(in []llm.Image) []llm.Image {
	var out []llm.Image
	for _, img := range in {
		media, lost := m.media(img.Media, "image")
		if lost == "" {
			img.Media = media
			out = append(out, img)
		}
	}
	return out
}
