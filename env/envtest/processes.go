package envtest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
)

// processTests are for environments that run commands.
var processTests = []test{
	{"Exec_StreamsApartAndTogether", func(t *testing.T, e, _ env.Environment) {
		r, err := env.Exec(t.Context(), e, env.Command{Line: "echo out; echo err >&2; exit 3"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Stdout != "out\n" || r.Stderr != "err\n" || r.Code != 3 || r.TimedOut || r.Duration <= 0 {
			t.Errorf("result: %+v", r)
		}
		if len(r.Combined) != 8 || !strings.Contains(r.Combined, "out\n") || !strings.Contains(r.Combined, "err\n") {
			t.Errorf("combined output: %q", r.Combined)
		}
	}},
	{"Start_ArgsRunWithoutShell", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Args: []string{"echo", "$HOME", "a  b", "*"}})
		finish(t, p)
		if got := output(t, p, env.Stdout); got != "$HOME a  b *\n" {
			t.Errorf("output: %q", got)
		}
	}},
	{"Start_NeedsExactlyOneOfLineAndArgs", func(t *testing.T, e, _ env.Environment) {
		for _, c := range []env.Command{{}, {Line: "true", Args: []string{"true"}}} {
			if _, err := e.Start(t.Context(), c); err == nil {
				t.Errorf("%+v was started", c)
			}
		}
	}},
	{"Start_UnknownProgramIsAnError", func(t *testing.T, e, _ env.Environment) {
		if _, err := e.Start(t.Context(), env.Command{Args: []string{"no-such-program-here"}}); err == nil {
			t.Error("a program that does not exist was started")
		}
	}},
	{"Start_RunsInItsDirectory", func(t *testing.T, e, _ env.Environment) {
		put(t, e, "d/f", "in d")
		for dir, line := range map[string]string{"": "cat d/f", "d": "cat f", e.Info().Dir + "/d": "cat ./f"} {
			r, err := env.Exec(t.Context(), e, env.Command{Line: line, Dir: dir})
			if err != nil || r.Stdout != "in d" {
				t.Errorf("in %q: %q, %v", dir, r.Combined, err)
			}
		}
		for dir, kind := range map[string]error{"missing": fs.ErrNotExist, "d/f": env.ErrNotDir} {
			_, err := e.Start(t.Context(), env.Command{Line: "true", Dir: dir})
			wantErr(t, "Start in "+dir, err, kind)
		}
	}},
	{"Start_CommandLineBeyondTheLimitIsTooLong", func(t *testing.T, e, _ env.Environment) {
		p, err := e.Start(t.Context(), env.Command{Line: "echo " + strings.Repeat("x", 8<<20)})
		if err == nil {
			finish(t, p) // there may be no limit
			return
		}
		wantErr(t, "Start", err, env.ErrTooLong)
	}},
	{"Start_SetsVariables", func(t *testing.T, e, _ env.Environment) {
		r, err := env.Exec(t.Context(), e, env.Command{
			Line: `echo "$ENVTEST_A|$ENVTEST_B"`, Env: map[string]string{"ENVTEST_A": "x y", "ENVTEST_B": "a=b"}})
		if err != nil || r.Stdout != "x y|a=b\n" {
			t.Errorf("output: %q, %v", r.Combined, err)
		}
	}},
	{"Stdin_EmptyUnlessGiven", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "cat; echo end"})
		finish(t, p)
		if got := output(t, p, env.Stdout); got != "end\n" {
			t.Errorf("output: %q", got)
		}
		_, err := p.Write([]byte("x"))
		wantErr(t, "Write", err, env.ErrNoStdin)
		wantErr(t, "CloseStdin", p.CloseStdin(), env.ErrNoStdin)
	}},
	{"Stdin_FromReader", func(t *testing.T, e, _ env.Environment) {
		text := strings.Repeat("line\n", 1<<16)
		r, err := env.Exec(t.Context(), e, env.Command{Line: "cat", Stdin: strings.NewReader(text)})
		if err != nil || r.Stdout != text {
			t.Errorf("cat gave %d of %d bytes, %v", len(r.Stdout), len(text), err)
		}
	}},
	{"Stdin_WriteAndClose", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: `while read -r x; do echo "got $x"; done; echo end`, KeepStdin: true})
		for i := range 3 {
			if _, err := fmt.Fprintf(p.(io.Writer), "%d\n", i); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("got %d\n", i)
			await(t, want, func() bool { return strings.HasSuffix(output(t, p, env.Stdout), want) })
		}
		if err := p.CloseStdin(); err != nil {
			t.Fatal(err)
		}
		finish(t, p)
		if got := output(t, p, env.Both); got != "got 0\ngot 1\ngot 2\nend\n" {
			t.Errorf("output: %q", got)
		}
	}},
	{"Output_FromOffset", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "printf 0123456789"})
		finish(t, p)
		if n := p.Written(env.Stdout); n != 10 {
			t.Errorf("Written is %d, want 10", n)
		}
		for offset, want := range map[int64]string{0: "0123456789", 4: "456789", 10: "", 99: ""} {
			r := p.Output(env.Both, offset)
			data, err := io.ReadAll(r)
			if err != nil || string(data) != want {
				t.Errorf("from %d: %q, %v", offset, data, err)
			}
			if end := max(10, offset); r.Offset() != end {
				t.Errorf("after reading from %d the offset is %d, want %d", offset, r.Offset(), end)
			}
			r.Close()
		}
	}},
	{"OnOutput_GetsEverythingOneCallAtATime", testOnOutput},
	{"Merge_KeepsTheOrderOfTheStreams", testMerge},
	{"MaxOutput_KeepsHeadAndTail", testMaxOutput},
	{"Wait_DoesNotWaitForBackgroundChildren", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "sleep 600 & echo done"})
		x := finish(t, p)
		if got := output(t, p, env.Stdout); got != "done\n" || x.Code != 0 {
			t.Errorf("exit %+v, output %q", x, got)
		}
	}},
	{"Wait_EndOfItsContextEndsTheWaitingOnly", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "read -r x; echo $x", KeepStdin: true})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Wait(ctx)
		wantErr(t, "Wait", err, context.Canceled)
		if _, err := p.Write([]byte("alive\n")); err != nil {
			t.Fatal(err)
		}
		finish(t, p)
		if got := output(t, p, env.Stdout); got != "alive\n" {
			t.Errorf("output: %q", got)
		}
	}},
	{"Timeout_EndsCommandAndKeepsOutput", func(t *testing.T, e, _ env.Environment) {
		got := ""
		for limit := 200 * time.Millisecond; got == "" && limit < patience; limit *= 10 { // a busy machine may need more to begin
			p := start(t, e, env.Command{Line: "echo before; sleep 600; echo after", Timeout: limit})
			x := finish(t, p)
			if !x.TimedOut || x.Code == 0 {
				t.Errorf("exit: %+v", x)
			}
			got = output(t, p, env.Stdout)
		}
		if got != "before\n" {
			t.Errorf("output: %q", got)
		}
	}},
	{"Timeout_LongerThanCommandDoesNothing", func(t *testing.T, e, _ env.Environment) {
		x := finish(t, start(t, e, env.Command{Line: "exit 0", Timeout: time.Hour}))
		if x.TimedOut || x.Code != 0 {
			t.Errorf("exit: %+v", x)
		}
	}},
	{"Cancel_EndsCommandAndKeepsOutput", func(t *testing.T, e, _ env.Environment) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p, err := e.Start(ctx, env.Command{Line: "echo before; sleep 600"})
		if err != nil {
			t.Fatal(err)
		}
		await(t, "output", func() bool { return p.Written(env.Stdout) > 0 })
		cancel()
		x := finish(t, p)
		if x.TimedOut || x.Code == 0 {
			t.Errorf("exit: %+v", x)
		}
		if got := output(t, p, env.Stdout); got != "before\n" {
			t.Errorf("output: %q", got)
		}
		_, err = e.Start(ctx, env.Command{Line: "true"})
		wantErr(t, "Start", err, context.Canceled)
	}},
	{"Stop_EndsAndMayBeRepeated", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "echo up; sleep 600"})
		await(t, "output", func() bool { return p.Written(env.Stdout) > 0 })
		for range 2 {
			if x, err := p.Stop(t.Context()); err != nil || x.Code == 0 || x.TimedOut {
				t.Errorf("Stop: %+v, %v", x, err)
			}
		}
	}},
	{"Release_NeedsTheEnd", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "read -r x", KeepStdin: true})
		if err := p.Release(); err == nil {
			t.Error("the output of a running process was released")
		}
		if err := p.CloseStdin(); err != nil {
			t.Fatal(err)
		}
		finish(t, p)
		if err := p.Release(); err != nil {
			t.Error(err)
		}
	}},
	{"Close_EndsProcesses", func(t *testing.T, e, _ env.Environment) {
		p := start(t, e, env.Command{Line: "echo up; sleep 600"})
		await(t, "output", func() bool { return p.Written(env.Stdout) > 0 })
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.Done():
		default:
			t.Fatal("a process is still running after Close")
		}
		if x := finish(t, p); x.Code == 0 {
			t.Errorf("exit: %+v", x)
		}
		if got := output(t, p, env.Stdout); got != "up\n" {
			t.Errorf("output: %q", got)
		}
	}},
	{"Info_NamesAShell", func(t *testing.T, e, _ env.Environment) {
		if e.Info().Shell == "" {
			t.Error("Info.Shell is empty")
		}
	}},
	{"Start_ManyAtOnce", func(t *testing.T, e, _ env.Environment) {
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				r, err := env.Exec(t.Context(), e, env.Command{Line: fmt.Sprintf("echo %d", i)})
				if want := fmt.Sprintf("%d\n", i); err != nil || r.Stdout != want {
					t.Errorf("command %d: %q, %v", i, r.Combined, err)
				}
			})
		}
		wg.Wait()
	}},
}

func testOnOutput(t *testing.T, e, _ env.Environment) {
	var mu sync.Mutex
	var got [3]strings.Builder
	p := start(t, e, env.Command{
		Line: "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done",
		OnOutput: func(s env.Stream, b []byte) {
			if !mu.TryLock() {
				t.Error("two calls at once")
				return
			}
			defer mu.Unlock()
			got[s].Write(b)
			got[env.Both].Write(b)
		},
	})
	finish(t, p)
	for _, s := range []env.Stream{env.Both, env.Stdout, env.Stderr} {
		if want := output(t, p, s); got[s].String() != want || want == "" {
			t.Errorf("stream %d: OnOutput got %q, Output returns %q", s, got[s].String(), want)
		}
	}
}

func testMerge(t *testing.T, e, _ env.Environment) {
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	p := start(t, e, env.Command{Line: "for i in $(seq 0 199); do echo out $i; echo err $i >&2; done", Merge: true})
	finish(t, p)
	for s, want := range map[env.Stream]string{env.Both: want.String(), env.Stdout: want.String(), env.Stderr: ""} {
		if got := output(t, p, s); got != want {
			t.Errorf("stream %d: got %q, want %q", s, got, want)
		}
	}
}

func testMaxOutput(t *testing.T, e, _ env.Environment) {
	const limit = 4000
	var all strings.Builder
	p := start(t, e, env.Command{Line: "seq 1 20000", MaxOutput: limit, OnOutput: func(_ env.Stream, b []byte) { all.Write(b) }})
	x := finish(t, p)
	kept, whole := output(t, p, env.Stdout), all.String()
	if p.Written(env.Stdout) != int64(len(whole)) {
		t.Errorf("Written is %d, want %d", p.Written(env.Stdout), len(whole))
	}
	if x.Dropped != int64(len(whole)-len(kept)) {
		t.Errorf("Dropped is %d, want %d", x.Dropped, len(whole)-len(kept))
	}
	if len(kept) > limit || len(kept) < limit/2 {
		t.Errorf("kept %d bytes, want at most %d and at least half of that", len(kept), limit)
	}
	quarter := limit / 4
	if !strings.HasPrefix(whole, kept[:quarter]) || !strings.HasSuffix(whole, kept[len(kept)-quarter:]) {
		t.Errorf("the kept output is not head and tail: %q", kept)
	}
}

// closeTests close the environment.
var closeTests = []test{
	{"Close_OnlyCloseWorksAfterwards", testClosed},
}

// noCommandTests are for environments without commands.
var noCommandTests = []test{
	{"Start_IsRefused", func(t *testing.T, e, _ env.Environment) {
		for _, c := range []env.Command{{Line: "true"}, {Args: []string{"true"}}} {
			_, err := e.Start(t.Context(), c)
			wantErr(t, "Start", err, env.ErrNoCommands)
		}
		if shell := e.Info().Shell; shell != "" {
			t.Errorf("Info.Shell is %q, want none", shell)
		}
	}},
}

// testClosed uses an environment after Close.
func testClosed(t *testing.T, e, _ env.Environment) {
	ctx := t.Context()
	put(t, e, "f", "")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := e.Stat(ctx, "f")
	wantErr(t, "Stat", err, env.ErrClosed)
	_, err = e.Open(ctx, "f")
	wantErr(t, "Open", err, env.ErrClosed)
	_, err = e.ReadDir(ctx, ".")
	wantErr(t, "ReadDir", err, env.ErrClosed)
	wantErr(t, "WriteFile", e.WriteFile(ctx, "f", nil, 0o644), env.ErrClosed)
	wantErr(t, "Remove", e.Remove(ctx, "f"), env.ErrClosed)
	wantErr(t, "Rename", e.Rename(ctx, "f", "g"), env.ErrClosed)
	wantErr(t, "Mkdir", e.Mkdir(ctx, "d", 0o755), env.ErrClosed)
	_, err = e.Start(ctx, env.Command{Line: "true"})
	wantErr(t, "Start", err, env.ErrClosed)
	if err := e.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}
