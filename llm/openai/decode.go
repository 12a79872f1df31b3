package openai

import (
	"errors"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Decode reads a whole response.
func (d *dialect) Decode(body []byte, a *wire.Assembler) error {
	v, err := wire.ParseJSON(body)
	if err != nil {
		return err
	}
	if v.Kind() != '{' {
		return errors.New("the response is not a JSON object")
	}
	dec := &decoder{a: a}
	return dec.response(v)
}

// response reads a whole response object: the answer to a unary call, or a stream's last event, which repeats the
// items.
func (d *decoder) response(v wire.Value) error {
	status := v.Get("status").Str()
	if status == "failed" || v.Get("error").Exists() && v.Get("output").Kind() != '[' {
		return d.failed(v)
	}
	if v.Get("output").Kind() != '[' && status == "" {
		return errors.New("the response has neither output nor status")
	}
	d.a.Start(v.Get("id").Str(), v.Get("model").Str())
	d.repeat(v.Get("output"))
	u := usage(v.Get("usage"))
	u.Searches = d.searches
	u.Tier = v.Get("service_tier").Str()
	d.a.Usage(u)
	d.finish(status, v.Get("incomplete_details", "reason").Str())
	return nil
}

// repeat reads a whole response's items, some of which may have been streamed.
func (d *decoder) repeat(output wire.Value) {
	d.after, d.place = "", 0
	renamed := false // the reasoning before has another id now
	n := 0
	for it := output.Elements(); it.Next() && !d.a.Full(); n++ {
		seen := d.match(it.Value, n)
		if seen == nil {
			seen = d.newItem(-1)
		}
		seen.claimed = true
		if !seen.done {
			d.settle(seen, it.Value)
			continue
		}
		id := seen.id
		switch {
		case seen.kind == "reasoning" && it.Value.Get("encrypted_content").Exists():
			d.a.SetState(seen.part, d.a.State(d.linkedReasoning(it.Value))) // the same reasoning, encrypted again
			id = it.Value.Get("id").Str()
			renamed = id != seen.id
		case seen.kind == "reasoning":
			renamed = false
		case renamed:
			d.relink(seen, it.Value)
		}
		d.pass(seen.kind, id)
	}
}

// match returns the streamed item that is item n in the response: by its ID, or by its index for servers whose IDs
// change. Several items may have one ID, and the response may omit items.
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

// finish ends the answer and drops calls that were interrupted.
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
		case "steered": // new input interrupted the answer
			return llm.FinishPause
		}
	}
	return llm.FinishOther
}

// usage reads the token counts.
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
			u.CacheWriteLong = m.Value.Get("cache_write_tokens_details", "ttl_12h_tokens").Int()
		case "output_tokens_details":
			u.Reasoning = m.Value.Get("reasoning_tokens").Int()
		}
	}
	return u
}

// failed returns a failed response's error and records its token counts.
func (d *decoder) failed(v wire.Value) error {
	if u := v.Get("usage"); u.Kind() == '{' {
		d.a.Usage(usage(u))
	}
	return failure(v)
}

// failure returns the error that a response or event reports.
func failure(v wire.Value) error {
	e := wire.BodyError(0, v)
	if e.Message == "" {
		e.Message = "the response failed without a reason"
	}
	if e.Kind == llm.ErrUnknown {
		e.Kind = kindOf(e.Code)
	}
	return e
}

// kindOf classifies codes of failed responses that only this API uses.
func kindOf(code string) llm.ErrorKind {
	switch {
	case strings.Contains(code, "policy"):
		return llm.ErrContentFilter
	case strings.Contains(code, "data_residency"):
		return llm.ErrAccessDenied
	case strings.Contains(code, "image"):
		return llm.ErrInvalidRequest
	case code == "" || code == "failed" || code == "error":
		return llm.ErrServer
	}
	return llm.ErrUnknown
}

// reasoningText returns a reasoning item's readable text: its summaries, or else its content.
func reasoningText(item wire.Value) string {
	if s := joined(item.Get("summary")); s != "" {
		return s
	}
	return joined(item.Get("content"))
}

// paragraph separates summary parts.
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
