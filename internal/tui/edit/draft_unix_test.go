//go:build unix

package edit

import (
	"testing"

	"golang.org/x/sys/unix"
)

// While a process is being forked, it has all open files, so that closing a file alone does not unlock it.
func TestDraftFile_IsFreeOnceClosedWhileAProcessStarts(t *testing.T) {
	dir := t.TempDir()
	f, _, err := OpenDraft(dir)
	if err != nil {
		t.Fatal(err)
	}
	forked, err := unix.Dup(int(f.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(forked)
	f.Save(Draft{Parts: []Part{{Text: "not sent"}}})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, d, err := OpenDraft(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if len(d.Parts) != 1 || d.Parts[0].Text != "not sent" {
		t.Errorf("the draft is %+v, want the one that was not sent", d)
	}
}
