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

// What is larger than this does not stand in a record but in a blob that the record refers to.
const (
	maxOutput = 64 << 10 // of a tool
	maxMedia  = 4 << 10  // of an image or a file
)

// Blob refers to data that a store keeps beside the records of a session.
type Blob struct {
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

// blobScheme begins the URL of media that is in a blob.
const blobScheme = "blob:"

// Save appends records. What is large in them goes into blobs first.
func Save(ctx context.Context, w Writer, records ...Record) error {
	light := make([]Record, len(records))
	for i, r := range records {
		var err error
		if light[i], err = stow(ctx, w, r); err != nil {
			return err
		}
	}
	return w.Append(ctx, light...)
}

// stow is the record with what is large in it put into blobs.
func stow(ctx context.Context, w Writer, r Record) (Record, error) {
	if e, ok := r.Data.(ToolCallEnd); ok && e.OutputBlob == nil && e.Output != nil && e.Output.Len() > maxOutput {
		out := e.Output.Open()
		hash, size, err := w.PutBlob(ctx, out)
		if err := errors.Join(err, out.Close()); err != nil {
			return r, err
		}
		e.OutputBlob, e.Output = &Blob{hash, size}, nil
		r.Data = e
	}
	data, err := mapMedia(r.Data, func(m llm.Media) (llm.Media, error) {
		if len(m.Data) <= maxMedia {
			return m, nil
		}
		hash, _, err := w.PutBlob(ctx, bytes.NewReader(m.Data))
		m.URL, m.Data = blobScheme+hash, nil
		return m, err
	})
	r.Data = data
	return r, err
}

// Read reads records like Store.Load and brings what is in blobs back: media at once, and the
// output of tools when it is opened. A record whose media is lost comes with an error, a
// *CorruptError, and a text in the place of the media.
func Read(ctx context.Context, s Store, id string, after Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range s.Load(ctx, id, after) {
			if err == nil {
				r, err = fetch(ctx, s, id, r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func fetch(ctx context.Context, s Store, id string, r Record) (Record, error) {
	r.Session = id // which is another one in a copy
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

// blobOutput is the output of a tool that is in a blob.
type blobOutput struct {
	store   Store
	session string
	blob    Blob
}

// Len is the number of bytes.
func (o blobOutput) Len() int64 { return o.blob.Size }

// Open reads the blob. If it is gone the first read says so.
func (o blobOutput) Open() io.ReadCloser {
	r, err := o.store.OpenBlob(context.Background(), o.session, o.blob.Hash)
	if err != nil {
		return io.NopCloser(failingReader{err})
	}
	return r
}

var _ tool.Output = blobOutput{}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// Blobs lists what a record, as a store has it, refers to. The size of media is not known.
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
