//go:build unix

package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestCommands_ReportAWorkingDirectoryThatWasRemoved(t *testing.T) {
	for _, line := range []string{"run --no-mcp ping", "policy check --command ls", "undo", "skills list", "config show"} {
		cmd := command(t, strings.Fields(line)...)
		dir := t.TempDir()
		// The shell enters the directory, removes it, and becomes reins.
		sh := exec.Command("/bin/sh", append([]string{"-c", `cd "$0" && rmdir "$0" && exec "$@"`, dir, cmd.Path}, cmd.Args[1:]...)...)
		sh.Env = append(cmd.Env, "PWD=")
		out, err := sh.CombinedOutput()
		const want = "reins: the working directory no longer exists; change to another directory\n"
		if err == nil || string(out) != want {
			t.Errorf("%s: %v, printed\n%swant\n%s", line, err, out, want)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s: the directory is there again", line)
		}
	}
}
