package local_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
)

// BenchmarkSandbox compares the median time of a command without a sandbox, with ours, under bubblewrap if it is
// installed, and with another start of this program as a helper would need. Contestants alternate.
//
//	go test ./env/local -run xxx -bench Sandbox -benchtime 200x
func BenchmarkSandbox(b *testing.B) {
	plain := newEnv(b, local.Config{Dir: b.TempDir()})
	boxed := newEnv(b, local.Config{Dir: b.TempDir(), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}})
	if s, _ := boxed.Sandbox(); !s.Full() {
		b.Fatalf("the sandbox is not complete: %v", s.Problems)
	}
	run := func(e *local.Env, args ...string) func() {
		return func() {
			r, err := env.Exec(b.Context(), e, env.Command{Args: args})
			if err != nil || r.Code != 0 {
				b.Fatal(err, r)
			}
		}
	}
	contestants := map[string]func(){"plain": run(plain, "/bin/sh", "-c", ":"), "sandbox": run(boxed, "/bin/sh", "-c", ":")}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		contestants["bwrap"] = run(plain, bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-net", "--cap-drop", "ALL", "/bin/sh", "-c", ":")
	}
	contestants["reexec"] = run(plain, "/bin/sh", "-c", `exec "$0" -test.run=^$ >/dev/null`, "/proc/self/exe")
	delete(contestants, "reexec")
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, f := range contestants {
			start := time.Now()
			f()
			times[name] = append(times[name], time.Since(start))
		}
	}
	for name, list := range times {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds()), name+"-µs")
	}
}
