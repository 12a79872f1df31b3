// Package corpus gives tests recorded provider traffic and fixtures.
//
// The full corpus is not in this repository. Tests read it from the directory in REINS_CORPUS, by default
// ../shared/corpus next to the module. If that directory does not exist, they read the small sample in testdata
// instead, so that every test has something to check.
package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = "internal/corpus/testdata/sample"

// Path returns the path of an existing file or directory in the corpus.
func Path(t testing.TB, names ...string) string {
	t.Helper()
	dir, isSample := root(t)
	if isSample {
		t.Log("no corpus: using the sample in " + sample)
	}
	path := filepath.Join(append([]string{dir}, names...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// IsSample reports whether tests read the sample instead of the full corpus.
func IsSample(t testing.TB) bool {
	t.Helper()
	_, is := root(t)
	return is
}

func root(t testing.TB) (dir string, isSample bool) {
	t.Helper()
	module := moduleDir(t)
	dir = os.Getenv("REINS_CORPUS")
	if dir == "" {
		dir = "../shared/corpus"
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(module, dir)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, false
	}
	return filepath.Join(module, sample), true
}

// moduleDir returns the module's directory: the closest parent of the working directory with a go.mod.
func moduleDir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod in the working directory or its parents: run the tests inside the module")
		}
		dir = parent
	}
}

// JSON decodes a JSON file in the corpus into v.
func JSON(t testing.TB, v any, names ...string) {
	t.Helper()
	data, err := os.ReadFile(Path(t, names...))
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Lines calls use with every non-blank line in a corpus file, uncompressed if its name ends in .gz. It fails the test
// if the file has none. The line is only valid during the call.
func Lines(t testing.TB, use func(line []byte), names ...string) {
	t.Helper()
	path := Path(t, names...)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			use(line)
			n++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("%s is empty", path)
	}
}

// Exchanges calls use with every exchange recorded for a protocol, such as "openai-chat".
func Exchanges(t testing.TB, protocol string, use func(line []byte)) {
	t.Helper()
	name := protocol + ".jsonl.gz"
	if IsSample(t) {
		name = protocol + ".jsonl"
	}
	Lines(t, use, "open", "traffic", name)
}

// Traffic decodes the exchanges recorded for a protocol.
func Traffic[T any](t testing.TB, protocol string) (all []T) {
	t.Helper()
	Exchanges(t, protocol, func(line []byte) {
		var x T
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	})
	return all
}
