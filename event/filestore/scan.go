package filestore

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/jsonscan"
	"github.com/reins-agent/reins/llm"
)

// decodeIndex decodes the content of meta.json.
func decodeIndex(object []byte) (x index, err error) {
	if x, ok := scanIndex(object); ok {
		return x, nil
	}
	decoded := new(index) // only here, because it is on the heap
	err = json.Unmarshal(object, decoded)
	return *decoded, err
}

// scanIndex decodes an index with the member order that encoding/json writes.
func scanIndex(object []byte) (x index, ok bool) {
	r := jsonscan.Read(object)
	r.Open("{")
	x.Format = int(required(&r, "format"))
	x.Size = required(&r, "log_size")
	x.Lines = int(required(&r, "log_lines"))
	if !r.Member("meta") {
		return index{}, false
	}
	r.Open("{")
	scanMeta(&r, &x.Meta)
	r.Close("}")
	r.Close("}")
	return x, r.Done()
}

// scanMeta reads the members of a session description.
func scanMeta(r *jsonscan.Reader, m *event.Meta) {
	if !r.Member("id") {
		r.Fail()
	}
	m.ID = r.Text()
	m.Title, m.Prompt, m.Summary = optional(r, "title"), optional(r, "prompt"), optional(r, "summary")
	if r.Member("tags") {
		r.Open("[")
		for m.Tags = []string{}; r.More(); {
			m.Tags = append(m.Tags, r.Text())
		}
		r.Close("]")
	}
	m.Provider, m.Model = optional(r, "provider"), optional(r, "model")
	m.Dir, m.Branch, m.Parent = optional(r, "dir"), optional(r, "branch"), optional(r, "parent")
	m.ForkedAt, m.Imported = event.Seq(optionalNumber(r, "forked_at")), event.Seq(optionalNumber(r, "imported"))
	if !r.Member("created") || m.Created.UnmarshalJSON(r.Raw()) != nil || !r.Member("updated") || m.Updated.UnmarshalJSON(r.Raw()) != nil {
		r.Fail()
	}
	m.Last = event.Seq(required(r, "last"))
	m.Turns = int(required(r, "turns"))
	if !r.Member("usage") {
		r.Fail()
	}
	scanUsage(r, &m.Usage)
	if !r.Member("cost") {
		r.Fail()
	}
	m.Cost = scanCost(r)
}

func scanUsage(r *jsonscan.Reader, u *llm.Usage) {
	r.Open("{")
	u.Input, u.Output, u.Reasoning = required(r, "input_tokens"), required(r, "output_tokens"), required(r, "reasoning_tokens")
	u.CacheRead, u.CacheWrite = required(r, "cache_read_tokens"), required(r, "cache_write_tokens")
	u.CacheWriteLong, u.Searches = optionalNumber(r, "cache_write_long_tokens"), optionalNumber(r, "searches")
	u.Tier = optional(r, "tier")
	if r.Member("raw") {
		if raw := r.Raw(); json.Valid(raw) {
			u.Raw = bytes.Clone(raw)
		} else {
			r.Fail()
		}
	}
	r.Close("}")
}

// scanCost reads null or a number that is not negative and has no exponent.
func scanCost(r *jsonscan.Reader) *float64 {
	raw := string(r.Raw())
	if raw == "null" {
		return nil
	}
	whole, fraction, point := strings.Cut(raw, ".")
	if !isDigits(whole) || whole[0] == '0' && whole != "0" || point && !isDigits(fraction) {
		r.Fail()
		return nil
	}
	cost, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		r.Fail()
	}
	return &cost
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func optional(r *jsonscan.Reader, name string) string {
	if r.Member(name) {
		return r.Text()
	}
	return ""
}

func optionalNumber(r *jsonscan.Reader, name string) int64 {
	if r.Member(name) {
		return digits(r)
	}
	return 0
}

// required reads a required member with a number that is not negative.
func required(r *jsonscan.Reader, name string) int64 {
	if !r.Member(name) {
		r.Fail()
		return 0
	}
	return digits(r)
}

func digits(r *jsonscan.Reader) int64 {
	raw := r.Raw()
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || len(raw) > 1 && raw[0] == '0' || raw[0] == '-' || raw[0] == '+' {
		r.Fail()
	}
	return n
}
