package wire_test

import (
	"errors"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// toy is a small dialect. Stream events are words: "[DONE]" ends the answer, "!…" is a provider error, "?" is malformed
// and anything else is text. A whole answer is a JSON string.
type toy struct{}

func (toy) Name() string { return "toy" }

func (toy) Encode(r *llm.Request) (*llm.Call, error) {
	if r.Model == "impossible" {
		return nil, errors.New("cannot encode this request")
	}
	return &llm.Call{
		Path:   "/talk",
		Header: http.Header{"X-Toy": {"yes"}},
		Body:   llm.Body{[]byte(`{"model":`), wire.AppendString(nil, r.Model), []byte(`}`)},
		Stream: !r.Unary,
	}, nil
}

func (toy) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	i := a.BeginText()
	a.Delta(i, v.Str())
	a.Finish(llm.FinishStop, "stop")
	return nil
}

func (toy) NewDecoder(a *wire.Assembler) wire.Decoder { return &toyDecoder{a: a, text: -1} }

func (toy) Authorize(h http.Header, key string) { h.Set("X-Toy-Key", key) }

type toyDecoder struct {
	a    *wire.Assembler
	text int
}

func (d *toyDecoder) Event(ev wire.Event) error {
	data := string(ev.Data)
	switch {
	case data == "[DONE]":
		d.a.Finish(llm.FinishStop, "stop")
	case data == "?":
		return errors.New("malformed event")
	case strings.HasPrefix(data, "!"):
		return &llm.Error{Kind: llm.ErrServer, Message: data[1:]}
	default:
		if d.text < 0 {
			d.text = d.a.BeginText()
		}
		d.a.Delta(d.text, data)
	}
	return nil
}

func (d *toyDecoder) End() {}

func (d *toyDecoder) Usage() (llm.Usage, bool) { return llm.Usage{Input: 7}, false }
