package pager

import (
	"fmt"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
)

// Diff returns the sections for a unified diff of any number of files: a summary, and a section per file.
func Diff(diff string) []Section {
	files := split(diff)
	var bars render.Bars
	sections := make([]Section, 1, len(files)+1)
	added, removed := 0, 0
	for _, f := range files {
		a, r := render.Counts(f.diff)
		added, removed = added+a, removed+r
		bars = append(bars, render.Bar{Label: f.name, Value: float64(a + r), Text: fmt.Sprintf("+%d −%d", a, r)})
		sections = append(sections, Section{f.name, render.Diff(f.diff, render.Layout{Expanded: true})})
	}
	summary := fmt.Sprintf("%s changed, +%d −%d", show.Plural(len(files), "file"), added, removed)
	sections[0] = Section{"Summary", []render.Block{
		{Part: render.Title(summary)},
		{Part: bars, Gap: true},
	}}
	return sections
}

// file is the diff of one file.
type file struct{ name, diff string }

// split splits a diff into files.
func split(diff string) []file {
	var out []file
	start, named, left, right := 0, "", 0, 0
	at := 0
	end := func() {
		if strings.TrimSpace(diff[start:at]) != "" {
			out = append(out, file{text.Clean(named), diff[start:at]})
		}
		start, named = at, ""
	}
	for line := range strings.SplitAfterSeq(diff, "\n") {
		s := strings.TrimRight(line, "\n")
		switch inside := left > 0 || right > 0; {
		case inside:
			switch {
			case strings.HasPrefix(s, "+"):
				right--
			case strings.HasPrefix(s, "-"):
				left--
			case !strings.HasPrefix(s, `\`):
				left--
				right--
			}
		case strings.HasPrefix(s, "@@ "):
			left, right = render.HunkSize(s)
		case strings.HasPrefix(s, "diff --git "):
			end()
			_, named, _ = strings.Cut(s, " b/")
		case strings.HasPrefix(s, "--- "):
			if named == "" || strings.Contains(diff[start:at], "\n@@ ") {
				end()
			}
			if named == "" {
				named = strings.TrimPrefix(s[4:], "a/")
			}
		case strings.HasPrefix(s, "+++ ") && s != "+++ /dev/null":
			named, _, _ = strings.Cut(strings.TrimPrefix(s[4:], "b/"), "\t")
		}
		at += len(line)
	}
	end()
	return out
}
