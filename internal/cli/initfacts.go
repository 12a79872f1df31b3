package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/show"
)

// maxProjectFiles limits how many project files are counted.
const maxProjectFiles = 50_000

// facts are facts about a project, from its files.
type facts struct {
	name      string
	languages []string // most used first
	commands  []projectCommand
	layout    []string // top directories with their number of files
	checks    []string // files that configure CI
}

// projectCommand is a command that a project defines, and the file that does.
type projectCommand struct{ purpose, line, from string }

// languagesByExtension are the languages that are named in AGENTS.md.
var languagesByExtension = map[string]string{
	".go": "Go", ".py": "Python", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".scala": "Scala",
	".rb": "Ruby", ".php": "PHP", ".cs": "C#",
	".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".swift": "Swift", ".ex": "Elixir", ".exs": "Elixir", ".dart": "Dart",
	".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript",
	".vue": "Vue", ".svelte": "Svelte",
	".sh": "shell", ".sql": "SQL", ".lua": "Lua", ".zig": "Zig", ".hs": "Haskell", ".ml": "OCaml", ".clj": "Clojure",
}

// findFacts reads a project's files. It runs no project programs.
func findFacts(ctx context.Context, dir string) facts {
	f := facts{name: filepath.Base(dir)}
	files := projectFiles(ctx, dir)
	languages, tops := map[string]int{}, map[string]int{}
	for _, name := range files {
		if l := languagesByExtension[path.Ext(name)]; l != "" {
			languages[l]++
		}
		if top, _, below := strings.Cut(name, "/"); below {
			tops[top]++
		}
		if strings.HasPrefix(name, ".github/workflows/") || name == ".gitlab-ci.yml" || name == ".circleci/config.yml" ||
			name == "Jenkinsfile" {
			f.checks = append(f.checks, name)
		}
	}
	f.languages = slices.SortedFunc(maps.Keys(languages), func(a, b string) int {
		return cmp.Or(languages[b]-languages[a], strings.Compare(a, b))
	})
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		if !strings.HasPrefix(top, ".") {
			f.layout = append(f.layout, fmt.Sprintf("`%s/`: %s", show.OneLine(top), show.Plural(tops[top], "file")))
		}
	}
	for _, read := range []func(sources) []projectCommand{makeCommands, goCommands, nodeCommands, pythonCommands, otherCommands} {
		f.commands = append(f.commands, read(sources{dir, files})...)
	}
	return f
}

// projectFiles lists the files that git does not ignore, or all files without a repository.
func projectFiles(ctx context.Context, dir string) (names []string) {
	if list, err := (repo{top: dir}).list(ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard"); err == nil {
		return list[:min(len(list), maxProjectFiles)]
	}
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		base := d.Name()
		switch {
		case err != nil || d.IsDir() && name != dir &&
			(strings.HasPrefix(base, ".") && base != ".github" || base == "node_modules" || base == "vendor"):
			return fs.SkipDir
		case len(names) >= maxProjectFiles:
			return fs.SkipAll
		case d.Type().IsRegular():
			if rel, err := filepath.Rel(dir, name); err == nil {
				names = append(names, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	return names
}

// sources is a directory with its file names.
type sources struct {
	dir   string
	files []string
}

func (p sources) has(name string) bool { return slices.Contains(p.files, name) }

// read returns a file's content, or "" if the project does not have it.
func (p sources) read(name string) string {
	info, err := os.Lstat(filepath.Join(p.dir, name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join(p.dir, name))
	return string(b)
}

// lockFile is a file by which a package manager or build tool is recognized, and the command that runs a target.
type lockFile struct{ name, command string }

// byLock returns the command of the first lock file that the project has, or a default.
func (p sources) byLock(standard string, locks []lockFile) string {
	for _, l := range locks {
		if p.has(l.name) {
			return l.command
		}
	}
	return standard
}

// purposes are the commands that every project may have, and their names in makefiles and scripts.
var purposes = []struct{ purpose, names string }{
	{"build", "build compile"}, {"test", "test tests"}, {"lint", "lint vet check typecheck"},
	{"format", "fmt format"}, {"run", "start dev serve run"},
}

// named returns the commands for names that a file defines.
func named(defined []string, from, prefix string) (list []projectCommand) {
	for _, p := range purposes {
		for name := range strings.FieldsSeq(p.names) {
			if slices.Contains(defined, name) {
				list = append(list, projectCommand{p.purpose, prefix + name, from})
			}
		}
	}
	return list
}

var makeTarget = lazy.Regexp(`(?m)^([A-Za-z][\w-]*)[ \t]*:(?:[^=]|$)`)

func makeCommands(p sources) (list []projectCommand) {
	for _, f := range []lockFile{{"Makefile", "make "}, {"makefile", "make "}, {"GNUmakefile", "make "}, {"justfile", "just "}} {
		var targets []string
		for _, m := range makeTarget().FindAllStringSubmatch(p.read(f.name), -1) {
			targets = append(targets, m[1])
		}
		list = append(list, named(targets, f.name, f.command)...)
	}
	return list
}

func goCommands(p sources) []projectCommand {
	if p.read("go.mod") == "" {
		return nil
	}
	return []projectCommand{
		{"build", "go build ./...", "go.mod"},
		{"test", "go test ./...", "go.mod"},
		{"lint", "go vet ./...", "go.mod"},
	}
}

func nodeCommands(p sources) []projectCommand {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(p.read("package.json")), &manifest) != nil {
		return nil
	}
	command := p.byLock("npm run ", []lockFile{
		{"pnpm-lock.yaml", "pnpm "}, {"yarn.lock", "yarn "}, {"bun.lock", "bun run "}, {"bun.lockb", "bun run "},
	})
	return named(slices.Collect(maps.Keys(manifest.Scripts)), "package.json", command)
}

func pythonCommands(p sources) (list []projectCommand) {
	text := p.read("pyproject.toml")
	var manifest struct {
		Tool map[string]any `toml:"tool"`
	}
	_ = toml.Unmarshal([]byte(text), &manifest)
	prefix := p.byLock("", []lockFile{{"uv.lock", "uv run "}, {"poetry.lock", "poetry run "}, {"pdm.lock", "pdm run "}})
	add := func(purpose, line, from string) { list = append(list, projectCommand{purpose, prefix + line, from}) }
	if manifest.Tool["pytest"] != nil || p.has("pytest.ini") || strings.Contains(text, "pytest") {
		add("test", "pytest", "pyproject.toml")
	}
	if p.has("tox.ini") {
		add("test", "tox", "tox.ini")
	}
	if manifest.Tool["ruff"] != nil {
		add("lint", "ruff check", "pyproject.toml")
		add("format", "ruff format", "pyproject.toml")
	}
	if manifest.Tool["mypy"] != nil {
		add("lint", "mypy .", "pyproject.toml")
	}
	return list
}

func otherCommands(p sources) (list []projectCommand) {
	gradle := "gradle "
	if p.has("gradlew") {
		gradle = "./gradlew "
	}
	for _, c := range []struct{ file, build, test string }{
		{"Cargo.toml", "cargo build", "cargo test"},
		{"pom.xml", "mvn compile", "mvn test"},
		{"build.gradle", gradle + "build", gradle + "test"},
		{"build.gradle.kts", gradle + "build", gradle + "test"},
		{"CMakeLists.txt", "cmake -B build && cmake --build build", "ctest --test-dir build"},
		{"mix.exs", "mix compile", "mix test"},
		{"Package.swift", "swift build", "swift test"},
		{"Gemfile", "bundle install", "bundle exec rake test"},
	} {
		if p.has(c.file) {
			list = append(list, projectCommand{"build", c.build, c.file}, projectCommand{"test", c.test, c.file})
		}
	}
	return list
}

// text returns the facts as the text of AGENTS.md.
func (f facts) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", show.OneLine(f.name))
	if len(f.languages) > 0 {
		fmt.Fprintf(&b, "\nLanguages: %s.\n", strings.Join(f.languages, ", "))
	}
	if len(f.commands) > 0 {
		b.WriteString("\n## Commands\n\n" + f.commandList(""))
	}
	if len(f.layout) > 0 {
		b.WriteString("\n## Layout\n\n- " + strings.Join(f.layout, "\n- ") + "\n")
	}
	if len(f.checks) > 0 {
		fmt.Fprintf(&b, "\n## Checks\n\nCI runs %s.\n", show.OneLine(strings.Join(f.checks, ", ")))
	}
	return b.String()
}

// commandList lists the commands that a text does not have.
func (f facts) commandList(text string) string {
	var b strings.Builder
	for _, c := range f.commands {
		if !strings.Contains(text, c.line) {
			fmt.Fprintf(&b, "- %s: `%s` (%s)\n", c.purpose, show.OneLine(c.line), c.from)
		}
	}
	return b.String()
}
