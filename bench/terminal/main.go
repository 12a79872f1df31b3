//go:build unix

// Command terminal measures programs on a terminal: coding agents that a person types to. It runs each of them on a
// pseudo-terminal of 120 by 40 cells, whose emulator counts bytes, modes and sequences, beside a scripted model that streams
// at a chosen rate and notes when requests arrive and end. It prints a table with a row per measurement:
//
//	go run ./bench/terminal -only reins,claude,pi -runs 3
//
// The programs must be on the path. It needs Linux for memory, CPU time and context switches.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	b := bench{results: map[string]map[string][]value{}}
	flag.IntVar(&b.runs, "runs", 3, "number of runs of each measurement; the table has medians")
	only := flag.String("only", "", "programs, separated by commas (default all that are installed)")
	parts := flag.String("parts", "", "parts, separated by commas: "+partNames()+" (default all)")
	flag.IntVar(&b.lines, "lines", 100_000, "lines of the long session")
	flag.BoolVar(&b.verbose, "v", false, "show the screen when a measurement fails")
	binary := flag.String("reins", "", "`path` of the reins program (default: build it)")
	flag.Parse()
	if err := b.run(names(*only), names(*parts), *binary); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func names(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// bench collects measurements by row and program.
type bench struct {
	runs, lines int
	verbose     bool
	rows        []string
	results     map[string]map[string][]value
	server      *server
}

// value is a measured value, or words.
type value struct {
	number float64
	format string // such as "%.0f ms"
	words  string
}

// part is a group of measurements that share a start.
type part struct {
	name string
	once bool // measured in the first run only
	do   func(*trial)
}

var parts = []part{
	{"start", false, start},
	{"stream", false, stream},
	{"paste", false, paste},
	{"interrupt", false, interrupt},
	{"stray", true, stray},
	{"signals", true, signals},
	{"escapes", true, escapes},
	{"long", true, long},
}

func partNames() string {
	var list []string
	for _, p := range parts {
		list = append(list, p.name)
	}
	return strings.Join(list, ", ")
}

// trial is a measurement of a program.
type trial struct {
	*bench
	peer  peer
	place place
	s     *screen
}

func (b *bench) run(only, chosen []string, binary string) error {
	var err error
	if b.server, err = newServer(); err != nil {
		return err
	}
	defer b.server.http.Close()
	list, err := selected(only, binary)
	if err != nil {
		return err
	}
	before := load()
	for n := range b.runs {
		for _, p := range parts {
			if n > 0 && p.once || len(chosen) > 0 && !slices.Contains(chosen, p.name) {
				continue
			}
			for _, with := range list {
				fmt.Fprintf(os.Stderr, "run %d: %s, %s\n", n+1, p.name, with.name)
				if err := b.try(p, with); err != nil {
					return err
				}
			}
		}
	}
	fmt.Printf("%s/%s, %d cores, load average %s at the start and %s at the end, medians of %d runs, %d by %d cells\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), before, load(), b.runs, columns, rows)
	b.print(list)
	return nil
}

// selected returns the programs to measure.
func selected(only []string, binary string) ([]peer, error) {
	var list []peer
	for _, p := range peers() {
		if len(only) > 0 && !slices.Contains(only, p.name) {
			continue
		}
		if p.name == "reins" {
			var err error
			if binary, err = reins(binary); err != nil {
				return nil, err
			}
			p.program = binary
		}
		if _, err := exec.LookPath(p.program); err != nil {
			if len(only) > 0 {
				return nil, err
			}
			continue
		}
		list = append(list, p)
	}
	return list, nil
}

// reins builds the program like a release, unless there is one.
func reins(binary string) (string, error) {
	if binary != "" {
		return binary, nil
	}
	dir, err := os.MkdirTemp("", "reins-bench-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/reins", "github.com/reins-agent/reins/cmd/reins")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build reins: %w: %s", err, out)
	}
	return dir + "/reins", nil
}

// try measures a part of a program in a fresh home directory.
func (b *bench) try(p part, with peer) error {
	place, err := newPlace(b.server.URL)
	if err != nil {
		return err
	}
	defer os.RemoveAll(place.home)
	if err := place.prepare(with); err != nil {
		return err
	}
	t := &trial{bench: b, peer: with, place: place}
	defer t.stop()
	p.do(t)
	return nil
}

// open starts the program and ends an earlier one.
func (t *trial) open(resume bool) bool {
	t.stop()
	s, err := t.place.open(t.peer, resume)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.peer.name, err)
		return false
	}
	t.s = s
	return true
}

func (t *trial) stop() {
	if t.s != nil {
		t.s.end()
		t.s = nil
	}
}

// put adds a number to a row, and say words.
func (t *trial) put(row, format string, number float64) {
	t.add(row, value{number: number, format: format})
}

func (t *trial) ms(row string, d time.Duration) {
	format := "%.0f ms"
	if d < 100*time.Millisecond {
		format = "%.1f ms"
	}
	t.put(row, format, float64(d)/1e6)
}

func (t *trial) say(row, words string) { t.add(row, value{words: words}) }

// fail adds that something did not happen, and shows the screen if that is wanted.
func (t *trial) fail(row, words string) {
	t.say(row, words)
	if t.verbose && t.s != nil {
		fmt.Fprintf(os.Stderr, "%s: %s: %s\n%s\n", t.peer.name, row, words, t.s.text())
	}
}

func (t *trial) add(row string, v value) {
	if t.results[row] == nil {
		t.results[row] = map[string][]value{}
		t.rows = append(t.rows, row)
	}
	t.results[row][t.peer.name] = append(t.results[row][t.peer.name], v)
}

// print prints the table.
func (b *bench) print(list []peer) {
	head, rule := "| |", "|---|"
	for _, p := range list {
		head += " " + p.name + " |"
		rule += "---|"
	}
	fmt.Println(head + "\n" + rule)
	for _, row := range b.rows {
		line := "| " + row + " |"
		for _, p := range list {
			line += " " + median(b.results[row][p.name]) + " |"
		}
		fmt.Println(line)
	}
}

// median formats the median of values, or the words if there are any.
func median(list []value) string {
	if len(list) == 0 {
		return "–"
	}
	if i := slices.IndexFunc(list, func(v value) bool { return v.words != "" }); i >= 0 {
		return list[i].words
	}
	list = slices.SortedFunc(slices.Values(list), func(a, b value) int { return cmp.Compare(a.number, b.number) })
	v := list[len(list)/2]
	return fmt.Sprintf(v.format, v.number)
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
