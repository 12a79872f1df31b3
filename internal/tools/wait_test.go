//go:build unix

package tools_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestSleep_EndsAfterTheTimeAndAfterTenMinutesAtMost(t *testing.T) {
	r := newRig(t, tools.Config{})
	synctest.Test(t, func(t *testing.T) {
		for seconds, want := range map[float64]time.Duration{1.5: 1500 * time.Millisecond, 90: 90 * time.Second, 601: 10 * time.Minute, 1e300: 10 * time.Minute} {
			start := time.Now()
			out := r.pipe.Run(t.Context(), r.request("sleep", args{"seconds": seconds}))
			if got := time.Since(start); got != want || !out.OK() || !strings.Contains(out.Model, "time passed") {
				t.Errorf("%v seconds took %v, want %v: %q", seconds, got, want, out.Model)
			}
		}
		start := time.Now()
		r.pipe.Run(t.Context(), r.request("sleep", args{"seconds": 0}))
		if time.Since(start) > 0 {
			t.Error("it waits for 0 seconds")
		}
	})
	r.fails(tool.ValidationError, "sleep", args{"seconds": -1}, "positive")
}

// A process that ended before the call counts until its end was reported.
func TestSleep_WakesWhenAProcessEnds(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start("until test -e go; do sleep 0.02; done; exit 3")
	done := make(chan string)
	go func() { done <- r.run("sleep", args{"seconds": 60}).Model }()
	r.write("go", "")
	if got := <-done; !strings.Contains(got, "a process ended") {
		t.Errorf("got %q", got)
	}
	r.ok("shell_output", args{"id": id})
	r.start("echo hello; sleep 600")
	if got := r.ok("sleep", args{"seconds": 60, "until_output": true}); !strings.Contains(got, "printed output") {
		t.Errorf("got %q", got)
	}
}

func TestMonitor_WaitsForALineAndForTheEnd(t *testing.T) {
	r := newRig(t, tools.Config{})
	id, _ := r.start("echo one; head -c 200000 /dev/zero | tr '\\0' x; echo; until test -e go; do sleep 0.02; done; echo listening on 80; until test -e stop; do sleep 0.02; done; printf 'bye'")
	done := make(chan tool.Outcome)
	go func() { done <- r.run("monitor", args{"pattern": `^listening on (\d+)$`, "timeout_seconds": 60}) }()
	r.write("go", "")
	out := <-done
	text := tool.String(out.Result.Output)
	if !strings.HasPrefix(text, "[a line matched: listening on 80]\n--- process "+id+"\none\n") || !strings.Contains(text, "[still running]") || out.Result.Fields["matched"] != "listening on 80" {
		t.Errorf("got %.200q, %v", text, out.Result.Fields)
	}
	r.write("stop", "")
	out = r.run("monitor", args{"ids": []any{1}, "timeout_seconds": 60})
	if text := tool.String(out.Result.Output); !strings.Contains(text, "[a process ended]\n--- process 1\n") || !strings.Contains(text, "bye") || !strings.Contains(text, "[exit code 0") {
		t.Errorf("got %.200q", text)
	}
	r.fails(tool.ProcessNotFound, "monitor", args{}, "No background process is running")
	r.fails(tool.ProcessNotFound, "monitor", args{"ids": []string{"9"}}, "the ids are 1")
	r.start("printf 'the last line'")
	if got := r.ok("monitor", args{"pattern": "last line$", "timeout_seconds": 60}); !strings.Contains(got, "[a line matched: the last line]") {
		t.Errorf("a line without an end: %q", got)
	}
	r.fails(tool.InvalidPattern, "monitor", args{"ids": []string{"1"}, "pattern": "("}, "RE2")
	r.declares("monitor", args{})
	r.declares("sleep", args{"seconds": 1})
}

func TestWaiting_MessagesAndInterruptionsEndIt(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.start("sleep 600")
	for name, a := range map[string]args{"sleep": {"seconds": 5}, "monitor": {"timeout_seconds": 5}} {
		steered := make(chan struct{})
		close(steered)
		call := r.request(name, a)
		call.Steered = steered
		if out := r.pipe.Run(t.Context(), call); !out.OK() || !strings.Contains(out.Model, "a message arrived") {
			t.Errorf("%s: %q", name, out.Model)
		}
		ctx, cancel := context.WithCancel(t.Context())
		pipe := *r.pipe
		pipe.Middleware = []tool.Middleware{func(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
			cancel()
			return next(ctx)
		}}
		if out := pipe.Run(ctx, r.request(name, a)); out.OK() || out.Result.Error.Code != tool.Cancelled {
			t.Errorf("%s: an interrupted call gives %+v", name, out.Result.Error)
		}
	}
}
