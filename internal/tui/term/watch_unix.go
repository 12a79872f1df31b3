//go:build unix

package term

import (
	"os"
	"os/exec"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog is a shell that restores the terminal when this process ends without having done so, and then prints the report
// of a crash. It holds nothing but the terminal and a pipe. The Go runtime writes the report to the pipe and to standard error
// at once, so the watchdog waits until the report is complete: the copy on standard error is gone with the alternate screen.
type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
	once sync.Once
	sent sync.Once
}

const watchScript = `trap "" HUP INT QUIT TERM TSTP
IFS= read -r line
[ "$line" = images ] && images=$3 && IFS= read -r line
[ "$line" = quit ] && exit
rest=$(cat)
printf %s "$images$1"
stty "$2" <&1 2>/dev/null || stty sane <&1
[ -n "$line" ] && printf '%s\n%s\n' "$line" "$rest"`

// startWatchdog starts a watchdog. Without a shell there is none.
func startWatchdog(out *os.File, leave, images string, raw *rawState) *watchdog {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watchScript, "reins", leave, raw.settings(), images)
	cmd.Stdin, cmd.Stdout = r, out
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // terminal signals do not reach it
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil
	}
	_ = debug.SetCrashOutput(w, debug.CrashOptions{})
	return &watchdog{cmd: cmd, pipe: w}
}

// images tells the watchdog that the terminal has images to delete.
func (w *watchdog) images() {
	w.sent.Do(func() { _, _ = w.pipe.WriteString("images\n") })
}

// stop ends the watchdog.
func (w *watchdog) stop() {
	w.once.Do(func() {
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
		_, _ = w.pipe.WriteString("quit\n")
		_ = w.pipe.Close()
		kill := time.AfterFunc(500*time.Millisecond, func() { _ = w.cmd.Process.Kill() })
		_ = w.cmd.Wait()
		kill.Stop()
	})
}
