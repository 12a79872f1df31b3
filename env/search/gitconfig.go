package search

import (
	"path"
	"strings"

	"github.com/reins-agent/reins/env"
)

// excludesFile returns core.excludesFile of a git configuration, with "~/" expanded.
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

// globalExcludes reads the ignore file of the user: core.excludesFile, or git/ignore in the
// configuration directory. read returns "" for a missing file.
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

// commonDir returns the directory with info/exclude for a .git file, as in a linked worktree. text is
// the content of that file in dir.
func commonDir(paths env.Paths, dir, text string, read func(path string) string) string {
	gitdir, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	if !ok {
		return ""
	}
	gitdir = paths.ToSlash(paths.Abs(dir, strings.TrimSpace(gitdir)))
	common := strings.TrimSpace(read(gitdir + "/commondir"))
	if common == "" {
		return gitdir
	}
	return paths.ToSlash(paths.Abs(gitdir, common))
}
