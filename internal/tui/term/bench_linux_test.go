package term

import (
	"os"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// BenchmarkKey measures a key until the program's answer, and how often a thread waited meanwhile. A busy machine lets each
// thread wait for its turn.
func BenchmarkKey(b *testing.B) {
	user, tty, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer user.Close()
	defer tty.Close()
	t, err := Open(Options{In: tty, Out: tty, Getenv: os.Getenv, Plain: true})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	go func() {
		for e := range t.Events() {
			if _, ok := e.(keys.Key); ok {
				_, _ = t.Write([]byte("x"))
			}
		}
	}()
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	for b.Loop() {
		_, err := user.WriteString("x")
		if err == nil {
			_, err = user.Read(make([]byte, 1))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	b.ReportMetric(float64(after.Nvcsw-before.Nvcsw)/float64(b.N), "waits/op")
}
