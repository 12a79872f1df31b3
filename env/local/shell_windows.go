package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// findShell finds the program that runs command lines.
func findShell(want string) (string, error) {
	if want == "" {
		want = os.Getenv("COMSPEC")
	}
	if want == "" {
		want = "cmd.exe"
	}
	path, err := exec.LookPath(want)
	if err != nil {
		return "", fmt.Errorf("find the shell: %w", err)
	}
	return path, nil
}

// shellArgs gives the arguments that make the shell run a line.
func shellArgs(shell, line string) []string {
	switch strings.ToLower(strings.TrimSuffix(filepath.Base(shell), filepath.Ext(shell))) {
	case "cmd":
		return []string{shell, "/d", "/s", "/c", line}
	case "powershell", "pwsh":
		return []string{shell, "-NoProfile", "-NonInteractive", "-Command", line}
	default:
		return []string{shell, "-c", line}
	}
}

// commandLine gives the command line for cmd.exe, which takes everything between the first and the
// last quote as it is; the usual quoting of arguments would double its backslashes. For any other
// program it gives "", the usual quoting.
func commandLine(args []string) string {
	if len(args) == 5 && args[1] == "/d" && args[2] == "/s" && args[3] == "/c" {
		return syscall.EscapeArg(args[0]) + ` /d /s /c "` + args[4] + `"`
	}
	return ""
}
