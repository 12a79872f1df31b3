package reins

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/apitext"
)

var update = flag.Bool("update", false, "write the files in api/ anew")

// TestAPI_ChangesAreSeenInReview compares what the public packages export with the files in api/.
func TestAPI_ChangesAreSeenInReview(t *testing.T) {
	const advice = "if that is intended, run: go test . -run API -update"
	want := exportedAPIs(t)
	stored, err := filepath.Glob("api/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stored {
		file = filepath.ToSlash(file)
		if _, ok := want[file]; ok {
			continue
		}
		if !*update {
			t.Errorf("%s describes no public package; %s", file, advice)
		} else if err := os.Remove(file); err != nil {
			t.Error(err)
		}
	}
	for file, lines := range want {
		if *update {
			writeLines(t, file, lines)
			continue
		}
		if diff := lineDiff(readLines(t, file), lines); diff != "" {
			t.Errorf("the exported API differs from %s:\n%s%s", file, diff, advice)
		}
	}
}

// exportedAPIs returns the lines of each file that api/ should hold, by the name of the file. Packages
// that export nothing have none.
func exportedAPIs(t *testing.T) map[string][]string {
	t.Helper()
	apis := map[string][]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != "." && !mayHoldPublicPackages(dir) {
			return fs.SkipDir
		}
		files, err := parsePackage(dir)
		if err != nil {
			return err
		}
		lines := apitext.Lines(files)
		more, err := internalTypes(files, lines)
		if lines = append(lines, more...); len(lines) > 0 {
			slices.Sort(lines)
			apis[apiFile(dir)] = lines
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return apis
}

// internalType matches a line in which an exported type is an internal one under another name, or embeds it.
var internalType = regexp.MustCompile(`^type (\w+) (?:=|struct, embedded) \*?(\w+)\.(\w+)$`)

// internalTypes returns the fields and methods that a package exports through types of internal packages.
func internalTypes(files []*ast.File, lines []string) (more []string, err error) {
	for _, line := range lines {
		m := internalType.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, pkg, typ := m[1], m[2], m[3]
		dir := importedDir(files, pkg)
		if !strings.HasPrefix(dir, "internal/") {
			continue
		}
		theirs, err := parsePackage(dir)
		if err != nil {
			return nil, err
		}
		member := regexp.MustCompile(`^(type |method \(\*?)` + typ + `((?: struct| interface),|\))`)
		for _, l := range apitext.Lines(theirs) {
			if member.MatchString(l) {
				more = append(more, member.ReplaceAllString(l, "${1}"+name+"${2}"))
			}
		}
	}
	return more, nil
}

// importedDir returns the directory of a package that the files import by this name, or "".
func importedDir(files []*ast.File, name string) string {
	for _, f := range files {
		for _, i := range f.Imports {
			if dir, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ours && path.Base(dir) == name {
				return dir
			}
		}
	}
	return ""
}

// apiFile returns the name of the file that lists what the package in dir exports.
func apiFile(dir string) string {
	if dir == "." {
		dir = "reins"
	}
	return "api/" + strings.ReplaceAll(dir, "/", "-") + ".txt"
}

// mayHoldPublicPackages reports whether others can import packages in dir or below it as packages of this
// module.
func mayHoldPublicPackages(dir string) bool {
	base := path.Base(dir)
	if base == "internal" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return false
	}
	_, err := os.Stat(dir + "/go.mod")
	return errors.Is(err, fs.ErrNotExist)
}

// parsePackage parses the package in dir as it is built for Linux, whatever this machine is. It returns
// nothing for commands and for directories without a package.
func parsePackage(dir string) ([]*ast.File, error) {
	linux := build.Default
	linux.GOOS, linux.GOARCH, linux.CgoEnabled = "linux", "amd64", false
	pkg, err := linux.ImportDir(dir, 0)
	if _, none := errors.AsType[*build.NoGoError](err); none || err == nil && pkg.IsCommand() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), dir+"/"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func readLines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' })
}

func writeLines(t *testing.T, file string, lines []string) {
	t.Helper()
	if err := os.MkdirAll(path.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lineDiff returns the lines of before and after that the other lacks, marked with - and +, and nothing if
// the two are equal. Of many lines it shows the first.
func lineDiff(before, after []string) string {
	const most = 20
	if slices.Equal(before, after) {
		return ""
	}
	diff := append(without("- ", before, after), without("+ ", after, before)...)
	if len(diff) == 0 {
		return "the same lines, not sorted or not unique\n"
	}
	slices.SortStableFunc(diff, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	if more := len(diff) - most; more > 0 {
		diff = append(diff[:most], fmt.Sprintf("and %d more lines", more))
	}
	return strings.Join(diff, "\n") + "\n"
}

// without returns the lines that are not among others, each with the mark before it.
func without(mark string, lines, others []string) []string {
	known := map[string]bool{}
	for _, l := range others {
		known[l] = true
	}
	var rest []string
	for _, l := range lines {
		if !known[l] {
			rest = append(rest, mark+l)
		}
	}
	return rest
}

func TestAPI_DifferencesAreShownShortly(t *testing.T) {
	got := lineDiff([]string{"func A()", "func B()", "func C()"}, []string{"func A()", "func B(int)", "func C()"})
	if want := "- func B()\n+ func B(int)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf("func F%02d()", i)
	}
	if got := lineDiff(nil, many); strings.Count(got, "\n") != 21 || !strings.HasSuffix(got, "and 10 more lines\n") {
		t.Errorf("got %q", got)
	}
	if got := lineDiff(many, many); got != "" {
		t.Errorf("equal lines differ: %q", got)
	}
}
