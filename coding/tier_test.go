package coding

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTiers_HaveEachOther(t *testing.T) {
	for _, name := range append(slices.Collect(maps.Keys(tierOf)), "shell", "grep") {
		first := slices.IndexFunc(tierOrder, func(t Tier) bool { return t.has(name) })
		for i, tier := range tierOrder {
			if tier.has(name) != (i >= first) || (i >= first) != (slices.Index(tierOrder, TierOf(name)) <= i) {
				t.Errorf("%s has %s: %v", tier, name, tier.has(name))
			}
		}
	}
	if _, err := ParseTier("most"); err == nil {
		t.Error("an unknown tier was accepted")
	}
	if _, err := Open(t.Context(), Config{Model: "m", Tier: "most"}); err == nil || !strings.Contains(err.Error(), "lean, core, advanced or all") {
		t.Errorf("Open with an unknown tier: %v", err)
	}
}

// The table of docs/tools.md names the tier of each tool and a test that exists.
func TestTiers_AreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t, "..")
	rows := regexp.MustCompile("(?m)^\\| .* \\| `(\\w+)` \\| (\\w+) \\| (Test\\w+) \\|$").FindAllStringSubmatch(string(doc), -1)
	documented := map[string]bool{}
	for _, r := range rows {
		documented[r[1]] = true
		if string(TierOf(r[1])) != r[2] {
			t.Errorf("%s is documented as %s, but is %s", r[1], r[2], TierOf(r[1]))
		}
		if _, ok := tests[r[3]]; !ok {
			t.Errorf("%s: there is no test %s", r[1], r[3])
		}
	}
	for _, name := range []string{"lsp", "task_stop", "cron_list", "update_memory", "shell"} {
		if !documented[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// testNames maps the tests below a directory to the comment line before each.
func testNames(t *testing.T, dir string) map[string]string {
	t.Helper()
	names := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^(// .*\n)?func (Test\w+)\(`).FindAllSubmatch(b, -1) {
			if name := string(m[2]); names[name] == "" {
				names[name] = string(m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestSpecNotes_NameTestsThatExist(t *testing.T) {
	doc, err := os.ReadFile("../docs/spec-notes.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t, "..")
	named := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(named) < 40 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, name := range named {
		if _, ok := tests[name]; !ok {
			t.Errorf("there is no test %s", name)
		}
	}
	done := 0
	for name, text := range tests {
		if !strings.HasPrefix(text, "// Definition of done, ") {
			continue
		}
		done++
		if !slices.Contains(named, name) {
			t.Errorf("%s is not in a table", name)
		}
	}
	if done < 63 {
		t.Errorf("found %d tests with a number from the definition of done, want 63", done)
	}
	tables := string(doc)[:strings.Index(string(doc), "## Where the specification contradicts itself")]
	rows := 0
	for row := range strings.Lines(tables) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| requirement") {
			continue
		}
		rows++
		if cells := strings.Split(row, "|"); len(cells) != 5 || !strings.Contains(cells[3], "Test") || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("no place or no test in %q", row)
		}
	}
	if rows < 90 {
		t.Errorf("only %d rows", rows)
	}
}
