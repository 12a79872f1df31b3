package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/llm"
)

// Registry holds tools by name. Registering a name again replaces the tool in place. The zero value is ready to use. It
// is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	order   []string
	tools   map[string]entry
	aliases map[string]Alias // shared with copies made by Select, so replaced and never changed
}

type entry struct {
	tool  Tool
	check *checker
}

// Alias is another name for a tool, such as the name in a vendor's own agent. Params maps the alias's argument names to
// the tool's; an argument mapped to "" is dropped.
type Alias struct {
	Name   string
	Tool   string
	Params map[string]string
}

// Register adds tools. It returns an error if a name is not accepted by all providers, if two of the tools have the same
// name, or if an input schema does not describe an object.
func (r *Registry) Register(tools ...Tool) error {
	if err := CheckNames(tools...); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tools == nil {
		r.tools = make(map[string]entry)
	}
	for _, t := range tools {
		spec := t.Spec()
		check := checkerFor(spec.Input)
		if !spec.typed { // compiling is slow and would delay every session start
			if err := check.compile(); err != nil {
				return fmt.Errorf("tool %s: invalid input schema: %w", spec.Name, err)
			}
		}
		if _, known := r.tools[spec.Name]; !known {
			r.order = append(r.order, spec.Name)
		}
		r.tools[spec.Name] = entry{t, check}
	}
	return nil
}

// All providers accept names of these characters, up to this length.
const (
	nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	maxName        = 64
)

// CheckNames returns an error if a provider would refuse a tool's name, or if two tools have the same name.
func CheckNames(tools ...Tool) error {
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		name := t.Spec().Name
		switch {
		case name == "":
			return errors.New("a tool has no name")
		case len(name) > maxName || strings.Trim(name, nameCharacters) != "":
			return fmt.Errorf("tool %q: providers refuse this name; use 1 to 64 letters, digits, \"_\" and \"-\"", name)
		case seen[name]:
			return fmt.Errorf("two tools are named %q: rename one of them", name)
		}
		seen[name] = true
	}
	return nil
}

// Unregister removes a tool and its aliases.
func (r *Registry) Unregister(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tools, name)
	r.order = slices.DeleteFunc(r.order, func(n string) bool { return n == name })
	r.aliases = maps.Clone(r.aliases)
	maps.DeleteFunc(r.aliases, func(_ string, a Alias) bool { return a.Tool == name })
}

// Alias adds other names for tools. A tool with the same name takes precedence over an alias.
func (r *Registry) Alias(aliases ...Alias) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]Alias, len(r.aliases)+len(aliases))
	maps.Copy(all, r.aliases)
	for _, a := range aliases {
		all[a.Name] = a
	}
	r.aliases = all
}

// Spec returns the tool description for a name or alias.
func (r *Registry) Spec(name string) (Spec, bool) {
	e, _, ok := r.find(name)
	if !ok {
		return Spec{}, false
	}
	return e.tool.Spec(), true
}

func (r *Registry) find(name string) (entry, Alias, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e, ok := r.tools[name]; ok {
		if a := r.aliases[name]; a.Tool == name { // it renames arguments
			return e, a, true
		}
		return e, Alias{}, true
	}
	a, ok := r.aliases[name]
	if !ok {
		return entry{}, Alias{}, false
	}
	e, ok := r.tools[a.Tool]
	return e, a, ok
}

// Names returns the tool names in the order they were first registered.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.order)
}

// offered returns the names of all tools that are not deferred.
func (r *Registry) offered() []string {
	var names []string
	for _, d := range r.Definitions() {
		names = append(names, d.Name)
	}
	return names
}

// ComesLater reports whether a name belongs to an MCP tool, which may be registered later. Lists of tools may name it
// before that.
func ComesLater(name string) bool { return strings.HasPrefix(name, "mcp__") }

// Specs returns the tool descriptions, in the order of Names.
func (r *Registry) Specs() []Spec {
	r.mu.RLock()
	defer r.mu.RUnlock()
	specs := make([]Spec, len(r.order))
	for i, name := range r.order {
		specs[i] = r.tools[name].tool.Spec()
	}
	return specs
}

// Definitions returns the tools as they are offered to a model, in the order of Names. Deferred tools are left out.
func (r *Registry) Definitions() []llm.ToolDef {
	specs := r.Specs()
	defs := make([]llm.ToolDef, 0, len(specs))
	for _, s := range specs {
		def := llm.ToolDef{Name: s.Name, Description: s.Description, Parameters: s.Input}
		if s.Freeform != nil {
			def.Parameters, def.Freeform = nil, s.Freeform
		}
		if s.Hosted.Dialect != "" {
			def = llm.ToolDef{Name: s.Name, Hosted: s.Hosted}
		}
		if !s.Deferred {
			defs = append(defs, def)
		}
	}
	return defs
}

// rename maps the alias's argument names to the tool's.
func (a Alias) rename(args json.RawMessage) (json.RawMessage, error) {
	if len(a.Params) == 0 {
		return args, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil {
		return args, nil // validation reports the problem
	}
	for from, to := range a.Params {
		v, given := members[from]
		if !given {
			continue
		}
		delete(members, from)
		if _, both := members[to]; both {
			return nil, fmt.Errorf("%q and %q are the same argument: pass only one of them", from, to)
		}
		if to != "" {
			members[to] = v
		}
	}
	return json.Marshal(members)
}

// Select returns a copy with the tools that keep accepts. A nil keep accepts all.
func (r *Registry) Select(keep func(name string) bool) *Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	c := &Registry{tools: make(map[string]entry), aliases: r.aliases}
	for _, name := range r.order {
		if keep == nil || keep(name) {
			c.order = append(c.order, name)
			c.tools[name] = r.tools[name]
		}
	}
	return c
}
