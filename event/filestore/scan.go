package filestore

import (
	"encoding/json"
	"strconv"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/jsonscan"
)

// decodeIndex decodes the content of meta.json.
func decodeIndex(object []byte) (x index, err error) {
	if x, ok := scanIndex(object); ok {
		return x, nil
	}
	err = json.Unmarshal(object, &x)
	return x, err
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
	m.ForkedAt, m.Imported = optionalSeq(r, "forked_at"), optionalSeq(r, "imported")
	if !r.Member("created") || m.Created.UnmarshalJSON(r.Raw()) != nil || !r.Member("updated") || m.Updated.UnmarshalJSON(r.Raw()) != nil {
		r.Fail()
	}
	m.Last = event.Seq(required(r, "last"))
	m.Turns = int(required(r, "turns"))
	if !r.Member("usage") || json.Unmarshal(r.Raw(), &m.Usage) != nil {
		r.Fail()
	}
	if !r.Member("cost") || json.Unmarshal(r.Raw(), &m.Cost) != nil {
		r.Fail()
	}
}

func optional(r *jsonscan.Reader, name string) string {
	if r.Member(name) {
		return r.Text()
	}
	return ""
}

func optionalSeq(r *jsonscan.Reader, name string) event.Seq {
	if r.Member(name) {
		return event.Seq(digits(r))
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
