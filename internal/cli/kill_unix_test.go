//go:build unix

package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"

	"github.com/reins-agent/reins/internal/thorough"
)

func TestRun_KilledAtAnyMomentResumesAndCompletesTheTask(t *testing.T) {
	kills := thorough.Of(200, 20)
	home := t.TempDir()
	plainReins(t)
	makeTemp(t, home)
	providers := []string{"anthropic", "openai", "gemini", "chat"}
	whole := newLife(t, home, "whole", "anthropic", longTask)
	args, _ := whole.next()
	usual := whole.run(moment{}, args...)
	whole.check()
	if usual.code != 0 || t.Failed() {
		t.Fatalf("without a kill it ends with %d: %s", usual.code, usual.errors)
	}
	whole.server.Close()
	var left, lives, processes atomic.Int64
	left.Store(int64(kills))
	var mu sync.Mutex
	last := make(map[event.Kind]int)
	pids := whole.task.processes(t)
	t.Run("lives", func(t *testing.T) {
		for w := range uint64(2) {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for left.Load() > 0 && !t.Failed() {
					n := lives.Add(1)
					l := newLife(t, home, fmt.Sprintf("life-%d", n), providers[n%4], longTask)
					l.live(violent(rand.New(rand.NewPCG(uint64(n), w)), usual, &left, l))
					processes.Add(int64(l.processes))
					mu.Lock()
					pids = append(pids, l.task.processes(t)...)
					for kind, n := range l.last {
						last[kind] += n
					}
					mu.Unlock()
				}
			})
		}
	})
	for _, pid := range pids { // at the end, because the system reaps them late
		checkGone(t, pid)
	}
	checkVerified(t, home, int(lives.Load())+1)
	checkNothingLeft(t, home)
	t.Logf("an unkilled run prints %d lines in %v; %d kills in %d processes of %d sessions; the last line before a kill: %v",
		usual.lines, usual.took, int64(kills)-left.Load(), processes.Load(), lives.Load(), last)
}

// violent returns the moments to kill the processes of a life: after a number of lines, or after a time
// that shrinks with the work left. Some processes, and all after enough kills, are left alone.
func violent(rng *rand.Rand, usual process, left *atomic.Int64, l *life) func() moment {
	counted := 0
	return func() moment {
		left.Add(int64(counted - l.kills))
		counted = l.kills
		switch {
		case left.Load() <= 0 || counted > 0 && rng.IntN(10) == 0:
			return moment{}
		case rng.IntN(3) > 0:
			return moment{lines: 1 + rng.IntN(usual.lines/(1+min(counted, 2)))}
		}
		return moment{after: 1 + time.Duration(rng.Int64N(int64(usual.took)/int64(1+min(counted, 2))))}
	}
}

// checkVerified runs "reins sessions verify".
func checkVerified(t *testing.T, home string, sessions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, plainReins(t), "sessions", "verify")
	cmd.Env = runEnv(home)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), fmt.Sprintf("%d sessions, ", sessions)) || !strings.Contains(string(out), "no problems") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	t.Logf("verify: %s", out)
}

func TestRun_FiftyProcessesAtOnceHalfOfThemKilledLoseNothing(t *testing.T) {
	const crowd = 50
	home := t.TempDir()
	plainReins(t)
	makeTemp(t, home)
	short := [][]taskStep{{reads, shells}, {looks, edits}, {shells}}
	var lives []*life
	var crew sync.WaitGroup
	for n := range crowd {
		l := newLife(t, home, fmt.Sprintf("one-of-many-%d", n), "anthropic", short)
		defer l.server.Close()
		lives = append(lives, l)
		args, _ := l.next()
		var end moment
		if n%2 == 0 {
			end.lines = 1 + n/2 // of about forty
		}
		crew.Go(func() {
			if p := l.run(end, args...); !p.killed && p.result.Text != taskDone {
				l.Errorf("the run ended with %d and %q: %s", p.code, p.result.Text, p.errors)
			}
		})
	}
	crew.Wait()
	killed, acknowledged := 0, 0
	for _, l := range lives {
		killed += l.kills
		acknowledged += len(l.printed)
		if l.saved(); l.kills == 0 {
			l.check()
		}
	}
	checkVerified(t, home, crowd)
	checkNothingLeft(t, home)
	t.Logf("%d of %d processes were killed; %d records were shown, and are saved", killed, crowd, acknowledged)
}
