package rules

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"

	"github.com/reins-agent/reins/policy"
)

// matches reports whether a rule's path pattern matches a path, as in a .gitignore file in the workspace: a pattern
// without a slash matches a name at any depth, and a directory covers everything below it.
func (r Rule) matches(w policy.Workspace, file string) bool {
	if r.pattern == "" {
		return true
	}
	base, pattern := w.Dir, r.pattern
	switch {
	case strings.HasPrefix(pattern, "//"):
		base, pattern = "/", pattern[1:]
	case strings.HasPrefix(pattern, "~/"):
		if w.Home == "" {
			return false
		}
		base, pattern = w.Home, pattern[1:]
	case strings.HasPrefix(pattern, "./"):
		pattern = pattern[1:]
	}
	rel, ok := w.Paths.Rel(base, file)
	if !ok {
		return false
	}
	anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	pattern = strings.Trim(pattern, "/")
	if w.Paths.Key("A") == "a" {
		rel, pattern = fold(rel), fold(pattern)
	}
	if !anchored {
		pattern = "**/" + pattern
	}
	for p := rel; ; p = path.Dir(p) {
		if ok, _ := doublestar.Match(pattern, p); ok {
			return true
		}
		if p == "." || p == "/" {
			return false
		}
	}
}

// below reports whether the pattern matches a directory only because it matches everything below.
func (r Rule) below(w policy.Workspace, dir string) bool {
	own, ok := strings.CutSuffix(r.pattern, "/**")
	if r.pattern = own; !strings.HasPrefix(own, "/") && !strings.HasPrefix(own, "~") {
		r.pattern = "./" + own
	}
	return ok && r.matches(w, dir) && !r.matches(w, path.Dir(dir))
}

// mayMatchBelow reports whether the pattern could match something below a directory.
func (r Rule) mayMatchBelow(w policy.Workspace, dir string) bool {
	if r.matches(w, dir) || r.pattern == "" {
		return true
	}
	if !strings.Contains(strings.Trim(r.pattern, "/"), "/") && !strings.HasPrefix(r.pattern, "/") && !strings.HasPrefix(r.pattern, "~") {
		return true
	}
	base, pattern := w.Dir, strings.TrimPrefix(r.pattern, "./")
	switch {
	case strings.HasPrefix(pattern, "//"):
		base = "/"
	case strings.HasPrefix(pattern, "~/"):
		base, pattern = w.Home, pattern[2:]
	}
	fixed := strings.Trim(pattern, "/")
	if i := strings.IndexAny(fixed, "*?[{"); i >= 0 {
		fixed = fixed[:i]
		fixed = fixed[:strings.LastIndexByte(fixed, '/')+1]
	}
	start := w.Paths.Join(base, fixed)
	return w.Paths.Within(dir, start) || w.Paths.Within(start, dir)
}

// fold makes names equal that a file system may treat as equal: by case, by Unicode form, and by characters that some
// systems ignore.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.ToLower(strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
					return -1
				}
				return unicode.ToLower(unicode.ToUpper(r)) // ſ and K fold to s and k
			}, norm.NFKC.String(s)))
		}
	}
	return strings.ToLower(s)
}

// protectedDirs are directories, anywhere, whose content decides what runs later or holds credentials.
var protectedDirs = []string{
	".git", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".reins", ".claude", ".codex", ".gemini", ".cursor",
	".vscode", ".idea", ".husky", ".config/gcloud", ".config/gh", ".config/git", ".config/fish",
	".config/reins", ".config/systemd", ".config/autostart", ".config/pip", ".docker", ".password-store",
	".local/share/keyrings", "library/launchagents", "library/keychains",
}

// protectedFiles are files of that kind.
var protectedFiles = []string{
	".gitconfig", ".gitmodules", ".git-credentials", ".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc",
	".pip/pip.conf", ".cargo/credentials", ".cargo/credentials.toml", ".cargo/config", ".cargo/config.toml",
	".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".gradle/init.gradle", ".nuget/nuget.config",
	".composer/auth.json", ".terraformrc", ".terraform.d/credentials.tfrc.json",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile",
	".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".xprofile",
	".xinitrc", ".xsession", ".pam_environment", ".tmux.conf", ".screenrc", ".vimrc", ".exrc", ".emacs", ".envrc",
	".gdbinit", ".lldbinit", ".pythonrc", ".irbrc", ".pryrc", ".psqlrc", ".sqliterc", ".mcp.json", ".pgpass", ".my.cnf",
	".wgetrc", ".curlrc", ".editorconfig-exec",
}

// notProtected are directories below protected directories that hold ordinary files. Paths in them are judged by the
// rest of the path.
var notProtected = []string{".claude/commands", ".claude/agents", ".claude/skills", ".claude/plans", ".reins/plans"}

// protects returns why a path must not be written, or "" for an ordinary path. Names are compared in folded form on
// every system.
func protects(w policy.Workspace, file string) string {
	for _, dir := range w.Protected {
		if w.Paths.Within(dir, file) {
			return dir
		}
	}
	slashed := "/" + strings.Trim(fold(w.Paths.ToSlash(w.Paths.Clean(file))), "/") + "/"
	for _, d := range notProtected {
		slashed = strings.ReplaceAll(slashed, "/"+d+"/", "/")
	}
	for _, d := range protectedDirs {
		if i := strings.Index(slashed, "/"+d+"/"); i >= 0 {
			return d
		}
	}
	for _, f := range protectedFiles {
		if strings.HasSuffix(slashed, "/"+f+"/") {
			return f
		}
	}
	if looksLikeGit(slashed) {
		return ".git"
	}
	return ""
}

// looksLikeGit reports whether an element is another name for .git on Windows file systems.
func looksLikeGit(slashed string) bool {
	return slices.ContainsFunc(strings.Split(slashed, "/"), func(e string) bool {
		e, _, _ = strings.Cut(strings.TrimRight(e, ". "), ":")
		return e == ".git" || e == "git~1"
	})
}
