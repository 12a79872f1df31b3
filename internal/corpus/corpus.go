// Package corpus lets tests read recorded traffic and fixtures that are not part of this repository.
//
// The environment variable REINS_CORPUS says where they are; without it they are looked for in
// ../shared/corpus, beside the module. A test that needs them is skipped where they are missing.
package corpus

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Path returns the path of a file or directory of the corpus, which exists.
func Path(t testing.TB, names ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{root(t)}, names...)...)
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here; set REINS_CORPUS to the directory of the corpus", filepath.Join(names...))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func root(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("REINS_CORPUS"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "corpus")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("the test does not run inside the module; set REINS_CORPUS to the directory of the corpus")
		}
		dir = parent
	}
}

// JSON reads a JSON file of the corpus into v.
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

// Lines calls use with every line of a file of the corpus that is not blank. A name that ends in .gz
// is unpacked. The line is only valid during the call.
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
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			use(line)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// Traffic reads the recorded exchanges of a protocol, such as "openai-chat".
func Traffic[T any](t testing.TB, protocol string) (all []T) {
	t.Helper()
	Lines(t, func(line []byte) {
		var x T
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}, "open", "traffic", protocol+".jsonl.gz")
	return all
}
