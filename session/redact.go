package session

import (
	"context"
	"errors"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// secrets returns the redactor for a session of a directory.
func (m *Manager) secrets(ctx context.Context, dir string) (*secret.Redactor, error) {
	if m.Secrets == nil {
		return secret.New(ctx, secret.Config{})
	}
	return m.Secrets(ctx, dir)
}

// copyRedacted copies a session to another store.
func copyRedacted(ctx context.Context, secrets *secret.Redactor, from, to event.Store, s event.Meta) (err error) {
	for _, text := range []*string{&s.Title, &s.Prompt, &s.Summary, &s.Branch} {
		*text = secrets.Text(*text)
	}
	w, err := to.Create(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	batch := make([]event.Record, 0, 64)
	for r, err := range event.Read(ctx, from, s.ID, 0) {
		if err == nil {
			r, err = redactRecord(secrets, r)
		}
		if batch = append(batch, r); err == nil && len(batch) == cap(batch) {
			err = event.Save(ctx, w, batch...)
			batch = batch[:0]
		}
		if err != nil {
			return err
		}
	}
	if err := event.Save(ctx, w, batch...); err != nil {
		return err
	}
	return w.SetMeta(ctx, s)
}

// redactRecord redacts all texts in a record.
func redactRecord(secrets *secret.Redactor, r event.Record) (event.Record, error) {
	end, isEnd := r.Data.(event.ToolCallEnd)
	if isEnd { // the output may be large
		short := end
		short.Output, short.OutputBlob = nil, nil
		r.Data = short
	}
	b, err := r.MarshalJSON()
	if err != nil {
		return r, err
	}
	var out event.Record
	if err := out.UnmarshalJSON(secrets.Strings(b)); err != nil {
		return r, err
	}
	if isEnd {
		short := out.Data.(event.ToolCallEnd)
		short.Output = tool.Redact(secrets, end.Output)
		out.Data = short
	}
	return out, nil
}
