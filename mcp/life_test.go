package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/tool"
)

// lines returns a Config.Log, and a function that waits for a line with some text.
func lines(t *testing.T) (log func(string, []byte), await func(text string)) {
	got := make(chan string, 1000)
	log = func(_ string, line []byte) {
		select {
		case got <- string(line):
		default:
		}
	}
	return log, func(text string) {
		t.Helper()
		for {
			select {
			case line := <-got:
				if strings.Contains(line, text) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("the server did not log %q", text)
			}
		}
	}
}

// patiently calls a tool again while the calls time out, for servers whose calls have little time on a busy machine.
func patiently(t *testing.T, c *Client, name string) tool.Result {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		res := invoke(t, c, name, `{}`)
		if res.Error == nil || res.Error.Code != TimedOut || time.Now().After(end) {
			return res
		}
	}
}

// pidOf returns a server's process id.
func pidOf(t *testing.T, c *Client, server string) int {
	t.Helper()
	res := patiently(t, c, "mcp__"+server+"__pid")
	pid, err := strconv.Atoi(tool.String(res.Output))
	if err != nil {
		t.Fatalf("%v; the error of the call is %v", err, res.Error)
	}
	return pid
}

func TestLife_KilledServerComesBackWithTheSameTools(t *testing.T) {
	t.Parallel()
	log, await := lines(t)
	var changes []Change
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "sdk"), "y": program(t, "sdk")}, Log: log, OnChange: func(ch Change) { changes = append(changes, ch) }})
	before, pid := names(c), pidOf(t, c, "x")
	tools := c.Tools()

	got := make(chan tool.Result, 1)
	go func() { got <- invoke(t, c, "mcp__x__hang", `{}`) }()
	await("hanging")
	invoke(t, c, "mcp__x__die", `{}`) // by SIGKILL
	res := <-got
	if res.Error == nil || res.Error.Code != Unavailable || !strings.Contains(res.Error.Message, "SIGKILL") {
		t.Errorf("the interrupted call gave %q and the error %v", tool.String(res.Output), res.Error)
	}
	if again := pidOf(t, c, "x"); again == pid {
		t.Error("the server was not started again")
	}
	if after := names(c); !slices.Equal(after, before) {
		t.Errorf("the tools are %v, and were %v", after, before)
	}
	if !slices.Equal(c.Tools(), tools) {
		t.Error("the tools are other ones than before")
	}
	if len(changes) != 2 {
		t.Errorf("there were %d changes of tools, want one for each server", len(changes))
	}
}

func TestLife_CallTimesOutAndTheConnectionStaysUsable(t *testing.T) {
	t.Parallel()
	log, await := lines(t)
	s := program(t, "sdk")
	s.Timeout = 300 * time.Millisecond
	c := ready(t, Config{Servers: map[string]Server{"x": s}, Log: log})
	pid := pidOf(t, c, "x")
	if res := invoke(t, c, "mcp__x__hang", `{}`); res.Error == nil || res.Error.Code != TimedOut {
		t.Errorf("got the error %v, want a timeout", res.Error)
	}
	await("cancelled") // the server was told
	if again := pidOf(t, c, "x"); again != pid {
		t.Error("the server was started again")
	}
}

func TestLife_CancelledCallReturnsAndTheConnectionStaysUsable(t *testing.T) {
	t.Parallel()
	log, await := lines(t)
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "sdk")}, Log: log})
	pid := pidOf(t, c, "x")
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan tool.Result, 1)
	go func() { got <- invokeCall(ctx, t, c, &tool.Call{Name: "mcp__x__hang", Args: json.RawMessage(`{}`)}) }()
	await("hanging")
	cancel()
	if res := <-got; res.Error == nil || res.Error.Code != tool.Cancelled {
		t.Errorf("got the error %v", res.Error)
	}
	await("cancelled")
	if again := pidOf(t, c, "x"); again != pid {
		t.Error("the server was started again")
	}
}

func TestLife_LateAnswerIsIgnored(t *testing.T) {
	t.Parallel()
	s := program(t, "late")
	s.Timeout = 300 * time.Millisecond
	c := ready(t, Config{Servers: map[string]Server{"x": s}})
	if res := invoke(t, c, "mcp__x__a", `{}`); res.Error == nil || res.Error.Code != TimedOut {
		t.Errorf("got %q and the error %v, want a timeout", tool.String(res.Output), res.Error)
	}
	if res := patiently(t, c, "mcp__x__b"); tool.String(res.Output) != "done b" {
		t.Errorf("got %q and the error %v, want the answer to this call", tool.String(res.Output), res.Error)
	}
}

func TestLife_ProgressIsOutputAndExtendsTheTime(t *testing.T) {
	t.Parallel()
	s := program(t, "sdk")
	s.Timeout = 500 * time.Millisecond
	c, steps := ready(t, Config{Servers: map[string]Server{"x": s}}), 14 // one takes 50 ms
	progress := func() (tool.Result, string) {
		var out strings.Builder
		call := &tool.Call{Name: "mcp__x__progress", Args: fmt.Appendf(nil, `{"text":"%d"}`, steps), Output: func(p []byte) { out.Write(p) }}
		return invokeCall(t.Context(), t, c, call), out.String()
	}
	if res := invoke(t, c, "mcp__x__progress", `{"text":"1000"}`); res.Error == nil || res.Error.Code != TimedOut {
		t.Errorf("endless progress gave the error %v, want a timeout", res.Error)
	}
	res, out := progress()
	if res.Error != nil && res.Error.Code == TimedOut { // on a busy machine the pauses may be longer than the timeout
		c.Close()
		s.Timeout, steps = 10*time.Second, 300
		c = ready(t, Config{Servers: map[string]Server{"x": s}})
		res, out = progress()
	}
	if got := tool.String(res.Output); got != "finished" {
		t.Errorf("got %q and the error %v", got, res.Error)
	}
	// The SDK handles a notification beside the answer that follows it, so the last notification may come too late.
	for _, n := range []int{1, steps - 1} {
		if step := fmt.Sprintf("%d/%d step %d\n", n, steps, n); !strings.Contains(out, step) {
			t.Errorf("the output is %q, want %q in it", out, step)
		}
	}
}

func TestLife_EnableReconnectAndSetServers(t *testing.T) {
	t.Parallel()
	type change struct {
		add    int
		remove int
	}
	var changes []change
	x, y := program(t, "sdk"), program(t, "sdk")
	y.Disabled = true
	c := open(t, Config{Servers: map[string]Server{"x": x, "y": y}, OnChange: func(ch Change) { changes = append(changes, change{len(ch.Add), len(ch.Remove)}) }})
	c.Wait(t.Context(), time.Minute)
	state := func(name string) State {
		for _, s := range c.Status() {
			if s.Name == name {
				return s.State
			}
		}
		return ""
	}
	n := len(names(c))
	if state("x") != Connected || state("y") != Disabled || n == 0 {
		t.Fatalf("the servers are %s and %s, with %d tools", state("x"), state("y"), n)
	}

	if err := c.Enable(t.Context(), "y", true); err != nil || state("y") != Connected || len(names(c)) != 2*n {
		t.Errorf("enabled: %v, %s, %d tools", err, state("y"), len(names(c)))
	}
	pid := pidOf(t, c, "y")
	if err := c.Reconnect(t.Context(), "y"); err != nil || pidOf(t, c, "y") == pid {
		t.Errorf("reconnected: %v", err)
	}
	if err := c.Enable(t.Context(), "x", false); err != nil || state("x") != Disabled || len(names(c)) != n {
		t.Errorf("disabled: %v, %s, %d tools", err, state("x"), len(names(c)))
	}
	if err := c.Reconnect(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("reconnecting a disabled server gives the error %v", err)
	}
	if err := c.Reconnect(t.Context(), "z"); err == nil || !strings.Contains(err.Error(), `"z"`) {
		t.Errorf("an unknown server gives the error %v", err)
	}

	pid = pidOf(t, c, "y")
	y.Disabled = false
	x.Env["MORE"] = "1"
	d := c.SetServers(map[string]Server{"y": y, "x": x, "z": {Command: "a", URL: "b"}})
	c.Wait(t.Context(), time.Minute)
	if !slices.Equal(d.Added, []string{"z"}) || d.Removed != nil || !slices.Equal(d.Changed, []string{"x"}) || d.Errors["z"] == nil || len(d.Errors) != 1 {
		t.Errorf("the difference is %+v", d)
	}
	if pidOf(t, c, "y") != pid {
		t.Error("a server that stayed the same was started again")
	}
	d = c.SetServers(nil)
	if !slices.Equal(d.Removed, []string{"x", "y", "z"}) || len(c.Tools()) != 0 {
		t.Errorf("the difference is %+v, with %d tools", d, len(c.Tools()))
	}
	want := []change{{n, 0}, {n, 0}, {0, n}, {n, 0}, {0, n}, {0, n}}
	if !slices.Equal(changes, want) {
		t.Errorf("the changes of tools are %v, want %v", changes, want)
	}
}

func TestLife_ChangedToolsAreReported(t *testing.T) {
	t.Parallel()
	changes := make(chan Change, 10)
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "sdk")}, OnChange: func(ch Change) { changes <- ch }})
	<-changes
	before := c.Tools()
	invoke(t, c, "mcp__x__add", `{"text":"extra"}`)
	ch := <-changes
	if len(ch.Add) != 1 || ch.Add[0].Spec().Name != "mcp__x__extra" || ch.Remove != nil || ch.Server != "x" {
		t.Errorf("the change is %+v", ch)
	}
	invoke(t, c, "mcp__x__remove", `{"text":"extra"}`)
	if ch := <-changes; ch.Add != nil || !slices.Equal(ch.Remove, []string{"mcp__x__extra"}) {
		t.Errorf("the change is %+v", ch)
	}
	if !slices.Equal(c.Tools(), before) {
		t.Errorf("the tools are now %v", names(c))
	}
}

func TestLife_CloseDuringACall(t *testing.T) {
	t.Parallel()
	log, await := lines(t)
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "sdk")}, Log: log})
	got := make(chan tool.Result, 1)
	go func() { got <- invoke(t, c, "mcp__x__hang", `{}`) }()
	await("hanging")
	c.Close()
	if res := <-got; res.Error == nil {
		t.Error("the call succeeded")
	}
	if res := invoke(t, c, "mcp__x__echo", `{}`); res.Error == nil || res.Error.Code != Unavailable {
		t.Errorf("a call after Close gives the error %v", res.Error)
	}
}

func TestLife_VariablesOfTheHostStayThere(t *testing.T) {
	t.Setenv("MCP_TEST_API_KEY", "secret")
	t.Setenv("LANG", "C.UTF-8")
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "sdk", "GIVEN=yes")}})
	vars := strings.Split(tool.String(invoke(t, c, "mcp__x__environ", `{}`).Output), "\n")
	if slices.Contains(vars, "MCP_TEST_API_KEY=secret") || !slices.Contains(vars, "GIVEN=yes") || !slices.Contains(vars, "LANG=C.UTF-8") {
		t.Errorf("the server has the variables %q", vars)
	}
}

func TestOffer_ReportsOnlyToolsThatAreNewOrDifferent(t *testing.T) {
	t.Parallel()
	describe := func(name, text string) tool.Tool {
		return tool.New(tool.Spec{Name: name, Description: text}, nil, func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Result{}, nil })
	}
	var change Change
	c := open(t, Config{Servers: map[string]Server{"x": {Tools: []tool.Tool{describe("a", "one"), describe("b", "two"), describe("c", "three")}}}, OnChange: func(ch Change) { change = ch }})
	s, err := c.find("x")
	if err != nil {
		t.Fatal(err)
	}
	s.Tools = []tool.Tool{describe("a", "one"), describe("b", "changed"), describe("d", "four")}
	s.offer(s.own())
	var added []string
	for _, t := range change.Add {
		added = append(added, t.Spec().Name+": "+t.Spec().Description)
	}
	if got, want := strings.Join(added, ", "), "mcp__x__b: changed, mcp__x__d: four"; got != want || !slices.Equal(change.Remove, []string{"mcp__x__c"}) {
		t.Errorf("added %q and removed %q, want %q and mcp__x__c", got, change.Remove, want)
	}
}

func TestLife_ServerThatIsKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "sdk")}})
	if err := c.Reconnect(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	before := names(c)
	pids := map[int]bool{}
	for range 4 { // each adds to the delay before the next start
		pid := pidOf(t, c, "x")
		if pids[pid] {
			t.Fatal("a killed server is still there")
		}
		pids[pid] = true
		results := make(chan tool.Result, 5)
		for range cap(results) {
			go func() { results <- invoke(t, c, "mcp__x__echo", `{"text":"hello"}`) }()
		}
		invoke(t, c, "mcp__x__die", `{}`)
		for range cap(results) {
			if res := <-results; res.Error == nil && tool.String(res.Output) != "hello" || res.Error != nil && res.Error.Code != Unavailable {
				t.Errorf("a call gave %q and the error %v", tool.String(res.Output), res.Error)
			}
		}
	}
	if after := names(c); !slices.Equal(after, before) {
		t.Errorf("the tools are %v, and were %v", after, before)
	}
}
