package skill

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parseYAML reads frontmatter with the YAML parser only.
func parseYAML(front string, first int) (map[string]value, error) {
	return parseFields("# no plain frontmatter\n"+front, first-1)
}

// Frontmatter that is read without the YAML parser means the same as in YAML.
func TestPlainFields_AreReadAsInYAML(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "", "", "  ", " ", "- "}).Draw(t, "indent") +
			rapid.SampledFrom([]string{"name", "a", "b", "allowed-tools", "yes", "metadata"}).Draw(t, "name") +
			rapid.SampledFrom([]string{": ", ": ", ":", " : ", ""}).Draw(t, "colon") +
			rapid.SampledFrom([]string{"", "", "word", "two words, and (more)", "it's", `"quoted: #"`, `"a"b"`, "'x'", "a: b", "a #c", "1.5", "true", "null", "~", "- x", "[x]", "|", "x ", `"a\n"`, "é", "a\tb", "*a", "x-", "a-- b"}).Draw(t, "text")
	})
	rapid.Check(t, func(t *rapid.T) {
		front := "\n" + strings.Join(rapid.SliceOfN(line, 1, 3).Draw(t, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")
		fields, ok := plainFields(front, 1)
		if !ok {
			return // TestBuiltins_ArePlain shows that plain frontmatter exists
		}
		want, err := parseYAML(front, 1)
		if err != nil || !reflect.DeepEqual(fields, want) {
			t.Errorf("%q is read as %+v, in YAML as %+v, %v", front, fields, want, err)
		}
	})
}

func TestBuiltins_ArePlain(t *testing.T) {
	files, err := fs.Glob(builtinFiles, "builtin/*/SKILL.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		b, err := fs.ReadFile(builtinFiles, name)
		if err != nil {
			t.Fatal(err)
		}
		front, _, _ := split(string(b))
		fields, ok := plainFields(front, 1)
		if want, err := parseYAML(front, 1); !ok || err != nil || !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: plain %v: %+v, in YAML %+v, %v", name, ok, fields, want, err)
		}
	}
}
