package openai

import (
	"errors"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// Decode reads a whole response.
func (d *dialect) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	if v.Kind() != '{' {
		return errors.New("the response is no JSON object")
	}
	dec := &decoder{a: a}
	return dec.response(v)
}

// response reads a whole response object: the answer to an unary call, or the last word of a
// stream, which repeats the items.
func (d *decoder) response(v wire.Value) error {
	status := v.Get("status").Str()
	if status == "failed" || v.Get("error").Exists() && v.Get("output").Kind() != '[' {
		return d.failed(v)
	}
	if v.Get("output").Kind() != '[' && status == "" {
		return errors.New("the response has neither output nor status")
	}
	d.a.Start(v.Get("id").Str(), v.Get("model").Str())
	n := 0
	for it := v.Get("output").Elements(); it.Next(); n++ {
		seen := d.match(it.Value, n)
		if seen == nil {
			seen = d.newItem(-1)
		}
		seen.claimed = true
		if !seen.done {
			d.settle(seen, it.Value)
		} else if seen.kind == "reasoning" && it.Value.Get("encrypted_content").Exists() {
			d.a.SetState(seen.part, d.a.State(it.Value)) // encrypted anew, and as good as before
		}
	}
	d.a.Usage(usage(v.Get("usage")))
	d.finish(status, v.Get("incomplete_details", "reason").Str())
	return nil
}

// match finds the item of a stream that is item n of its response: by its id, or by its place
// for servers whose ids change. Places may be off where the response leaves items out, and ids
// may be the same for several items.
func (d *decoder) match(item wire.Value, n int) *item {
	id := item.Get("id").Str()
	for _, it := range d.items {
		if id != "" && it.id == id && !it.claimed {
			return it
		}
	}
	for _, it := range d.items {
		if it.index == int64(n) && !it.claimed && item.Get("type").Is(it.kind) {
			return it
		}
	}
	return nil
}

// finish ends the answer. Calls that never came to their end were cut off.
func (d *decoder) finish(status, detail string) {
	for _, it := range d.items {
		if isCall(it.kind) && !it.done {
			d.a.Drop(it.part)
		}
	}
	raw := status
	if detail != "" {
		raw += ":" + detail
	}
	d.a.Finish(d.reason(status, detail), raw)
}

func (d *decoder) reason(status, detail string) llm.FinishReason {
	switch status {
	case "completed", "complete":
		switch {
		case d.calls > 0:
			return llm.FinishToolCalls
		case d.refused:
			return llm.FinishContentFilter
		}
		return llm.FinishStop
	case "incomplete":
		switch detail {
		case "max_output_tokens":
			return llm.FinishLength
		case "content_filter":
			return llm.FinishContentFilter
		}
	}
	return llm.FinishOther
}

// usage reads the token counts. The API counts cached tokens as input and reasoning as output,
// which is what we do.
func usage(v wire.Value) llm.Usage {
	if v.Kind() != '{' {
		return llm.Usage{}
	}
	u := llm.Usage{Raw: []byte(v.Clone())}
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "input_tokens":
			u.Input = m.Value.Int()
		case "output_tokens":
			u.Output = m.Value.Int()
		case "input_tokens_details":
			u.CacheRead = m.Value.Get("cached_tokens").Int()
			u.CacheWrite = m.Value.Get("cache_write_tokens").Int()
		case "output_tokens_details":
			u.Reasoning = m.Value.Get("reasoning_tokens").Int()
		}
	}
	return u
}

// failed makes the error of a response that failed, and takes its token counts.
func (d *decoder) failed(v wire.Value) error {
	if u := v.Get("usage"); u.Kind() == '{' {
		d.a.Usage(usage(u))
	}
	return failure(v)
}

// failure makes the error of a response or event that says it failed.
func failure(v wire.Value) error {
	e := wire.BodyError(0, v)
	if e.Message == "" {
		e.Message = "the response failed without saying why"
	}
	if e.Kind == llm.ErrUnknown {
		e.Kind = kindOf(e.Code)
	}
	return e
}

// kindOf classifies the codes of failed responses that are only in use here.
func kindOf(code string) llm.ErrorKind {
	switch {
	case strings.Contains(code, "policy"):
		return llm.ErrContentFilter
	case strings.Contains(code, "image"):
		return llm.ErrInvalidRequest
	case code == "" || code == "failed" || code == "error":
		return llm.ErrServer
	}
	return llm.ErrUnknown
}

// reasoningText is what can be read of a reasoning item: its summaries, or else its own text.
func reasoningText(item wire.Value) string {
	if s := joined(item.Get("summary")); s != "" {
		return s
	}
	return joined(item.Get("content"))
}

// paragraph stands between the parts of a summary.
const paragraph = "\n\n"

func joined(parts wire.Value) string {
	var all []string
	for it := parts.Elements(); it.Next(); {
		if s := it.Value.Get("text").Str(); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, paragraph)
}

func isCall(kind string) bool { return kind == "function_call" || kind == "custom_tool_call" }
