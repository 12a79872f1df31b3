package tool

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/reins-agent/reins/secret"
)

// conceal redacts a call's result.
func (p *Pipeline) conceal(ctx context.Context, out *Outcome) {
	if p.Secrets == nil {
		return
	}
	p.refresh(ctx, out)
	r := &out.Result
	r.Output = Redact(p.Secrets, r.Output)
	r.Fields = redactFields(p.Secrets, r.Fields)
	if r.Error != nil {
		e := *r.Error
		e.Message, e.Details = p.Secrets.Text(e.Message), redactFields(p.Secrets, e.Details)
		r.Error = &e
	}
	r.Notes = redactAll(p.Secrets, r.Notes)
	r.Artifacts.CommandsRun = redactAll(p.Secrets, r.Artifacts.CommandsRun)
	if m := r.Artifacts.Message; m != nil {
		r.Artifacts.Message = &Message{
			p.Secrets.Text(m.Content), m.Level, p.Secrets.Text(m.Title), p.Secrets.Text(m.Thought), redactAll(p.Secrets, m.Evidence),
		}
	}
	if present := r.Present; present != nil { // it may add text
		r.Present = func(o Output, l Limit) (string, error) {
			text, err := present(o, l)
			return p.Secrets.Text(text), err
		}
	}
}

// refresh lets the redactor learn the variables in files that a call touches.
func (p *Pipeline) refresh(ctx context.Context, out *Outcome) {
	paths := make([]string, len(out.Accesses))
	for i, a := range out.Accesses {
		paths[i] = a.Target
	}
	p.Secrets.Refresh(context.WithoutCancel(ctx), paths...)
}

// concealed returns a call whose output is redacted as it appears, and a function that ends the output.
func (p *Pipeline) concealed(ctx context.Context, out *Outcome) (c Call, end func()) {
	c = out.Call
	if p.Secrets == nil || c.Output == nil {
		return c, func() {}
	}
	p.refresh(ctx, out)
	var mu sync.Mutex // background processes may print at any time
	stream, show := p.Secrets.Stream(), c.Output
	print := func(b []byte) {
		if len(b) > 0 {
			show(b)
		}
	}
	c.Output = func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		print(stream.Write(b))
	}
	return c, func() {
		mu.Lock()
		defer mu.Unlock()
		print(stream.Close())
	}
}

func redactAll(s *secret.Redactor, list []string) []string {
	var out []string
	for _, text := range list {
		out = append(out, s.Text(text))
	}
	return out
}

func redactFields(s *secret.Redactor, fields map[string]any) map[string]any {
	if fields == nil {
		return nil
	}
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		out[name] = redactValue(s, v)
	}
	return out
}

func redactValue(s *secret.Redactor, v any) any {
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return v
	case string:
		return s.Text(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v // it cannot be recorded either
	}
	redacted := s.JSON(b)
	if string(redacted) == string(b) {
		return v
	}
	return json.RawMessage(redacted)
}

// Redact returns an output without secrets. An output without any is returned unchanged.
func Redact(s *secret.Redactor, o Output) Output {
	switch o := o.(type) {
	case nil:
		return nil
	case Text:
		return Text(s.Text(string(o)))
	}
	r := &redactedOutput{Output: o, secrets: s}
	in := r.open()
	defer in.Close()
	n, err := io.Copy(io.Discard, struct{ io.Reader }{in})
	if err == nil && in.stream.Found() == 0 {
		return o
	}
	r.size = n
	return r
}

// redactedOutput is an output whose secrets are replaced as it is read.
type redactedOutput struct {
	Output
	secrets *secret.Redactor
	size    int64
}

// Len returns the size after redaction.
func (o *redactedOutput) Len() int64 { return o.size }

// Open returns a reader over the redacted output.
func (o *redactedOutput) Open() io.ReadCloser { return o.open() }

// Close releases the output.
func (o *redactedOutput) Close() error {
	if c, ok := o.Output.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (o *redactedOutput) open() *redactedReader {
	return &redactedReader{ReadCloser: o.Output.Open(), stream: o.secrets.Stream(), buf: make([]byte, 64<<10)}
}

type redactedReader struct {
	io.ReadCloser
	stream *secret.Stream
	buf    []byte
	ready  []byte
	err    error
}

func (r *redactedReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 && r.err == nil {
		var n int
		n, r.err = r.ReadCloser.Read(r.buf)
		r.ready = r.stream.Write(r.buf[:n])
		if r.err == io.EOF {
			r.ready = append(r.ready[:len(r.ready):len(r.ready)], r.stream.Close()...)
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	if len(r.ready) > 0 {
		return n, nil
	}
	return n, r.err
}
