package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/internal/realpath"
)

const (
	maxFile  = 256 << 10 // size limit for a file with instructions
	maxFiles = 2000      // file limit per skill
)

// fileName marks a directory as a skill. The reference implementation also accepts it in lower case.
const fileName = "SKILL.md"

// extensions are fields that skills use although the format does not define them. They can also be under metadata.
var extensions = []string{
	"aliases", "argument-hint", "disable-model-invocation", "model", "user-invocable", "when-to-use",
	"when_to_use", "argument_hint",
}

// Load reads the skill in a directory. Formal mistakes become warnings; an unusable or possibly harmful skill is an
// error.
func Load(dir string) (*Skill, error) {
	real, err := realpath.Dir(dir)
	if err != nil {
		return nil, err
	}
	return load(real, around(real))
}

// load reads the skill in a directory without symbolic links. Its references must be within b.
func load(dir string, b bounds) (*Skill, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, content, err := readMain(root, read)
	if err != nil {
		return nil, err
	}
	d, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := d.skill(filepath.Base(dir))
	s.Kind = KindSkill
	s.Dir = dir
	s.Path = filepath.Join(dir, name)
	if s.Files, err = files(root, name); err != nil {
		return nil, err
	}
	for _, r := range references(d.body, d.line) {
		if why := b.escape(dir, r.target); why != "" {
			return nil, fmt.Errorf("%s:%d refers to %s, %s; remove the reference", name, r.line, r.target, why)
		}
	}
	return s, nil
}

// readMain reads SKILL.md or skill.md, using read.
func readMain(root *os.Root, read func(*os.Root, string) (string, error)) (name, content string, err error) {
	for _, name := range []string{fileName, "skill.md"} {
		content, err = read(root, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name, content, err
		}
	}
	return "", "", fmt.Errorf("there is no %s in %s", fileName, root.Name())
}

// read reads a text file below a root. It refuses invisible characters.
func read(root *os.Root, name string) (string, error) {
	text, err := readRaw(root, name)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return "", fmt.Errorf("%s is not UTF-8 text", name)
	}
	if r := hidden.Find(text); r != nil {
		return "", fmt.Errorf("%s contains invisible characters (%s, first at line %d); remove them", name, r, r.Line)
	}
	return text, nil
}

// readRaw reads a file below a root. It refuses large files and links that leave the root.
func readRaw(root *os.Root, name string) (string, error) {
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", err
	case err != nil:
		return "", fmt.Errorf("%s is unreadable or a link that leaves its directory; replace it: %w", name, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", name)
	case info.Size() > maxFile:
		return "", tooLarge(name)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = tooLarge(name)
	}
	return string(b), err
}

func tooLarge(name string) error {
	return fmt.Errorf("%s is larger than %d KiB; move parts of it to other files", name, maxFile>>10)
}

// files lists a skill's files except main. A link that leaves the skill is an error.
func files(root *os.Root, main string) (names []string, err error) {
	seen := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if skipped(e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if seen++; seen > maxFiles {
			return fmt.Errorf("the skill has more than %d files", maxFiles)
		}
		if e.Type()&fs.ModeSymlink != 0 {
			if _, err := root.Stat(name); err != nil {
				return fmt.Errorf("%s is a symbolic link that leaves the skill or is broken; replace it with a file", name)
			}
		}
		if name != main {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func skipped(name string) bool {
	return name == ".git" || name == "node_modules" || name == "__pycache__"
}

// usable reports whether a name can be typed as a command.
func usable(name string) bool {
	for i, r := range name {
		if !unicode.In(r, unicode.L, unicode.N) && r != '_' && (i == 0 || !unicode.Is(unicode.M, r) && !strings.ContainsRune(".:-", r)) {
			return false
		}
	}
	return name != "" && utf8.ValidString(name)
}

// skill returns the skill in a document. A missing name is taken from base, the directory or file name, and a missing
// description from the first line.
func (d document) skill(base string) *Skill {
	s := &Skill{
		Name:        strings.TrimSpace(d.text("name")),
		Description: strings.TrimSpace(d.text("description")),
		License:     d.text("license"),

		Compatibility: d.text("compatibility"),
		Metadata:      d.fields["metadata"].pairs,
		Instructions:  d.body,

		ArgumentHint: d.extension("argument-hint", "argument_hint"),
		WhenToUse:    d.extension("when-to-use", "when_to_use"),

		Model:         d.extension("model"),
		UserInvocable: d.extension("user-invocable") != "false",
		ModelInvoked:  d.extension("disable-model-invocation") != "true",

		Aliases: slices.DeleteFunc(splitTools(d.extension("aliases")), func(a string) bool { return !usable(a) }),
	}
	if v, given := d.fields["allowed-tools"]; given {
		s.allowedTools, s.AllowedTools = v.text, v.list
		if v.list == nil {
			s.AllowedTools = splitTools(v.text)
		}
	}
	s.complete(d, base)
	return s
}

// complete adds a missing name and description, and records warnings.
func (s *Skill) complete(d document, base string) {
	warn := func(is bool, format string, args ...any) {
		if is {
			s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
		}
	}
	warn(d.missing, "there is no frontmatter")
	warn(d.invalid != "", "the frontmatter is not valid YAML: %s", d.invalid)
	warn(s.Description == "" && !d.missing, "description is missing")
	switch {
	case s.Name == "":
		warn(!d.missing, "name is missing")
		s.Name = base
	case !usable(s.Name) || utf8.RuneCountInString(s.Name) > maxName:
		warn(true, "name %q cannot be used as a command; using %s instead", s.Name, base)
		s.Name = base
	default:
		warn(s.Name != base, "name %q differs from %q", s.Name, base)
	}
	s.Description = cmp.Or(s.Description, firstLine(d.body))
}

// text returns a field as text.
func (d document) text(key string) string { return d.fields[key].text }

// extension returns a field that the format does not define, by any of its names. It may be under metadata.
func (d document) extension(keys ...string) string {
	for _, k := range keys {
		if v, ok := d.fields[k]; ok {
			return nonNull(v.text)
		}
		if v, ok := d.fields["metadata"].pairs[k]; ok {
			return nonNull(v)
		}
	}
	return ""
}

// nonNull returns trimmed text, or "" for a YAML null.
func nonNull(text string) string {
	if text = strings.TrimSpace(text); text == "null" || text == "~" {
		return ""
	}
	return text
}

// firstLine returns the first line without Markdown markup.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "#>*- "))
}
