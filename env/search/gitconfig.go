package search

import (
	"path"
	"strings"
)

// excludesFile finds core.excludesFile in the text of a git configuration file. A value that
// starts with "~/" is relative to home.
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

// globalExcludes reads the user's own ignore file: what core.excludesFile names, else
// git/ignore in the configuration directory. The read function gives "" for a missing file.
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

// commonDir finds the directory that holds info/exclude for a .git that is a file, as it is in a
// linked worktree. The text is that of the .git file in dir.
func commonDir(dir, text string, read func(path string) string) string {
	gitdir, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	if !ok {
		return ""
	}
	gitdir = joinPath(dir, strings.TrimSpace(gitdir))
	common := strings.TrimSpace(read(joinPath(gitdir, "commondir")))
	if common == "" {
		return gitdir
	}
	return joinPath(gitdir, common)
}

// joinPath is path.Join, but for a second part that is absolute and then stands alone.
func joinPath(dir, p string) string {
	if isAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// isAbs knows absolute paths of every platform, written with slashes.
func isAbs(p string) bool {
	return strings.HasPrefix(p, "/") || len(p) > 2 && p[1] == ':' && p[2] == '/'
}
