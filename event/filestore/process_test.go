package filestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/thorough"
)

// writerDir is an environment variable that makes the test binary a writer to a directory.
const writerDir = "REINS_TEST_WRITER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerDir); dir != "" {
		if err := write(dir, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	writers  = 50
	sessions = 48
	kills    = 50
)

// write appends to sessions until stdin ends, and prints each record that is safe.
func write(dir string, acknowledged io.Writer) error {
	s, err := New(Config{Dir: dir})
	if err != nil {
		return err
	}
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	for {
		select {
		case <-end:
			return nil
		default:
		}
		err := writeSome(s, fmt.Sprint("s", rand.IntN(sessions)), acknowledged)
		if err != nil && !errors.Is(err, event.ErrLocked) && !errors.Is(err, event.ErrExists) {
			return err
		}
	}
}

// writeSome opens a session, or creates it, and appends a few records.
func writeSome(s *Store, id string, acknowledged io.Writer) error {
	ctx := context.Background()
	w, err := s.Open(ctx, id)
	if errors.Is(err, event.ErrNotFound) {
		w, err = s.Create(ctx, event.Meta{ID: id})
	}
	if err != nil {
		return err
	}
	m, err := s.Meta(ctx, id)
	if err != nil {
		return err
	}
	for last := m.Last; last < m.Last+10; {
		var batch []event.Record
		for range 1 + rand.IntN(3) {
			last++
			r := record(last)
			r.Data = event.Warning{Message: strings.Repeat(fmt.Sprint(os.Getpid(), " "), rand.IntN(300))}
			batch = append(batch, r)
		}
		if err := w.Append(ctx, batch...); err != nil {
			return err
		}
		for _, r := range batch {
			fmt.Fprintf(acknowledged, "%s %d %d %d\n", id, r.Seq, os.Getpid(), len(r.Data.(event.Warning).Message))
		}
	}
	if rand.IntN(2) == 0 {
		err = w.SetMeta(ctx, event.Meta{Title: fmt.Sprint(os.Getpid())})
	}
	return errors.Join(err, w.Close())
}

// writerProcess is a process that writes until it is killed or stopped.
type writerProcess struct {
	cmd  *exec.Cmd
	in   io.Closer
	done chan struct{} // closed when it ended and all its acknowledgements were read
	errs strings.Builder
}

func startWriter(t *testing.T, dir string, acks *ledger) *writerProcess {
	t.Helper()
	p := &writerProcess{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), writerDir+"="+dir)
	p.cmd.Stderr = &p.errs
	in, err := p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	p.in = in
	go func() {
		defer close(p.done)
		acks.read(out)
		_ = p.cmd.Wait()
	}()
	return p
}

// ledger holds the records that processes printed as safe.
type ledger struct {
	mu      sync.Mutex
	records map[string]string // "session seq" to "pid size"
	count   int
	more    chan struct{}
}

func (l *ledger) read(in io.Reader) {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // the last line may be incomplete
		}
		f := strings.Fields(line)
		l.mu.Lock()
		l.records[f[0]+" "+f[1]] = f[2] + " " + f[3]
		l.count++
		l.mu.Unlock()
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
}

func TestStore_FiftyProcessesKilledAtRandomLoseNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acks := &ledger{records: make(map[string]string), more: make(chan struct{}, 1)}
	var running []*writerProcess
	for range writers {
		running = append(running, startWriter(t, dir, acks))
	}
	for range thorough.Of(kills, 25) {
		select { // a writer made progress
		case <-acks.more:
		case <-time.After(time.Minute):
			t.Fatal("no process is writing")
		}
		i := rand.IntN(len(running))
		must(t, running[i].cmd.Process.Kill())
		<-running[i].done
		running[i] = startWriter(t, dir, acks)
	}
	for _, p := range running {
		must(t, p.in.Close())
	}
	for _, p := range running {
		<-p.done
		if !p.cmd.ProcessState.Success() {
			t.Errorf("a writer failed: %s", p.errs.String())
		}
	}
	checkAcknowledged(t, dir, acks)
}

func checkAcknowledged(t *testing.T, dir string, acks *ledger) {
	t.Helper()
	s := newStore(t, Config{Dir: dir})
	found := make(map[string]string)
	listed := 0
	for m, err := range s.List(t.Context()) {
		must(t, err)
		listed++
		report := clean(t, s, m.ID)
		if report.Last != m.Last {
			t.Errorf("%s ends with record %d, but is listed with %d", m.ID, report.Last, m.Last)
		}
		for r, err := range s.Load(t.Context(), m.ID, 0) {
			must(t, err)
			text := r.Data.(event.Warning).Message
			pid, _, _ := strings.Cut(text, " ")
			found[fmt.Sprint(m.ID, " ", r.Seq)] = fmt.Sprint(pid, " ", len(text))
		}
	}
	for key, want := range acks.records {
		got, ok := found[key]
		if !ok || got != want && !strings.HasSuffix(want, " 0") {
			t.Errorf("record %s: got %q, want %q", key, got, want)
		}
	}
	t.Logf("%d records of %d were acknowledged, in %d sessions", len(acks.records), len(found), listed)
}

func TestLock_DeadProcessHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	acks := &ledger{records: make(map[string]string), more: make(chan struct{}, 1)}
	p := startWriter(t, dir, acks)
	<-acks.more
	must(t, p.cmd.Process.Kill())
	<-p.done
	s := newStore(t, Config{Dir: dir})
	for m, err := range s.List(t.Context()) {
		must(t, err)
		must(t, open(t, s, m.ID).Close())
	}
}
