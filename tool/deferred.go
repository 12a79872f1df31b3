package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Requests do not include the definitions of deferred tools. The model finds them with tool_search, which returns the
// definitions, and calls them with call_tool. So a request stays small however many tools there are, and finding a tool
// does not change the beginning of later requests.

// Defer returns t as a deferred tool.
func Defer(t Tool) Tool {
	spec := t.Spec()
	spec.Deferred = true
	return deferred{t, spec}
}

// Unlist returns t as a deferred tool that tool_search does not list either. It can still be called by name.
func Unlist(t Tool) Tool {
	spec := t.Spec()
	spec.Deferred, spec.Unlisted = true, true
	return deferred{t, spec}
}

type deferred struct {
	Tool
	spec Spec
}

func (d deferred) Spec() Spec { return d.spec }

func (d deferred) Unwrap() Tool { return d.Tool }

// DefinitionSize returns approximately how many bytes tool definitions take in a request.
func DefinitionSize(tools []Tool) int {
	n := 0
	for _, t := range tools {
		spec := t.Spec()
		n += len(spec.Name) + len(spec.Description) + len(spec.Input) + len(`{"name":"","description":"","parameters":},`)
	}
	return n
}

// Names of the tools that find and call deferred tools.
const (
	SearchName = "tool_search"
	CallName   = "call_tool"
)

// RegisterSearch adds tool_search and call_tool if the registry has deferred tools. Call it when all other tools are
// registered. exclude, if not nil, reports which of these two tools to leave out.
func (r *Registry) RegisterSearch(exclude func(name string) bool) error {
	var specs []Spec
	for _, s := range r.Specs() {
		if s.Deferred && !s.Unlisted {
			specs = append(specs, s)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	for _, t := range []Tool{newSearch(specs), newDispatch()} {
		if exclude != nil && exclude(t.Spec().Name) {
			continue
		}
		if err := r.Register(t); err != nil {
			return err
		}
	}
	return nil
}

type dispatchIn struct {
	Name      string          `json:"name" jsonschema:"name of a tool that tool_search returned"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// dispatch is call_tool. The pipeline replaces its calls with calls to the tools that they name before it validates
// them.
type dispatch struct{ Tool }

func newDispatch() Tool {
	return dispatch{New(Spec{
		Name:      CallName,
		Version:   "1.0.0",
		OpenWorld: true,

		Description: "Call a tool that tool_search returned.",

		Input: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},` +
			`"arguments":{"type":"object","description":"as its input schema says"}},"required":["name"],"additionalProperties":false}`),
	}, nil, func(context.Context, *Call, dispatchIn) (Result, error) {
		return Failure(InternalError, "%s is not run itself", CallName), nil
	})}
}

// resolve returns the call that a call_tool call stands for. Other calls are returned unchanged.
func (r *Registry) resolve(c Call) (Call, *Error) {
	e, _, ok := r.find(c.Name)
	if !ok {
		return c, nil
	}
	if _, ok := e.tool.(dispatch); !ok {
		return c, nil
	}
	if err := e.check.check(c.Args); err != nil {
		return c, Errorf(ValidationError, "Invalid arguments for %s: %v", CallName, err)
	}
	var in dispatchIn
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return c, Errorf(ValidationError, "Invalid arguments for %s: %v", CallName, err)
	}
	if spec, ok := r.Spec(in.Name); ok && !spec.Deferred {
		return c, Errorf(ValidationError, "Call %s itself, without %s.", spec.Name, CallName)
	}
	c.Name = in.Name
	c.Args = in.Arguments
	c.Version = ""
	return c, nil
}

type searchIn struct {
	Query string `json:"query" jsonschema:"words, or \"select:\" and names separated by commas"`
	Max   int    `json:"max_results,omitempty" jsonschema:"default 5"`
}

const (
	searchDefault = 5
	searchMax     = 50
	listedBytes   = 1500 // names in the tool_search description
)

func newSearch(specs []Spec) Tool {
	index := sync.OnceValue(func() []indexed {
		list := make([]indexed, len(specs))
		for i, s := range specs {
			list[i] = indexed{s, words(s.Name), words(s.Description + " " + parameters(s.Input))}
		}
		return list
	})
	return New(Spec{
		Name:       SearchName,
		Version:    "1.0.0",
		ReadOnly:   true,
		Idempotent: true,
		Limit:      Limit{Chars: 60_000, Lines: -1},

		Description: fmt.Sprintf("Find further tools and their input schemas, to call them with %s. %s", CallName, summary(specs)),
	}, Nothing, func(_ context.Context, _ *Call, in searchIn) (Result, error) {
		found := find(index(), in)
		if len(found) == 0 {
			return Success("No tool matches %q. %s", in.Query, summary(specs)), nil
		}
		var b strings.Builder
		for _, s := range found {
			line, err := json.Marshal(map[string]any{"name": s.Name, "description": s.Description, "input_schema": s.Input})
			if err != nil {
				return Result{}, err
			}
			b.Write(append(line, '\n'))
		}
		return Result{Output: Text(b.String()), Notes: []string{"Call these tools with " + CallName + "."}}, nil
	})
}

// summary names the tools or, if there are too many, tool groups. A tool's group is its name up to the last double
// underscore.
func summary(specs []Spec) string {
	names := make([]string, len(specs))
	groups := map[string]int{}
	for i, s := range specs {
		names[i] = s.Name
		group := s.Name
		if j := strings.LastIndex(group, "__"); j > 0 {
			group = group[:j+2] + "*"
		}
		groups[group]++
	}
	if all := strings.Join(names, ", "); len(all) <= listedBytes {
		return "The tools are: " + all + "."
	}
	var parts []string
	for g, n := range groups {
		parts = append(parts, fmt.Sprintf("%s (%d)", g, n))
	}
	slices.Sort(parts)
	text := strings.Join(parts, ", ")
	if len(text) > listedBytes {
		text = strings.ToValidUTF8(text[:listedBytes], "") + " …"
	}
	return fmt.Sprintf("There are %d tools: %s.", len(specs), text)
}

// indexed is a tool with the words that find it.
type indexed struct {
	spec       Spec
	name, text []string
}

// find returns the tools that match a query, best match first.
func find(index []indexed, in searchIn) []Spec {
	limit := min(cmp.Or(max(in.Max, 0), searchDefault), searchMax)
	if list, ok := strings.CutPrefix(in.Query, "select:"); ok {
		return selected(index, list)
	}
	type hit struct {
		indexed
		score int
	}
	var hits []hit
	query := words(in.Query)
	for _, x := range index {
		score := 0
		for _, w := range query {
			score += 4*matches(x.name, w) + matches(x.text, w)
		}
		if score > 0 {
			hits = append(hits, hit{x, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	var found []Spec
	for _, h := range hits[:min(limit, len(hits))] {
		found = append(found, h.spec)
	}
	return found
}

// selected returns the tools with these names.
func selected(index []indexed, list string) (found []Spec) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(index, func(x indexed) bool { return x.spec.Name == strings.TrimSpace(name) })
		if i >= 0 && len(found) < searchMax {
			found = append(found, index[i].spec)
		}
	}
	return found
}

// matches returns 2 if the words contain w, 1 if a word is a prefix of w or has w as a prefix, and 0 otherwise.
func matches(all []string, w string) int {
	best := 0
	for _, x := range all {
		switch {
		case x == w:
			return 2
		case len(w) > 2 && len(x) > 2 && (strings.HasPrefix(x, w) || strings.HasPrefix(w, x)):
			best = 1
		}
	}
	return best
}

// words splits text into lower-case words, also at changes from lower to upper case.
func words(text string) []string {
	var b strings.Builder
	var last rune
	for _, c := range text {
		if unicode.IsUpper(c) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
		last = c
	}
	all := strings.FieldsFunc(b.String(), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	slices.Sort(all)
	return slices.Compact(all)
}

// parameters returns the parameter names in a schema.
func parameters(schema json.RawMessage) string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &s) // such a tool is found by its other words
	var b strings.Builder
	for name := range s.Properties {
		b.WriteString(name + " ")
	}
	return b.String()
}
