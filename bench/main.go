// Command bench measures the overhead of coding agents: the time to the first request, the time from an answer to the
// next request, the CPU time per round, and peak memory. All contestants run in turn against the same scripted model,
// which asks for one `echo` after another and answers at once:
//
//   - floor, a minimal agent loop (see bench/floor);
//   - reins run, with and without its sandbox, and with another protocol;
//   - other agents, if they are installed.
//
// It prints a table and whether reins is within its limits. With -cache, it measures the requests instead: their size, and
// how much of them can come from the provider's prompt cache.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	runs := flag.Int("runs", 3, "number of runs per contestant")
	long := flag.Int("long", 1000, "rounds of the long run; 0 skips it")
	only := flag.String("only", "", "contestants to measure in addition to the floor, separated by commas (default all)")
	verbose := flag.Bool("v", false, "show the output of the contestants")
	cache := flag.Bool("cache", false, "measure the size of requests and the share that repeats the request before, instead of times")
	with := flag.String("with", "", "`path` of another reins binary to measure, with and without its sandbox")
	check := flag.Bool("check", false, "exit with status 1 if a limit is exceeded")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := bench{runs: *runs, long: *long, with: *with, verbose: *verbose}
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	run := b.run
	if *cache {
		run = b.cache
	}
	held, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *check && !held {
		os.Exit(1)
	}
}

type bench struct {
	runs, long int
	with       string
	only       []string
	verbose    bool
}

func (b bench) run(ctx context.Context) (held bool, err error) {
	dir, err := os.MkdirTemp("", "reins-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	contestants, err := b.contestants(ctx, dir)
	if err != nil {
		return false, err
	}
	s, err := newServer()
	if err != nil {
		return false, err
	}
	defer s.http.Close()
	before := load()
	results := make([]*result, len(contestants))
	for i, c := range contestants {
		results[i] = &result{contestant: c}
	}
	for n := range b.runs {
		for _, r := range results {
			b.round(ctx, s, r)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
		}
		fmt.Fprintf(os.Stderr, "run %d of %d done\n", n+1, b.runs)
	}
	if note := results[0].note; note != "" {
		return false, fmt.Errorf("cannot measure the floor: %s", note)
	}
	fmt.Printf("%s/%s, %d cores, load average %s at the start and %s at the end; medians of %d runs.\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), before, load(), b.runs)
	printTable(os.Stdout, results)
	return printLimits(os.Stdout, results), nil
}

// round measures a contestant once for each number of rounds.
func (b bench) round(ctx context.Context, s *server, r *result) {
	lengths := []int{0, short, middle}
	if b.long > 0 {
		lengths = append(lengths, b.long)
	}
	for _, rounds := range lengths {
		if r.note != "" {
			return
		}
		sample, err := measure(ctx, s, r.contestant, rounds, b.verbose)
		if err != nil {
			r.note = err.Error()
			return
		}
		r.add(rounds, sample)
	}
}

// contestants builds floor and reins, and finds the other agents.
func (b bench) contestants(ctx context.Context, dir string) ([]contestant, error) {
	floor, err := build(ctx, dir, "floor", "github.com/reins-agent/reins/bench/floor")
	if err != nil {
		return nil, err
	}
	reins, err := build(ctx, dir, "reins", "github.com/reins-agent/reins/cmd/reins")
	if err != nil {
		return nil, err
	}
	rest := append([]contestant{
		reinsContestant(reins, "reins", "openai", "gpt-5.1"),
		reinsContestant(reins, "reins (no sandbox)", "openai", "gpt-5.1", "--sandbox=off"),
		reinsContestant(reins, "reins (Messages)", "anthropic", "claude-sonnet-4-5"),
	}, peers()...)
	if b.with != "" {
		rest = append(rest,
			reinsContestant(b.with, "other", "openai", "gpt-5.1"),
			reinsContestant(b.with, "other (no sandbox)", "openai", "gpt-5.1", "--sandbox=off"))
	}
	return append([]contestant{floorContestant(floor)}, b.selected(rest)...), nil
}

// selected returns the contestants to measure.
func (b bench) selected(all []contestant) []contestant {
	if b.only == nil {
		return all
	}
	return slices.DeleteFunc(all, func(c contestant) bool { return !slices.Contains(b.only, c.name) })
}

// build builds a program like a release: static and without symbols.
func build(ctx context.Context, dir, name, pkg string) (string, error) {
	path := filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w: %s", name, err, out)
	}
	return path, nil
}

// load returns the load average, or "unknown".
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}
