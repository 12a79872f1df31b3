package local_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestAttack_CommandsCannotReachTheWatchdog kills hosts whose command has tried to dismiss the watchdog, or to
// keep it waiting, through its input in /proc.
func TestAttack_CommandsCannotReachTheWatchdog(t *testing.T) {
	const find = `for p in /proc/[0-9]*; do grep -qs 'reins-watch[d]og' $p/cmdline && grep -qs "$REINS_SPOOL" $p/cmdline && dog=$p; done; `
	for name, line := range map[string]string{
		"Dismiss": `echo bye >$dog/fd/0; setsid sleep 600 & echo up; wait`,
		"Hold":    `setsid sh -c 'exec 7>'$dog'/fd/0; sleep 600' & setsid sleep 600 & echo up; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, spool := t.TempDir(), t.TempDir()
			host := startVictim(t, dir, spool, strings.Replace(find, "$REINS_SPOOL", spool, 1)+line)
			t.Cleanup(func() {
				for _, p := range inDir(dir) { // only if the attack succeeded
					pid, _, _ := strings.Cut(p, " ")
					if n, err := strconv.Atoi(pid); err == nil {
						syscall.Kill(n, syscall.SIGKILL)
					}
				}
			})
			if dogs := watchdogs(spool); len(dogs) != 1 {
				t.Errorf("there are %d watchdogs after the attack, want 1", len(dogs))
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			host.Wait()
			await(t, "no process is left", func() bool { return len(inDir(dir)) == 0 && len(watchdogs(spool)) == 0 })
		})
	}
}
