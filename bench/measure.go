package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// sample is what one run of a contestant has shown.
type sample struct {
	first      time.Duration   // from its start to its first request
	cpu        time.Duration   // of it and of all that it has started
	turnaround []time.Duration // from the end of an answer to the next request, by round
	memory     int64           // the most it has held, in bytes; 0 is not known
	firstSize  int64           // of the first request, in bytes
}

// runLimit is how long a run may take, on the busiest of machines.
const runLimit = 20 * time.Minute

// measure runs a contestant once for a number of rounds.
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
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/bash"}, environ...)
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
		err = fmt.Errorf("it made %d calls of the model instead of %d", len(calls), rounds+1)
	}
	if err != nil {
		return sample{}, fmt.Errorf("%s, %d rounds: %w: %s", c.name, rounds, err, tail(output.String(), 300))
	}
	res := sample{
		first: calls[0].arrived.Sub(start), firstSize: calls[0].size, memory: memory,
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	for i := 1; i < len(calls); i++ {
		res.turnaround = append(res.turnaround, calls[i].arrived.Sub(calls[i-1].answered))
	}
	return res, nil
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
