package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A process has no variables during an exec. A process that keeps calling exec is found every time.
func TestScan_FindsAProcessInTheMiddleOfAnExec(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("exec /bin/sh \"$0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := newID()
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = append(os.Environ(), markerName+"="+id+".1;")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	missed := 0
	const looks = 1000
	for range looks {
		if len(scan(targets{marks: marks{env: id}})) == 0 {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("it was missed %d times of %d", missed, looks)
	}
}
