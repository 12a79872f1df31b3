package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/sandbox"
)

// osVersion returns the Windows release.
func osVersion() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d (build %d)", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}

const openNonblock = 0

const (
	errCrossDevice = windows.ERROR_NOT_SAME_DEVICE
	errTextBusy    = syscall.ETXTBSY
	errTooManyArgs = windows.ERROR_FILENAME_EXCED_RANGE
)

// systemErrors maps system errors to errors in package env.
var systemErrors = []struct{ system, env error }{
	{syscall.EISDIR, env.ErrIsDir},
	{syscall.ENOTDIR, env.ErrNotDir},
	{windows.ERROR_DIRECTORY, env.ErrNotDir},
	{windows.ERROR_DIR_NOT_EMPTY, env.ErrNotEmpty},
	{windows.ERROR_FILENAME_EXCED_RANGE, errTooLongName},
}

// syncUnsupported returns true: directories cannot be flushed, and the file system makes names
// durable by itself.
func syncUnsupported(error) bool { return true }

// special reports whether a path starts with \\.\ or \\?\. Device names such as NUL are recognized by the file mode.
func special(abs string) bool {
	return len(abs) >= 4 && abs[0] == '\\' && abs[1] == '\\' && (abs[2] == '.' || abs[2] == '?') && abs[3] == '\\'
}

// renameBetween is not supported: the file is copied.
func renameBetween(*os.Root, string, *os.Root, string) error { return errCrossDevice }

// keepOwner does nothing: a new file inherits its directory's access list.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// findShell returns the path of the shell.
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

// shellArgs returns the arguments that make the shell run a line.
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

// commandLine returns the command line for cmd.exe, which takes everything between the first and the
// last quote verbatim. For any other program it returns "", which means the usual quoting.
func commandLine(args []string) string {
	if len(args) == 5 && args[1] == "/d" && args[2] == "/s" && args[3] == "/c" {
		return syscall.EscapeArg(args[0]) + ` /d /s /c "` + args[4] + `"`
	}
	return ""
}

// hasTerminal returns false: terminals do not matter here.
func hasTerminal() bool { return false }

// terminalStdio returns an error: terminals are not supported.
func terminalStdio(env.Command, *sandbox.Box) (*stdio, error) {
	return nil, fmt.Errorf("run a command in a terminal on Windows: %w", errors.ErrUnsupported)
}

// strays returns 2: a child inherits no other files here.
func strays() int { return 2 }

// keepAttributes does nothing: extended attributes are not copied here.
func keepAttributes(f, old *os.File) {}
