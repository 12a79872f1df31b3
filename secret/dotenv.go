package secret

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/env"
)

// Limits for the dotenv search: at most maxDepth directories below the working directory, among the first maxDirs.
const (
	maxDepth = 2
	maxDirs  = 100
	maxFile  = 1 << 20
)

// dotenv follows an environment's dotenv files.
type dotenv struct {
	env    env.Environment
	walked bool             // directories below the working directory were searched
	listed time.Time        // last change to the working directory that was seen
	files  map[string]stamp // by path
}

// stamp identifies a file version.
type stamp struct {
	time time.Time
	size int64
}

func newDotenv(e env.Environment) *dotenv { return &dotenv{env: e, files: make(map[string]stamp)} }

// skipped are directories with dependencies and build results.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__"}

// isDotenv reports whether a file name is a dotenv name, but not an example file such as .env.example.
func isDotenv(name string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(name), ".env")
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '-' && rest[0] != '_' && rest != "rc" {
		return false
	}
	return !slices.ContainsFunc(
		[]string{"example", "sample", "template", "dist", "schema"},
		func(s string) bool { return strings.Contains(rest, s) },
	)
}

// update calls learn with the variables in new and changed files, and reports whether there were any.
func (d *dotenv) update(ctx context.Context, paths []string, learn func(name, value string)) (changed bool) {
	d.find(ctx)
	p := d.env.Info().Paths()
	for _, path := range paths {
		if isDotenv(p.Base(path)) {
			d.add(path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		was := d.files[path]
		info, err := d.env.Stat(ctx, path)
		is := stamp{info.ModTime, info.Size}
		if err != nil || info.IsDir() || is == was {
			continue
		}
		data, err := env.ReadFile(ctx, d.env, path, maxFile)
		if err != nil {
			continue
		}
		d.files[path] = is
		for name, value := range parse(string(data)) {
			changed = true
			learn(name, value)
		}
	}
	return changed
}

func (d *dotenv) add(path string) {
	if _, known := d.files[path]; !known {
		d.files[path] = stamp{}
	}
}

// find looks for files in the working directory if it has changed. The second call also looks below it; the first does
// not, because a session should start quickly.
func (d *dotenv) find(ctx context.Context) {
	dir := d.env.Info().Dir
	info, err := d.env.Stat(ctx, dir)
	walk := !d.walked && !d.listed.IsZero()
	if err != nil || !walk && info.ModTime.Equal(d.listed) {
		return
	}
	depth := 0
	if walk {
		d.walked, depth = true, maxDepth
	}
	d.listed = info.ModTime
	d.list(ctx, dir, depth)
}

// list adds the files in a directory and its subdirectories.
func (d *dotenv) list(ctx context.Context, dir string, depth int) {
	p, left := d.env.Info().Paths(), maxDirs
	for level := []string{dir}; len(level) > 0; depth-- {
		var below []string
		for _, at := range level {
			if left--; left < 0 {
				return
			}
			entries, err := d.env.ReadDir(ctx, at)
			if err != nil {
				continue
			}
			for _, e := range entries {
				switch path := p.Join(at, e.Name); {
				case isDotenv(e.Name) && !e.IsDir():
					d.add(path)
				case e.IsDir() && depth > 0 && e.Name[0] != '.' && !slices.Contains(skipped, e.Name):
					below = append(below, path)
				}
			}
		}
		level = below
	}
}

// parse yields the variables in a dotenv file.
func parse(text string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for text != "" {
			var line string
			line, text, _ = strings.Cut(text, "\n")
			name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if !ok || name == "" || name[0] == '#' || strings.ContainsAny(name, " \t") {
				continue
			}
			if body, rest, ok := unquote(value, text); ok {
				value, text = body, rest
			} else if i := strings.Index(value, " #"); i >= 0 {
				value = strings.TrimSpace(value[:i])
			}
			if !yield(name, value) {
				return
			}
		}
	}
}

// unquote returns a quoted value, which may continue on the following lines in text, and the lines after it.
func unquote(value, text string) (body, rest string, ok bool) {
	if value == "" || !strings.Contains("\"'`", value[:1]) {
		return "", "", false
	}
	all := value[1:] + "\n" + text
	for i := 0; i < len(all); i++ {
		switch {
		case all[i] == '\\' && value[0] == '"':
			i++
		case all[i] == value[0]:
			body, rest = all[:i], all[i+1:]
			if value[0] == '"' {
				body = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(body)
			}
			_, rest, _ = strings.Cut(rest, "\n")
			return body, rest, true
		}
	}
	return "", "", false
}
