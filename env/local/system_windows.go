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
)

// osVersion names the release of Windows.
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

// meanings are the errors of the system that have a name of their own.
var meanings = []struct{ system, means error }{
	{syscall.EISDIR, env.ErrIsDir},
	{syscall.ENOTDIR, env.ErrNotDir},
	{windows.ERROR_DIRECTORY, env.ErrNotDir},
	{windows.ERROR_DIR_NOT_EMPTY, env.ErrNotEmpty},
	{windows.ERROR_FILENAME_EXCED_RANGE, errTooLongName},
}

// syncUnsupported is always true: the file system makes names durable by itself, and a directory
// cannot be flushed.
func syncUnsupported(error) bool { return true }

// special reports whether a path names a device by its place: \\.\ and \\?\GLOBALROOT. Device
// names such as NUL are seen by the mode of the file.
func special(abs string) bool {
	return len(abs) >= 4 && abs[0] == '\\' && abs[1] == '\\' && (abs[2] == '.' || abs[2] == '?') && abs[3] == '\\'
}

// keepOwner does nothing: the new file inherits the access list of its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

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

// hasTerminal does not matter here.
func hasTerminal() bool { return false }

// terminalPlumbing refuses: terminals are not supported here.
func terminalPlumbing(env.Command) (*plumbing, error) {
	return nil, fmt.Errorf("a terminal for a command on Windows: %w", errors.ErrUnsupported)
}

// strays returns 2: a child inherits no other files here.
func strays() int { return 2 }

// keepAttributes does nothing: extended attributes are not copied here.
func keepAttributes(f, old *os.File) {}
