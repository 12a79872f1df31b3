package local_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// BenchmarkSandbox compares the median time for a command without a sandbox, with ours, under bubblewrap if it is
// installed, and with another start of this program, as a sandbox in a helper would need. They alternate.
//
//	go test ./env/local -run xxx -bench Sandbox -benchtime 200x
func BenchmarkSandbox(b *testing.B) {
	plain := newEnv(b, local.Config{})
	boxed := newEnv(b, local.Config{Sandbox: confined})
	if s, _ := boxed.Sandbox(); !s.Full() {
		b.Fatalf("the sandbox is not complete: %v", s.Problems)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	commands := map[string]func() (env.ExecResult, error){
		"plain": func() (env.ExecResult, error) {
			return env.Exec(b.Context(), plain, env.Command{Args: []string{"/bin/sh", "-c", ":"}})
		},
		"sandbox": func() (env.ExecResult, error) {
			return env.Exec(b.Context(), boxed, env.Command{Args: []string{"/bin/sh", "-c", ":"}})
		},
		"reads": func() (env.ExecResult, error) {
			return env.Exec(b.Context(), boxed, env.Command{Args: []string{"/bin/sh", "-c", ":"}, ReadOnly: true})
		},
		"reexec": func() (env.ExecResult, error) {
			return env.Exec(b.Context(), plain, env.Command{Args: []string{self}, Env: map[string]string{roleVar: "reexec"}})
		},
	}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		args := []string{bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-net", "--cap-drop", "ALL", "/bin/sh", "-c", ":"}
		commands["bwrap"] = func() (env.ExecResult, error) { return env.Exec(b.Context(), plain, env.Command{Args: args}) }
	}
	times := map[string][]time.Duration{}
	for b.Loop() {
		for name, run := range commands {
			start := time.Now()
			if r, err := run(); err != nil || r.Code != 0 {
				b.Fatal(name, r, err)
			}
			times[name] = append(times[name], time.Since(start))
		}
	}
	for name, list := range times {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds()), name+"-µs")
	}
}
