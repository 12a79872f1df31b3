package local

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/credential"
	"github.com/reins-agent/reins/internal/realpath"
)

// systemPaths are the system paths that programs need.
var systemPaths = strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /gnu /snap /proc /sys /dev /System /Library
	/Applications /private/etc /private/var/db /run/current-system /run/wrappers /run/systemd/resolve /var/lib/dpkg /var/lib/apt
	/var/lib/rpm /var/lib/pacman /var/db /var/cache/man /var/cache/fontconfig /home/linuxbrew`)

// toolPaths are the tools in a home directory, and settings without credentials that they need.
var toolPaths = strings.Fields(`.asdf .bun .cabal .cargo .conda .deno .dotnet .elan .fnm .ghcup .goenv .gvm .jabba .jenv .juliaup .krew
	.linuxbrew .mise .nodenv .npm-global .npm-packages .nvm .nuget/packages .opam .pixi .plenv .pnpm-store .poetry .proto .pub-cache
	.pyenv .rbenv .rustup .rvm .sdkman .stack .swiftly .swiftpm .tfenv .volta .yarn .m2/repository .gradle/caches .gradle/wrapper
	.ivy2 .konan .local/bin .local/lib .local/pipx .local/share/fnm .local/share/man .local/share/mise .local/share/pipx
	.local/share/pnpm .local/share/uv .local/share/virtualenvs go n miniconda3 anaconda3 mambaforge miniforge3
	.gitconfig .config/git .gitignore .gitignore_global .gitattributes .config/go .condarc .ripgreprc .inputrc .terminfo
	.editorconfig .npmrc .bunfig.toml .config/ripgrep .config/fd .config/bat .config/jj .hgrc .manpath`)

// toolVariables name tool directories.
var toolVariables = strings.Fields(`GOROOT GOPATH GOMODCACHE GOBIN CARGO_HOME RUSTUP_HOME NVM_DIR FNM_DIR VOLTA_HOME PNPM_HOME BUN_INSTALL
	DENO_DIR PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX RBENV_ROOT GEM_HOME JAVA_HOME MAVEN_HOME GRADLE_HOME SDKMAN_DIR DOTNET_ROOT
	ANDROID_HOME FLUTTER_ROOT ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR NODE_PATH PERL5LIB JULIA_DEPOT_PATH OPAMROOT STACK_ROOT
	COREPACK_HOME XDG_CONFIG_DIRS MANPATH LD_LIBRARY_PATH`)

// readable returns the real paths that commands with ReadOnly can read beside the writable directories and more.
func readable(more []string) []string {
	home, _ := os.UserHomeDir()
	list := slices.Concat(systemPaths, more)
	for _, name := range toolPaths {
		if home != "" {
			list = append(list, filepath.Join(home, name))
		}
	}
	for _, variable := range toolVariables {
		list = append(list, filepath.SplitList(os.Getenv(variable))...)
	}
	for _, bin := range filepath.SplitList(os.Getenv("PATH")) {
		list = append(list, bin)
		if base := filepath.Base(bin); base == "bin" || base == "sbin" || base == "shims" {
			list = append(list, filepath.Dir(bin))
		}
	}
	var real []string
	var links realpath.Cache
	for _, path := range list {
		if !filepath.IsAbs(path) {
			continue
		}
		// A variable must not open the whole home directory, nor a directory that contains it.
		if r, ok := links.Resolve(path); ok && !contains(r, home) && !slices.Contains(real, r) {
			real = append(real, r)
		}
	}
	return real
}

// contains reports whether a directory is another one, or contains it.
func contains(dir, other string) bool {
	if other == "" {
		return dir == "/"
	}
	rel, err := filepath.Rel(dir, other)
	return err == nil && filepath.IsLocal(rel)
}

// ignoreFiles are the files of a repository that searches in its subdirectories read.
var ignoreFiles = strings.Fields(".gitignore .ignore .rgignore .fdignore .git/info/exclude")

// repository returns what git reads in a directory: the repository that it belongs to, and the repositories that it
// shares objects with. If that is the home directory, only git's own files in it. The directory may be a part of the work
// tree: around is what lies in the repository and outside the directory, and ignores are the files in it that searches read.
func repository(dir string) (list, around, ignores []string) {
	home, _ := os.UserHomeDir()
	for d := dir; ; d = filepath.Dir(d) {
		for _, name := range ignoreFiles {
			ignores = append(ignores, filepath.Join(d, name))
		}
		git := filepath.Join(d, ".git")
		if data, err := os.ReadFile(git); err == nil { // a linked worktree or a submodule
			target, _ := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
			if !filepath.IsAbs(target) {
				target = filepath.Join(d, target)
			}
			git = target
		}
		if _, err := os.Lstat(filepath.Join(git, "HEAD")); err == nil {
			list = append(list, git, filepath.Join(d, ".gitignore"), filepath.Join(d, ".gitattributes"))
			if !contains(d, home) {
				list = append(list, d)
			}
			if d != dir && !contains(d, home) {
				around = []string{git, d}
			}
			if data, err := os.ReadFile(filepath.Join(git, "commondir")); err == nil {
				git = filepath.Join(git, strings.TrimSpace(string(data)))
				list = append(list, git)
			}
			data, _ := os.ReadFile(filepath.Join(git, "objects/info/alternates"))
			for path := range strings.FieldsFuncSeq(string(data), func(r rune) bool { return r == '\n' }) {
				if filepath.Base(path) == "objects" { // a repository must not name just any directory
					list = append(list, path)
				}
			}
			return list, around, ignores
		}
		if d == filepath.Dir(d) {
			return nil, nil, nil
		}
	}
}

// otherHomes is the pattern for other users' home directories.
var otherHomes = "/home/*"

// masked returns paths that commands cannot read: configured files, and files with credentials, unless the
// configuration names them or the workspace is in them.
func masked(c sandbox.Config) (list []string) {
	all := slices.Concat(c.Masked, credential.Files(""))
	var links realpath.Cache
	for _, home := range homes() {
		all = append(all, credential.InHome(home)...)
		for _, name := range credential.Settings() {
			path := filepath.Join(home, name)
			if _, ok := links.Resolve(path); !ok {
				continue
			}
			if data, err := os.ReadFile(path); err == nil && credential.HoldsToken(name, data) {
				all = append(all, path)
			}
		}
	}
	workspace := append(slices.Clone(c.Writable), c.Dir)
	seen := make(map[string]bool, len(all))
	for _, path := range all {
		path, _ = links.Resolve(path)
		named := func(dir string) bool { return contains(dir, path) }
		needed := func(dir string) bool { return contains(path, dir) }
		if !seen[path] && !slices.ContainsFunc(c.Readable, named) && !slices.ContainsFunc(workspace, needed) {
			list = append(list, path)
		}
		seen[path] = true
	}
	return list
}

// homes returns the home directories whose files this user can read.
func homes() (list []string) {
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, home)
	}
	if os.Geteuid() == 0 {
		others, _ := filepath.Glob(otherHomes)
		list = append(append(list, "/root"), others...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
