package search

import (
	"path"
	"strings"
)

// excludesFile returns a git configuration's core.excludesFile, with "~/" expanded.
func excludesFile(config, home string) string {
	section, value := "", ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			value = strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok && home != "" {
		return path.Join(home, rest)
	}
	return value
}

// globalExcludes reads the user's ignore file: core.excludesFile, or git/ignore in the configuration directory. read
// returns "" for a missing file.
func globalExcludes(home, xdg string, read func(path string) string) rules {
	if xdg == "" && home != "" {
		xdg = path.Join(home, ".config")
	}
	file := ""
	if home != "" {
		file = excludesFile(read(path.Join(home, ".gitconfig")), home)
	}
	if file == "" && xdg != "" {
		file = excludesFile(read(path.Join(xdg, "git", "config")), home)
	}
	if file == "" && xdg != "" {
		file = path.Join(xdg, "git", "ignore")
	}
	if file == "" {
		return nil
	}
	return parseIgnore(read(file))
}
