//go:build linux

package shell

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
)

// TestBash_EverythingThatBashRunsIsJudged generates scripts, runs them with the real bash, with programs that only log
// their arguments, and checks that the analysis has every command that ran and every file that was created. Where the
// system permits it, bash runs in its own namespaces; the scripts write only below their directories in any case.
// REINS_FUZZ=60s makes it run for that long with other scripts each time.
func TestBash_EverythingThatBashRunsIsJudged(t *testing.T) {
	seed, until := int64(1), time.Time{}
	if s := os.Getenv("REINS_FUZZ"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		seed, until = time.Now().UnixNano(), time.Now().Add(d)
	}
	total := bashResult{}
	for round := int64(0); round == 0 || time.Now().Before(until); round++ {
		g := &scripts{Rand: rand.New(rand.NewSource(seed + round))}
		var lines []string
		for range 200 {
			lines = append(lines, g.script())
		}
		total.add(runBash(t, lines))
		if t.Failed() {
			t.Logf("seed %d", seed+round)
			break
		}
	}
	t.Logf("%d scripts, %d of them analysed without unknown parts; bash ran %d programs and created %d files", total.scripts, total.precise, total.ran, total.created)
	if total.ran < total.scripts/2 || total.created < total.scripts/20 || total.precise < total.scripts/10 {
		t.Error("the scripts do too little to test anything")
	}
}

type bashResult struct{ scripts, precise, ran, created int }

func (r *bashResult) add(s bashResult) {
	r.scripts, r.precise, r.ran, r.created = r.scripts+s.scripts, r.precise+s.precise, r.ran+s.ran, r.created+s.created
}

// fakes are programs that log their arguments. The real programs only run other programs.
var (
	fakes = []string{"c1", "c2", "c3", "rm", "cat", "git", "curl", "sort", "sed"}
	reals = []string{"env", "xargs", "nice", "timeout", "sh", "bash", "find", "seq"}
)

const fakeProgram = `#!/bin/sh
{ printf '%s\0' "$#" "${0##*/}"; [ $# = 0 ] || printf '%s\0' "$@"; } >> "${0%/bin/*}/log.$$"
`

// The driver runs the scripts, several at a time, with limits for time and file sizes. In namespaces, no process
// outlives it, the network is unreachable, and only its directory can be written.
const bashDriver = `
if [ "$2" = namespaces ]; then
	mount --bind "$1" "$1" && mount -o remount,bind,ro / || exit 1
fi
ulimit -t 2 -f 64
one() {
	cd "$2/work" || return
	exec env -i PATH="$2/bin:$1/real" HOME="$2/work" TMPDIR="$1" FUNCNEST=20 "$1/real/timeout" -s KILL 20 bash -c "$(cat "$2/script")" < /dev/null > "$2/out" 2>&1
}
export -f one
printf '%s\0' "$1"/s/* | xargs -0 -P 8 -n 1 bash -c 'one "$0" "$1"' "$1"
exit 0
`

// runBash runs scripts and checks their effects.
func runBash(t *testing.T, lines []string) (r bashResult) {
	t.Helper()
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "bin"), 0o755))
	must(os.MkdirAll(filepath.Join(root, "real"), 0o755))
	for _, name := range fakes {
		must(os.WriteFile(filepath.Join(root, "bin", name), []byte(fakeProgram), 0o755))
	}
	for _, name := range reals {
		p, err := exec.LookPath(name)
		must(err)
		must(os.Symlink(p, filepath.Join(root, "real", name)))
	}
	for i, line := range lines {
		d := filepath.Join(root, "s", fmt.Sprintf("%04d", i))
		must(os.MkdirAll(filepath.Join(d, "work", "d1", "d2"), 0o755))
		must(os.Symlink(filepath.Join(root, "bin"), filepath.Join(d, "bin")))
		must(os.WriteFile(filepath.Join(d, "work", "a"), []byte("c3 lines\n"), 0o644))
		must(os.WriteFile(filepath.Join(d, "script"), []byte(line), 0o644))
	}
	command := []string{"bash", "-c", bashDriver, "driver", root}
	if exec.Command("unshare", "-rmnpf", "bash", "-c", "true").Run() == nil {
		command = append(append([]string{"unshare", "-rmnpf", "--kill-child"}, command...), "namespaces")
	}
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("the driver failed: %v\n%s", err, out)
	}
	for i, line := range lines {
		d := filepath.Join(root, "s", fmt.Sprintf("%04d", i))
		work := filepath.Join(d, "work")
		effects, err := Analyze(line, Options{Dir: work, Home: work, Paths: env.PathsOf("linux")})
		r.scripts++
		if err != nil {
			continue // such a line is never allowed
		}
		if !slices.ContainsFunc(effects, func(e Effect) bool { return e.Opaque || len(e.Words) == 0 && e.Unknown != "" }) {
			r.precise++
		}
		for _, argv := range logged(t, d) {
			r.ran++
			if !slices.ContainsFunc(effects, func(e Effect) bool { return coversCommand(e, argv) }) {
				t.Errorf("bash ran %q, which is not among the effects of\n%s\neffects:%s\noutput: %s", argv, line, list(effects), read(d, "out"))
			}
		}
		for _, file := range created(t, work) {
			r.created++
			if !slices.ContainsFunc(effects, func(e Effect) bool { return coversFile(e, file) }) {
				t.Errorf("bash created %s, which is not among the effects of\n%s\neffects:%s", file, line, list(effects))
			}
		}
	}
	return r
}

func read(dir, name string) string {
	b, _ := os.ReadFile(filepath.Join(dir, name))
	return string(b)
}

func list(effects []Effect) string {
	var b strings.Builder
	for _, e := range effects {
		fmt.Fprintf(&b, "\n\t%q %v %s", e.Words, e.Accesses, e.Unknown)
	}
	return b.String()
}

// logged returns the commands that ran. Each process has its own log.
func logged(t *testing.T, dir string) (all [][]string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range logs {
		fields := strings.Split(strings.TrimSuffix(read(dir, filepath.Base(file)), "\x00"), "\x00")
		for len(fields) >= 2 {
			n, err := strconv.Atoi(fields[0])
			if err != nil || len(fields) < n+2 {
				break // it was stopped
			}
			all = append(all, fields[1:n+2])
			fields = fields[n+2:]
		}
	}
	return all
}

// created returns the files in a directory that were not there before.
func created(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && p != filepath.Join(dir, "a") {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// anything reports whether an effect says that the shell may do anything.
func anything(e Effect) bool { return e.Opaque || len(e.Words) == 0 && e.Unknown != "" }

func coversCommand(e Effect, argv []string) bool {
	return anything(e) || len(e.Words) > 0 && matchWords(append([]string{path.Base(e.Words[0])}, e.Words[1:]...), argv)
}

// matchWords reports whether words stand for a command. An unknown word and a pattern stand for any words.
func matchWords(words, argv []string) bool {
	switch {
	case len(words) == 0:
		return len(argv) == 0
	case words[0] == Unset || strings.ContainsAny(words[0], "*?["):
		return matchWords(words[1:], argv) || len(argv) > 0 && matchWords(words, argv[1:])
	}
	return len(argv) > 0 && words[0] == argv[0] && matchWords(words[1:], argv[1:])
}

func coversFile(e Effect, file string) bool {
	return anything(e) || slices.ContainsFunc(e.Accesses, func(a Access) bool {
		return a.Kind == Write && (filepath.Clean(a.Path) == file || a.Deep && strings.HasPrefix(file, a.Path+"/"))
	})
}
