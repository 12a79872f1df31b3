package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/requests"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

type object = map[string]any

var index = regexp.MustCompile(`\[\d+\]`)

// TestCorpus_RecordedRequestsSurviveParseAndEncode compares every leaf in a recorded request with the result of parsing
// and encoding it, after the normalisations that Parse documents. Parse must list the leaves that are lost.
func TestCorpus_RecordedRequestsSurviveParseAndEncode(t *testing.T) {
	d := NewDialect(Config{})
	count, leafCount := 0, 0
	listed := map[string]int{}
	for _, x := range recordings(t) {
		body := text(x.Request.Body)
		if len(body) == 0 || string(body) == "null" {
			continue
		}
		r, dropped, err := requests.Parse(d, body)
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		for i, path := range dropped {
			dropped[i] = index.ReplaceAllString(camelPath(path), "[]")
			listed[dropped[i]]++
		}
		call, err := d.Encode(r)
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		want, got := leaves(normalise(body)), leaves(decodeJSON(call.Body.Bytes()))
		count++
		leafCount += len(want)
		for _, problem := range lost(want, got, dropped) {
			t.Errorf("%s: %s", x.ID, problem)
		}
	}
	t.Logf("%d requests with %d leaves; not modelled and listed: %v", count, leafCount, listed)
}

// lost compares leaves in both directions.
func lost(want, got map[string]string, dropped []string) (problems []string) {
	explained := func(path string) bool {
		shape := index.ReplaceAllString(path, "[]")
		return slices.ContainsFunc(dropped, func(d string) bool { return strings.HasPrefix(shape, d) })
	}
	for path, value := range want {
		if g, ok := got[path]; (!ok || g != value) && !explained(path) && !corrected(path, got) {
			problems = append(problems, fmt.Sprintf("%s is %.80q, want %.80q", path, g, value))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			problems = append(problems, path+" was added")
		}
	}
	return problems
}

// corrected reports whether the adapter corrected a client's mistake: an image type, or the call name in a result.
func corrected(path string, got map[string]string) bool {
	if strings.HasSuffix(path, ".functionResponse.name") {
		for other, value := range got {
			if strings.HasSuffix(other, ".functionCall.name") && value == got[path] {
				return true
			}
		}
	}
	blob, ok := strings.CutSuffix(path, ".mimeType")
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(got[blob+".data"], "string "))
	return ok && err == nil && got[path] == "string "+http.DetectContentType(data)
}

func camelPath(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		parts[i] = wire.Camel([]byte(p))
	}
	return strings.Join(parts, ".")
}

func decodeJSON(data []byte) any {
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// leaves flattens JSON into paths and values. Numbers are compared by value.
func leaves(v any) map[string]string {
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case object:
			if len(v) == 0 {
				out[path] = "{}"
			}
			for k, m := range v {
				walk(path+"."+k, m)
			}
		case []any:
			if len(v) == 0 {
				out[path] = "[]"
			}
			for i, m := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), m)
			}
		case json.Number:
			f, _ := v.Float64()
			out[path] = fmt.Sprint(f)
		default:
			out[path] = fmt.Sprintf("%T %v", v, v)
		}
	}
	walk("", v)
	flat := map[string]string{}
	for k, s := range out {
		flat[strings.TrimPrefix(k, ".")] = s
	}
	return flat
}

// normalise brings a recorded request into the form that Encode writes.
func normalise(body []byte) any {
	r, ok := decodeJSON(body).(object)
	if !ok {
		return nil
	}
	r = camelKeys(r)
	for _, key := range []string{"generationConfig", "toolConfig"} {
		if c, ok := r[key].(object); ok {
			c = camelKeys(c)
			for _, inner := range []string{"thinkingConfig", "functionCallingConfig"} {
				if v, ok := c[inner].(object); ok {
					c[inner] = camelKeys(v)
				}
			}
			r[key] = c
		}
	}
	if tools, ok := r["tools"].([]any); ok {
		r["tools"] = normaliseTools(tools)
	}
	if contents, ok := r["contents"].([]any); ok {
		r["contents"] = normaliseContents(contents)
	}
	return r
}

func camelKeys(o object) object {
	out := object{}
	for k, v := range o {
		out[wire.Camel([]byte(k))] = v
	}
	return out
}

func normaliseTools(tools []any) []any {
	var out []any
	var group []any
	for _, t := range tools {
		tool := camelKeys(t.(object))
		decls, ok := tool["functionDeclarations"].([]any)
		if !ok {
			out = append(out, tool)
			group = nil
			continue
		}
		for i := range decls {
			d := camelKeys(decls[i].(object))
			if p, ok := d["parameters"]; ok {
				delete(d, "parameters")
				d["parametersJsonSchema"] = lowerTypes(p)
			}
			decls[i] = d
		}
		if group != nil {
			group = append(group, decls...)
			out[len(out)-1] = object{"functionDeclarations": group}
			continue
		}
		group = decls
		out = append(out, object{"functionDeclarations": group})
	}
	return out
}

// typeNumbers maps the numbers of types, which some clients send.
var typeNumbers = map[string]string{
	"1": "string", "2": "number", "3": "integer", "4": "boolean", "5": "array", "6": "object", "7": "null",
}

// lowerTypes converts the types in a schema to lower case.
func lowerTypes(v any) any {
	switch v := v.(type) {
	case object:
		v = maps.Clone(v)
		nullable := v["nullable"] == true
		if n, ok := v["type"].(json.Number); ok {
			v["type"] = typeNumbers[n.String()]
		}
		for k, m := range v {
			if s, ok := m.(string); ok && k == "type" {
				v[k] = strings.ToLower(s)
				if nullable {
					v[k] = []any{strings.ToLower(s), "null"}
					delete(v, "nullable")
				}
				continue
			}
			v[k] = lowerTypes(m)
		}
		return v
	case []any:
		for i := range v {
			v[i] = lowerTypes(v[i])
		}
	}
	return v
}

func normaliseContents(contents []any) []any {
	var out []any
	last := ""
	for _, c := range contents {
		content := c.(object)
		role, _ := content["role"].(string)
		if role != "model" {
			role = "user"
		}
		var parts []any
		for _, p := range content["parts"].([]any) {
			part := normalisePart(p.(object))
			if len(part) == 1 && part["text"] == "" {
				continue
			}
			parts = append(parts, part)
		}
		if len(parts) == 0 {
			continue
		}
		if role == last {
			prev := out[len(out)-1].(object)
			prev["parts"] = append(prev["parts"].([]any), parts...)
			continue
		}
		out = append(out, object{"role": role, "parts": parts})
		last = role
	}
	return out
}

func normalisePart(p object) object {
	p = camelKeys(p)
	for _, key := range []string{"inlineData", "fileData", "functionCall", "functionResponse"} {
		v, ok := p[key].(object)
		if !ok {
			continue
		}
		v = camelKeys(v)
		if s, ok := v["data"].(string); ok && key == "inlineData" {
			b, _ := wire.DecodeBase64(s)
			v["data"] = base64.StdEncoding.EncodeToString(b)
		}
		if key == "functionCall" && v["args"] == nil {
			v["args"] = object{}
		}
		if key == "functionResponse" && v["response"] == nil {
			v["response"] = object{"result": ""}
		}
		if parts, ok := v["parts"].([]any); ok {
			for i := range parts {
				parts[i] = normalisePart(parts[i].(object))
			}
		}
		p[key] = v
	}
	return p
}

// TestCorpus_SignaturesAreSentBackInPlace replays recorded answers as history: every signature
// must be in the next request to the same model, byte for byte and in order.
func TestCorpus_SignaturesAreSentBackInPlace(t *testing.T) {
	d := NewDialect(Config{})
	n := 0
	for _, x := range recordings(t) {
		resp, err := x.read()
		want := x.truth(t).signatures
		if err != nil || len(want) == 0 || x.Model == "" {
			continue
		}
		call, err := d.Encode(&llm.Request{Model: x.Model, Messages: []llm.Message{llm.UserText("hi"), resp.Message}})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Contents []struct {
				Parts []map[string]json.RawMessage
			}
		}
		if err := json.Unmarshal(call.Body.Bytes(), &body); err != nil {
			t.Fatalf("%s: %v", x.ID, err)
		}
		var got truth
		for _, p := range body.Contents[1].Parts {
			got.part(p)
		}
		if !slices.Equal(got.signatures, want) {
			t.Errorf("%s: sent %q, want %q", x.ID, got.signatures, want)
		}
		n += len(want)
	}
	t.Logf("%d signatures were sent back", n)
}
