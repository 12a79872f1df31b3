package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("AUDIT_TEST_LOG"); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

// child appends up to a hundred lines and prints the first error.
func child(path string) int {
	limitFiles()
	l, err := Open(path, Config{MaxSize: 8 << 10, Keep: 100})
	if err != nil {
		fmt.Println(err)
		return 2
	}
	for i := range 100 {
		if _, err := l.Append(entry(fmt.Sprintf("child-%d-%d", os.Getpid(), i))); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

func entry(call string) Entry {
	return Entry{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Trace: "S", Call: call, Name: "shell", Version: "1.0.0", Args: json.RawMessage(`{"command":"a && b"}`),
		Decision: Decision{Verdict: "allow", Rule: "test"}, OK: true, CommandsRun: []string{"a"},
	}
}

func open(t *testing.T, c Config) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	return reopen(t, path, c), path
}

func reopen(t *testing.T, path string, c Config) *Log {
	t.Helper()
	l, err := Open(path, c)
	must(t, err)
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, l *Log, calls ...string) {
	t.Helper()
	for _, c := range calls {
		_, err := l.Append(entry(c))
		must(t, err)
	}
}

func verify(t *testing.T, path, expect string) Report {
	t.Helper()
	r, err := Verify(path, expect)
	must(t, err)
	return r
}

func wantOK(t *testing.T, r Report, lines int) {
	t.Helper()
	if !r.OK() || r.Lines != lines {
		t.Fatalf("got %d lines and problems %q, want %d lines and none", r.Lines, r.Problems, lines)
	}
}

// change rewrites the lines in a log file.
func change(t *testing.T, path string, f func(lines []string) []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	lines := f(strings.SplitAfter(string(b), "\n"))
	must(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
}

func TestAppend_WritesOneChainedLinePerCall(t *testing.T) {
	l, path := open(t, Config{})
	add(t, l, "one", "two")
	b, err := os.ReadFile(path)
	must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines: %s", len(lines), b)
	}
	var first, second map[string]any
	must(t, json.Unmarshal([]byte(lines[0]), &first))
	must(t, json.Unmarshal([]byte(lines[1]), &second))
	for _, name := range strings.Fields("time seq trace_id tool_call_id name version args decision ok duration_ms waited_ms commands_run prev hash") {
		if _, ok := first[name]; !ok {
			t.Errorf("%s is missing in %s", name, lines[0])
		}
	}
	if first["prev"] != "" || second["prev"] != first["hash"] {
		t.Errorf("the chain is broken:\n%s\n%s", lines[0], lines[1])
	}
	r := verify(t, path, second["hash"].(string))
	wantOK(t, r, 2)
	if r.Hash != second["hash"] || r.Last != 2 {
		t.Errorf("got %+v, want the hash of line 2", r)
	}
	if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("the mode is %v, want 0600", info.Mode())
	}
	var calls []string
	for line, err := range Read(path, 0) {
		must(t, err)
		calls = append(calls, line.Call)
	}
	if !slices.Equal(calls, []string{"one", "two"}) {
		t.Errorf("Read returns %q", calls)
	}
}

func TestVerify_FindsTampering(t *testing.T) {
	for name, c := range map[string]struct {
		change func(lines []string) []string
		want   string
	}{
		"changed": {func(l []string) []string { l[1] = strings.Replace(l[1], "a \\u0026\\u0026 b", "harmless", 1); return l }, "audit.jsonl:2: it was changed"},
		"rehashed": {func(l []string) []string {
			var line Line
			_ = json.Unmarshal([]byte(l[1]), &line)
			line.Name = "read_file"
			b, _ := line.encode()
			l[1] = string(b)
			return l
		}, "line 3 does not continue line 2"},
		"last rehashed": {func(l []string) []string {
			var line Line
			_ = json.Unmarshal([]byte(l[3]), &line)
			line.Name = "read_file"
			b, _ := line.encode()
			l[3] = string(b)
			return l
		}, "line 4 was replaced"},
		"removed":       {func(l []string) []string { return slices.Delete(l, 1, 2) }, "audit.jsonl:2: line 2 is missing before line 3"},
		"first removed": {func(l []string) []string { return slices.Delete(l, 0, 2) }, "lines 1 to 2 are missing"},
		"last removed":  {func(l []string) []string { return slices.Delete(l, 2, 4) }, "the end of the log is missing: lines 3 to 4 are missing"},
		"all removed":   {func(l []string) []string { return nil }, "lines 1 to 4 are missing"},
		"reordered":     {func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }, "reordered or inserted"},
		"repeated":      {func(l []string) []string { return slices.Insert(l, 2, l[1]) }, "reordered or inserted"},
		"garbage":       {func(l []string) []string { return slices.Insert(l, 2, "{}x\n") }, "audit.jsonl:3: it is not an audit line"},
		"truncated":     {func(l []string) []string { l[3] = l[3][:20]; return l }, "line 4 is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			l, path := open(t, Config{})
			add(t, l, "1", "2", "3", "4")
			change(t, path, c.change)
			r := verify(t, path, "")
			if !strings.Contains(strings.Join(r.Problems, "\n"), c.want) {
				t.Fatalf("got problems %q, want %q", r.Problems, c.want)
			}
			// More lines do not hide it.
			add(t, reopen(t, path, Config{}), "5")
			if r := verify(t, path, ""); r.OK() {
				t.Error("after another line it is no longer noticed")
			}
		})
	}
}

func TestVerify_ExpectsAnAnchor(t *testing.T) {
	l, path := open(t, Config{})
	add(t, l, "1", "2")
	anchor := verify(t, path, "").Hash
	add(t, l, "3")
	wantOK(t, verify(t, path, anchor), 3)
	// An attacker writes the whole log again, with correct hashes.
	must(t, os.Remove(path))
	must(t, os.Remove(headName(path)))
	add(t, reopen(t, path, Config{}), "x", "y", "z")
	wantOK(t, verify(t, path, ""), 3)
	if r := verify(t, path, anchor); r.OK() || !strings.Contains(r.Problems[0], "expected hash "+anchor) {
		t.Errorf("got %q, want that the expected hash is missing", r.Problems)
	}
}

func TestAppend_ContinuesAfterATornLine(t *testing.T) {
	l, path := open(t, Config{})
	add(t, l, "1", "2")
	must(t, l.Sync())
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"seq":3,"time":"2026-`)
	must(t, err)
	must(t, f.Close())
	if r := verify(t, path, ""); !r.OK() || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "audit.jsonl:3: an interrupted write") {
		t.Errorf("before the next line: %+v", r)
	}
	add(t, reopen(t, path, Config{}), "3", "4")
	r := verify(t, path, "")
	wantOK(t, r, 4)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "audit.jsonl:3: an interrupted write") {
		t.Errorf("got notes %q", r.Notes)
	}
	b, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Contains(b, []byte("\n{\"seq\":3,\"time\":\"2026-\n")) {
		t.Error("the torn line was not kept")
	}
	change(t, path, func(l []string) []string { l[2] = "{\"seq\":3,\"time\":\"2027-\n"; return l })
	if verify(t, path, "").OK() {
		t.Error("a change of the torn line is not noticed")
	}
}

func TestRotate_ContinuesTheChainAndKeepsSomeFiles(t *testing.T) {
	l, path := open(t, Config{MaxSize: 2000, Keep: 2})
	for i := range 40 {
		add(t, l, fmt.Sprint(i))
	}
	files, err := Files(path)
	must(t, err)
	if len(files) != 3 || files[2] != path {
		t.Fatalf("got files %q, want three", files)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 2000 || info.Size() == 0 {
			t.Errorf("%s has %d bytes", f, info.Size())
		}
	}
	r := verify(t, path, "")
	wantOK(t, r, int(r.Last-r.First+1))
	if r.Last != 40 || r.First < 2 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "removed by rotation") {
		t.Errorf("got %+v", r)
	}
	var after []int64
	for l, err := range Read(path, 30) {
		must(t, err)
		after = append(after, l.Seq)
	}
	if len(after) != 10 || after[0] != 31 || after[9] != 40 {
		t.Errorf("after line 30, Read returns %v", after)
	}
	must(t, os.Remove(files[0]))
	if r := verify(t, path, ""); r.OK() || !strings.Contains(r.Problems[0], "the beginning of the log is missing") {
		t.Errorf("the removal of the oldest file gives problems %q", r.Problems)
	}
}

// The file beside the log may get lost, for instance when the log is copied. The lines therefore also name what
// rotation removed, protected by the chain.
func TestRotate_LinesNameWhatWasRemoved(t *testing.T) {
	l, path := open(t, Config{MaxSize: 2000, Keep: 2})
	for i := range 40 {
		add(t, l, fmt.Sprint(i))
	}
	must(t, os.Remove(headName(path)))
	r := verify(t, path, "")
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "the head of the log was deleted") {
		t.Errorf("got problems %q, want only the deleted head", r.Problems)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "removed by rotation") {
		t.Errorf("got notes %q", r.Notes)
	}
	files, err := Files(path)
	must(t, err)
	must(t, os.Remove(files[0]))
	if r := verify(t, path, ""); r.OK() || !strings.Contains(r.Problems[0], "the beginning of the log is missing") {
		t.Errorf("the removal of the oldest file gives problems %q", r.Problems)
	}
}

func TestRotate_UsesAGapThatACrashLeft(t *testing.T) {
	l, path := open(t, Config{MaxSize: 1000, Keep: 5})
	for i := range 8 {
		add(t, l, fmt.Sprint(i))
	}
	// Simulate a crash after the first renames.
	must(t, os.Rename(path+".3", path+".4"))
	must(t, os.Rename(path+".2", path+".3"))
	for i := range 4 {
		add(t, l, fmt.Sprint(i))
	}
	r := verify(t, path, "")
	wantOK(t, r, 12)
}

func TestAppend_SeveralProcessesShareOneChain(t *testing.T) {
	l, path := open(t, Config{MaxSize: 8 << 10, Keep: 100})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("a process failed: %v\n%s", err, out)
			}
		})
	}
	for i := range 100 {
		wg.Go(func() { add(t, l, fmt.Sprint(i)) })
	}
	wg.Wait()
	wantOK(t, verify(t, path, ""), 400)
}

func TestAppend_FailsWhenTheDiskIsFullAndLosesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no limit on the size of files")
	}
	_, path := open(t, Config{})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+path, "AUDIT_TEST_LIMIT=5000")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cannot write the audit log: write ") {
		t.Fatalf("got error %v and output %s", err, out)
	}
	r := verify(t, path, "")
	if !r.OK() || r.Lines < 5 || len(r.Notes) > 0 {
		t.Fatalf("got %+v", r)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.HasSuffix(string(b), "}\n") {
		t.Errorf("the file ends with %q (%v), want a whole line", b[max(0, len(b)-20):], err)
	}
	add(t, reopen(t, path, Config{}), "after")
	wantOK(t, verify(t, path, ""), r.Lines+1)
}

func TestOpen_RefusesALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	must(t, os.WriteFile(target, nil, 0o600))
	must(t, os.Symlink(target, filepath.Join(dir, "audit.jsonl")))
	if _, err := Open(filepath.Join(dir, "audit.jsonl"), Config{}); err == nil || !strings.Contains(err.Error(), "cannot open the audit log") {
		t.Errorf("got error %v", err)
	}
}

// FuzzRead checks that no file makes reading, verifying or continuing a log panic.
func FuzzRead(f *testing.F) {
	line := Line{Seq: 1, Entry: entry("1")}
	b, err := line.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, []byte(`{"seq":1}`))
	f.Add(b[:20], []byte{})
	f.Fuzz(func(t *testing.T, log, head []byte) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		must(t, os.WriteFile(path, log, 0o600))
		must(t, os.WriteFile(headName(path), head, 0o600))
		before := verify(t, path, "")
		l := reopen(t, path, Config{})
		add(t, l, "next")
		if after := verify(t, path, ""); before.OK() && !after.OK() {
			t.Errorf("%q was valid, and another line made it %q", log, after.Problems)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "audit.jsonl"), Config{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := l.Append(entry("call")); err != nil {
			b.Fatal(err)
		}
	}
}

func TestVerify_NoticesADeletedHead(t *testing.T) {
	l, path := open(t, Config{})
	add(t, l, "one", "two")
	b, err := os.ReadFile(path)
	must(t, err)
	first, _, _ := bytes.Cut(b, []byte("\n"))
	must(t, os.WriteFile(path, append(first, '\n'), 0o600))
	must(t, os.Remove(path+".head"))
	r, err := Verify(path, "")
	must(t, err)
	if r.OK() || !strings.Contains(r.Problems[0], "the head of the log was deleted") {
		t.Errorf("problems %q, want the deleted head", r.Problems)
	}
}
