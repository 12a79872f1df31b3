package skill

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/internal/gitdir"
	"github.com/reins-agent/reins/internal/lazy"
)

// bounds limits where a skill's references may point.
type bounds struct {
	inner string // always allowed: the project, or the skill directory
	outer string // allowed if the target does not exist: the author assumed another layout
}

// around returns the bounds for a skill outside the known places: its git repository, or else its parent directory. A
// .git that is broken or cannot be read limits references too; a .git that git ignores does not.
func around(dir string) bounds {
	parent := filepath.Dir(dir)
	if top, _, _ := gitdir.Find(gitdir.Host, parent); top != "" {
		return bounds{top, top}
	}
	return bounds{parent, filepath.Dir(parent)}
}

// escape returns why a reference in a directory is out of bounds, or "".
func (b bounds) escape(dir, target string) string {
	full := filepath.Join(dir, filepath.FromSlash(target))
	switch {
	case below(b.inner, full):
		return ""
	case !below(b.outer, full):
		return "which leaves the skill"
	}
	if _, err := os.Lstat(full); err == nil {
		return "which exists outside of the skill"
	}
	return ""
}

func below(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// reference is a file that text mentions.
type reference struct {
	target string
	line   int
	link   bool // a Markdown link or an attribute, not inline code
}

var (
	links  = lazy.Regexp(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|\bexec="([^"]+)"`)
	quoted = lazy.Regexp("`((?:\\.{1,2}/|(?:scripts|references|assets|templates|steps|resources)/)[^`\\s]+)`")
)

// references lists the relative references in a Markdown text outside code blocks.
func references(text string, first int) (list []reference) {
	for i, line := range proseLines(text) {
		for _, m := range links().FindAllStringSubmatch(line, -1) {
			list = append(list, reference{cmp.Or(m[1], m[2]), first + i, true})
		}
		for _, m := range quoted().FindAllStringSubmatch(line, -1) {
			list = append(list, reference{m[1], first + i, false})
		}
	}
	relative := list[:0]
	for _, r := range list {
		r.target, _, _ = strings.Cut(r.target, "#")
		if r.target != "" && !strings.HasPrefix(r.target, "/") && !strings.ContainsAny(r.target, ":{}<>*$|?") {
			relative = append(relative, r)
		}
	}
	return relative
}

// proseLines returns the lines of a Markdown text. Lines of code blocks are empty.
func proseLines(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, l := range lines {
		trimmed := strings.TrimLeft(l, " \t>")
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3 && (mark[0] == '`' && !strings.Contains(trimmed[len(mark):], "`") || mark[0] == '~'):
			fence, lines[i] = mark, ""
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(trimmed[len(mark):]) == "" {
				fence = ""
			}
			lines[i] = ""
		}
	}
	return lines
}
