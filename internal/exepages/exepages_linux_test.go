package exepages

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// status returns /proc/self/status.
func status(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// resident returns the kilobytes of files that a process with this status has in memory.
func resident(t *testing.T, status string) (kb int) {
	t.Helper()
	_, rest, _ := strings.Cut(status, "RssFile:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}

// work uses many packages, with their tables and types.
func work() string {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x; func f() { g(1, \"é\") }", 0)
	if err != nil {
		return err.Error()
	}
	w := httptest.NewRecorder()
	http.NotFoundHandler().ServeHTTP(w, httptest.NewRequest("GET", "http://x.example/y", nil))
	text, err := json.Marshal(map[string]any{"name": f.Name, "status": w.Code, "header": w.Header()})
	return fmt.Sprint(string(text), err)
}

func TestDrop_ReturnsMemoryAndTheProgramStillRuns(t *testing.T) {
	first := work()
	started := status(t)
	Drop()
	dropped := status(t)
	if before, after := resident(t, started), resident(t, dropped); after > before*9/10 {
		t.Errorf("%d kB of files were resident, and %d kB are now, want at most nine tenths", before, after)
	}
	if again := work(); again != first {
		t.Errorf("got %q after Drop, %q before it", again, first)
	}
}

// The dynamic linker changes pages in a position-independent program, and then makes them read-only.
func TestDrop_KeepsPagesThatWereChanged(t *testing.T) {
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	page, err := unix.Mmap(int(exe.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(page) }()
	page[0] = 'x' // it is part of "\x7fELF" in the file
	if err := unix.Mprotect(page, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	Drop()
	if page[0] != 'x' {
		t.Errorf("the page has %q at its start, as in the file", page[0])
	}
}
