package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
)

// tableLines returns the lines in a testdata file. Lines in double quotes are Go strings.
func tableLines(t *testing.T, name string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if text, err := strconv.Unquote(line); err == nil && line[0] == '"' {
			line = text
		}
		if slices.Contains(list, line) {
			t.Errorf("%s: it is there twice", line)
		}
		list = append(list, line)
	}
	return list
}

// more describes a line's effects besides reading below /repo and its system, or returns "".
func more(line string) string {
	effects, err := Analyze(line, Options{Dir: "/repo", Home: "/home/user", Paths: env.PathsOf("linux")})
	if err != nil {
		return err.Error()
	}
	for _, e := range effects {
		if e.Unknown != "" {
			return e.Unknown
		}
		for _, a := range e.Accesses {
			if p := filepath.Clean(a.Path); a.Kind != Read || p != "/repo" && !strings.HasPrefix(p, "/repo/") {
				return fmt.Sprintf("%s %s", a.Kind, a.Path)
			}
		}
	}
	return ""
}

func TestAnalyze_NoHostileLineOnlyReadsInside(t *testing.T) {
	lines := tableLines(t, "hostile.txt")
	if len(lines) < 150 {
		t.Errorf("there are only %d lines", len(lines))
	}
	for _, line := range lines {
		if more(line) == "" {
			t.Errorf("%s\n\tis judged to only read inside", line)
		}
	}
}

func TestAnalyze_EverydayLinesOnlyReadInside(t *testing.T) {
	lines := tableLines(t, "reading.txt")
	if len(lines) < 100 {
		t.Errorf("there are only %d lines", len(lines))
	}
	for _, line := range lines {
		if why := more(line); why != "" {
			t.Errorf("%s\n\tis judged to do more: %s", line, why)
		}
	}
}
