package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
)

// flatten lists the leaves of a JSON value by their paths.
func flatten(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[path] = "{}"
		}
		for k, e := range v {
			flatten(path+"."+k, e, out)
		}
	case []any:
		if len(v) == 0 {
			out[path] = "[]"
		}
		for i, e := range v {
			flatten(fmt.Sprintf("%s[%d]", path, i), e, out)
		}
	default:
		b, _ := json.Marshal(v)
		out[path] = string(b)
	}
}

// normalise writes a request in the one of several equal forms that Encode chooses.
func normalise(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	if v["stream"] == false {
		delete(v, "stream")
	}
	if tools, ok := v["tools"].([]any); ok && len(tools) == 0 {
		delete(v, "tools")
	}
	for k, e := range v {
		if e == nil {
			delete(v, k)
		}
	}
	if text, ok := v["text"].(map[string]any); ok {
		if f, ok := text["format"].(map[string]any); ok && f["type"] == "json_schema" && f["strict"] == nil {
			f["strict"] = false
		}
	}
	tools, _ := v["tools"].([]any)
	for _, t := range tools {
		if f := t.(map[string]any); f["type"] == "function" && f["strict"] == nil && f["parameters"] != nil && len(f) <= 5 {
			f["strict"] = false
		}
	}
	if s, ok := v["input"].(string); ok {
		v["input"] = []any{map[string]any{"role": "user", "content": s}}
	}
	items, _ := v["input"].([]any)
	for _, it := range items {
		normaliseItem(it.(map[string]any))
	}
	out := make(map[string]string)
	flatten("", v, out)
	return out
}

func normaliseItem(it map[string]any) {
	if it["type"] == nil && it["role"] != nil {
		it["type"] = "message"
	}
	if list, ok := it["output"].([]any); ok && len(list) == 1 {
		if c := list[0].(map[string]any); c["type"] == "input_text" && len(c) == 2 {
			it["output"] = c["text"]
		}
	}
	if s, ok := it["content"].(string); ok {
		kind := "input_text"
		if it["role"] == "assistant" {
			kind = "output_text"
		}
		it["content"] = []any{map[string]any{"type": kind, "text": s}}
	}
}

func TestCorpus_EveryRequestSurvivesParseAndEncode(t *testing.T) {
	d := NewDialect(Config{})
	count, leaves := 0, 0
	for _, x := range recordings(t) {
		body := x.request(t)
		if body == nil {
			continue
		}
		r, dropped, err := requests.Parse(d, body)
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		if len(dropped) > 0 {
			t.Errorf("%s: dropped %v", x.ID, dropped)
		}
		call, err := d.Encode(r)
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		want, got := normalise(t, body), normalise(t, call.Body.Bytes())
		if diff := difference(want, got); diff != "" {
			t.Errorf("%s:\n%s", x.ID, diff)
		}
		count++
		leaves += len(want)
	}
	t.Logf("%d requests with %d leaves went through parse and encode", count, leaves)
}

func difference(want, got map[string]string) string {
	var lines []string
	for k, w := range want {
		if g, ok := got[k]; !ok {
			lines = append(lines, "lost "+k+" = "+w)
		} else if g != w {
			lines = append(lines, "changed "+k+": "+w+" to "+g)
		}
	}
	for k, g := range got {
		if _, ok := want[k]; !ok {
			lines = append(lines, "added "+k+" = "+g)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
