package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/hidden"
)

// Schema limits.
const (
	maxSchema = 64 << 10 // bytes
	maxNodes  = 4000     // schemas in it, once references are resolved
	maxDepth  = 24
)

// cleanSchema returns a tool's input schema in a form that all providers accept, or an error if it cannot be used.
//
// References are replaced by their targets, because some providers refuse them and some cycles make validators run
// forever. Where a schema contains itself, the inner schema accepts anything. Keywords that only some providers
// support, malformed keywords, and conditions at the root are dropped: the server checks its input anyway.
func cleanSchema(schema any) (json.RawMessage, error) {
	root, ok := schema.(map[string]any)
	switch {
	case schema == nil:
		root = map[string]any{}
	case !ok:
		return nil, errors.New("its input schema is not an object")
	}
	c := cleaner{root: root}
	out, err := c.clean(root, nil, 0)
	if err != nil {
		return nil, err
	}
	if t := types(out["type"]); len(t) > 0 && !slices.Contains(t, "object") {
		return nil, fmt.Errorf("its input is of type %s, not an object", t[0])
	}
	out["type"] = "object"
	fold(out)
	b, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	if len(b) > maxSchema {
		return nil, fmt.Errorf("its input schema is larger than %d KiB", maxSchema>>10)
	}
	if h := hidden.Find(string(b)); h != nil {
		return nil, fmt.Errorf("input schema contains invisible characters: %s", h)
	}
	return b, nil
}

// cleaner cleans one schema.
type cleaner struct {
	root  map[string]any
	nodes int
}

// clean returns a schema without references. refs are the references that are being replaced.
func (c *cleaner) clean(v any, refs []string, depth int) (map[string]any, error) {
	in, ok := v.(map[string]any)
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return nil, errors.New("its input schema is too large or nested too deeply")
	}
	if !ok {
		return map[string]any{}, nil // true and false are schemas too
	}
	out := map[string]any{}
	if ref, ok := in["$ref"].(string); ok {
		if slices.Contains(refs, ref) {
			return out, nil
		}
		target, err := c.resolve(ref)
		if err != nil {
			return nil, err
		}
		if out, err = c.clean(target, append(slices.Clip(refs), ref), depth+1); err != nil {
			return nil, err
		}
	}
	for key, v := range in {
		if err := c.keyword(out, key, v, refs, depth+1); err != nil {
			return nil, err
		}
	}
	if slices.Contains(types(out["type"]), "array") && out["items"] == nil {
		out["items"] = map[string]any{}
	}
	return out, nil
}

// keyword adds a keyword to a schema if it is known and well-formed.
func (c *cleaner) keyword(out map[string]any, key string, v any, refs []string, depth int) (err error) {
	switch key {
	case "description", "title", "format":
		if s, ok := v.(string); ok {
			out[key] = shorten(s)
		}
	case "pattern":
		if s, ok := v.(string); ok {
			if _, err := regexp.Compile(s); err == nil {
				out[key] = s
			}
		}
	case "type":
		if t := types(v); len(t) == 1 {
			out[key] = t[0]
		} else if len(t) > 1 {
			out[key] = t
		}
	case "default", "const":
		out[key] = v
	case "enum":
		if list, ok := v.([]any); ok && len(list) > 0 {
			out[key] = list
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		if n, ok := v.(float64); ok {
			out[key] = n
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		if n, ok := v.(float64); ok && n >= 0 && n == float64(int(n)) {
			out[key] = n
		}
	case "uniqueItems":
		if b, ok := v.(bool); ok {
			out[key] = b
		}
	case "required":
		if list := stringList(v); len(list) > 0 {
			out[key] = list
		}
	case "properties":
		had, _ := out[key].(map[string]any) // from a $ref
		out[key], err = c.properties(v, had, refs, depth)
	case "items":
		if list, ok := v.([]any); ok { // one schema per position
			out[key], err = c.list(list, refs, depth)
			out[key] = map[string]any{"anyOf": out[key]}
			return err
		}
		out[key], err = c.clean(v, refs, depth)
	case "additionalProperties":
		if b, ok := v.(bool); ok {
			out[key] = b
			return nil
		}
		out[key], err = c.clean(v, refs, depth)
	case "anyOf", "oneOf", "allOf":
		if list, ok := v.([]any); ok && len(list) > 0 {
			out[key], err = c.list(list, refs, depth)
		}
	}
	return err
}

func (c *cleaner) list(in []any, refs []string, depth int) ([]any, error) {
	var out []any
	for _, v := range in {
		s, err := c.clean(v, refs, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (c *cleaner) properties(v any, had map[string]any, refs []string, depth int) (map[string]any, error) {
	out := map[string]any{}
	maps.Copy(out, had)
	in, _ := v.(map[string]any)
	for name, v := range in {
		if dotless := strings.ReplaceAll(name, ".", "_"); name == "" || len(name) > maxName || plain(dotless) != dotless {
			return nil, fmt.Errorf("it has an argument with the name %q, which some providers refuse", clip(name))
		}
		s, err := c.clean(v, refs, depth)
		if err != nil {
			return nil, err
		}
		out[name] = s
	}
	return out, nil
}

// resolve returns the part of the schema that a reference points to.
func (c *cleaner) resolve(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	bad := fmt.Errorf("its input schema refers to %q, which it does not contain", clip(ref))
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil, bad
	}
	var at any = c.root
	for _, key := range strings.Split(pointer, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch v := at.(type) {
		case map[string]any:
			at, ok = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if ok = err == nil && i >= 0 && i < len(v); ok {
				at = v[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, bad
		}
	}
	return at, nil
}

// fold moves properties from alternatives at the root into the root, because providers refuse alternatives there.
func fold(root map[string]any) {
	props, _ := root["properties"].(map[string]any)
	if props == nil {
		props = map[string]any{}
	}
	required := stringList(root["required"])
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := root[key].([]any)
		delete(root, key)
		for _, v := range list {
			s, _ := v.(map[string]any)
			more, _ := s["properties"].(map[string]any)
			for name, p := range more {
				if _, has := props[name]; !has {
					props[name] = p
				}
			}
			if key == "allOf" {
				required = append(required, stringList(s["required"])...)
			}
		}
	}
	for _, key := range []string{"enum", "const", "items"} {
		delete(root, key)
	}
	root["properties"] = props
	slices.Sort(required)
	required = slices.DeleteFunc(slices.Compact(required), func(name string) bool { _, has := props[name]; return !has })
	delete(root, "required")
	if len(required) > 0 {
		root["required"] = required
	}
}

// types returns the valid types in a "type" value.
func types(v any) []string {
	if s, ok := v.(string); ok {
		v = []any{s}
	}
	var list []string
	for _, s := range stringList(v) {
		switch s = strings.ToLower(s); s {
		case "object", "array", "string", "number", "integer", "boolean", "null":
			list = append(list, s)
		}
	}
	return list
}

// stringList returns a list of strings, without other elements.
func stringList(v any) []string {
	if list, ok := v.([]string); ok {
		return list
	}
	in, _ := v.([]any)
	var list []string
	for _, v := range in {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return list
}
