package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/reins-agent/reins/bench/internal/process"
)

// sample is the measurement of one run.
type sample struct {
	first      time.Duration   // from the start to the first request
	cpu        time.Duration   // process and children
	turnaround []time.Duration // from an answer to the next request, by round
	memory     int64           // peak, in bytes; 0 if unknown
	firstSize  int64           // first request, in bytes
	bodies     [][]byte        // of all requests, if the server keeps them
}

// runLimit is a run's timeout, also on a busy machine.
const runLimit = 20 * time.Minute

// measure runs a contestant once.
func measure(ctx context.Context, s *server, c contestant, rounds int, verbose bool) (sample, error) {
	home, err := os.MkdirTemp("", "reins-bench-")
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(home)
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return sample{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	argv, environ := c.command(s.URL, home, rounds)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = work
	cmd.Env = append(
		[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/bash"},
		environ...)
	cmd.Cancel = func() error { return kill(cmd.Process.Pid) }
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	var memory int64
	s.play(script{rounds, c.tool, c.args}, func() { memory = peakMemory(cmd.Process.Pid) })
	start := time.Now()
	err = cmd.Run()
	calls := s.taken()
	if verbose {
		fmt.Fprintf(os.Stderr, "%s, %d rounds: %d calls, %v\n%s\n", c.name, rounds, len(calls), err, tail(output.String(), 2000))
	}
	if err == nil && len(calls) != rounds+1 {
		err = fmt.Errorf("got %d model calls, want %d", len(calls), rounds+1)
	}
	if err != nil {
		return sample{}, fmt.Errorf("%s, %d rounds: %w: %s", c.name, rounds, err, tail(output.String(), 300))
	}
	res := sample{
		first: calls[0].arrived.Sub(start), firstSize: calls[0].size, memory: memory,
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	for _, c := range calls {
		res.bodies = append(res.bodies, c.body)
	}
	for i := 1; i < len(calls); i++ {
		res.turnaround = append(res.turnaround, calls[i].arrived.Sub(calls[i-1].answered))
	}
	return res, nil
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// kill kills a process and its descendants. Agents from npm are often scripts that start another program.
func kill(pid int) error {
	var err error
	for _, p := range process.Tree(pid) {
		if process, findErr := os.FindProcess(p); findErr == nil {
			if killErr := process.Kill(); p == pid {
				err = killErr
			}
		}
	}
	return err
}

// peakMemory returns the peak memory of a process and its descendants in bytes, or 0 if the system is not Linux. The
// peak that wait reports cannot be used, because it includes the parent's memory before exec.
func peakMemory(pid int) int64 {
	var sum int64
	for _, p := range process.Tree(pid) {
		status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p), "status"))
		_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			sum += kib << 10
		}
	}
	return sum
}
