//go:build unix

package search

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The benchmarks report processor time, which depends less on load than wall-clock time: ms-cpu is
// ours per search, peer-ms-cpu the peer's on the same tree, and ratio the first divided by the second.

// goSource returns the tree to search.
func goSource(b *testing.B) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatalf("the Go source tree is needed: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}

// selfCPU returns the processor time used by this process.
func selfCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peerCPU runs a program and returns its processor time.
func peerCPU(b *testing.B, dir string, out *bytes.Buffer, args ...string) time.Duration {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	out.Reset()
	cmd.Stdout = out
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatalf("%v: %v", args, err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// versus runs ours and the peer in turn.
func versus(b *testing.B, dir string, ours func() int, peer []string) {
	if _, err := exec.LookPath(peer[0]); err != nil {
		b.Fatalf("%s is needed: install ripgrep and fd-find", peer[0])
	}
	var mine, theirs time.Duration
	var out bytes.Buffer
	peerCPU(b, dir, &out, peer...)
	if got, want := ours(), bytes.Count(out.Bytes(), lineFeed); got != want {
		b.Fatalf("found %d, %v found %d", got, peer, want)
	}
	b.ReportAllocs()
	for b.Loop() {
		before := selfCPU(b)
		ours()
		mine += selfCPU(b) - before
		theirs += peerCPU(b, dir, &out, peer...)
	}
	n := float64(b.N) * 1e6
	b.ReportMetric(float64(mine)/n, "ms-cpu")
	b.ReportMetric(float64(theirs)/n, "peer-ms-cpu")
	b.ReportMetric(float64(mine)/float64(theirs), "ratio")
}

func BenchmarkGrepVersusRipgrep(b *testing.B) {
	src := goSource(b)
	for _, c := range []struct {
		name, pattern string
		fold          bool
	}{
		{"literal", "SetReadDeadline", false},
		{"literal-common", "return", false},
		{"ignore-case", "setreaddeadline", true},
		{"ignore-case-ks", "bookkeeping", true},
		{"alternation-prefix", "func (Read|Write|Close)", false},
		{"alternation-words", "ErrUnexpectedEOF|ErrShortWrite|ErrNoProgress|ErrClosedPipe", false},
		{"alternation-no-prefix", `[a-z]+(Deadline|Timeout)\(`, false},
		{"no-literal", `[A-Z][a-z]+[0-9]{3,}`, false},
		{"no-match", "zyzzyvaNoSuchWord", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := &Local{Dir: src}
			peer := []string{"rg", "--no-config", "-n", c.pattern}
			if c.fold {
				peer = append(peer, "-i")
			}
			versus(b, src, func() int {
				sum, err := l.Grep(context.Background(), GrepQuery{Pattern: c.pattern, IgnoreCase: c.fold}, func(FileMatch) bool { return true })
				if err != nil {
					b.Fatal(err)
				}
				return sum.Matches
			}, peer)
		})
	}
}

func BenchmarkGlobVersusPeers(b *testing.B) {
	src := goSource(b)
	for _, peer := range [][]string{
		{"rg", "--no-config", "--files", "-g", "*.go", "-g", "!.*"},
		{"fdfind", "-t", "f", "-e", "go"},
	} {
		b.Run(peer[0], func(b *testing.B) {
			l := &Local{Dir: src}
			versus(b, src, func() int {
				res, err := l.Glob(context.Background(), GlobQuery{Pattern: "**/*.go"})
				if err != nil {
					b.Fatal(err)
				}
				return len(res.Files)
			}, peer)
		})
	}
}
