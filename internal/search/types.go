package search

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed types.txt
var typesText string

// typeGlobs returns the name patterns of file types.
var typeGlobs = sync.OnceValue(func() map[string][]string {
	types := map[string][]string{}
	for line := range strings.Lines(typesText) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			types[words[0]] = append(types[words[0]], words[1:]...)
		}
	}
	return types
})

// typeGlob returns a glob for all file names that have one of the given types, or nil without types.
func typeGlob(types []string) (*glob, error) {
	if len(types) == 0 {
		return nil, nil
	}
	all := &glob{}
	for _, name := range types {
		patterns, ok := typeGlobs()[name]
		if !ok {
			return nil, unknownType(name)
		}
		for _, pattern := range patterns {
			g, err := compileGlob(pattern, false)
			if err != nil {
				return nil, err
			}
			all.alts = append(all.alts, g.alts...)
		}
	}
	return all, nil
}

func unknownType(name string) *PatternError {
	var near []string
	bare := strings.ToLower(strings.TrimLeft(name, "*."))
	if bare != "" {
		for known := range typeGlobs() {
			g, err := typeGlob([]string{known})
			if err == nil && g.match("x."+bare) || strings.HasPrefix(known, bare) {
				near = append(near, known)
			}
		}
	}
	slices.Sort(near)
	hint := `use a glob such as "*.ext" instead`
	if len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(near, ", "))
	}
	return &PatternError{
		Kind:    "file type",
		Pattern: name,
		Pos:     -1,
		Problem: "unknown type",
		Hint:    hint,
	}
}
