package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/tool"
)

// failed opens a client with a server that cannot be connected, and returns its status.
func failed(t *testing.T, s Server, limit time.Duration) Status {
	t.Helper()
	c := open(t, Config{Servers: map[string]Server{"bad": s, "good": program(t, "sdk")}, Connect: limit})
	c.Wait(t.Context(), time.Minute)
	if got := tool.String(invoke(t, c, "mcp__good__echo", `{"text":"fine"}`).Output); got != "fine" {
		t.Errorf("the other server answered %q", got)
	}
	return c.Status()[0]
}

func TestHostile_ServersThatCannotBeConnectedAreReported(t *testing.T) {
	t.Parallel()
	for kind, says := range map[string]string{
		"dies":  "exited with code 3; its last output: API_KEY is not set",
		"noise": "lines that are not messages", "endless line": "larger than 16 MiB",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st := failed(t, program(t, kind), time.Minute)
			if st.State != Failed || st.Err == nil || !strings.Contains(st.Err.Error(), says) {
				t.Errorf("the server is %s: %v; want an error with %q", st.State, st.Err, says)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		st := failed(t, program(t, "silent"), 3*time.Second)
		if st.State != Failed || st.Err == nil || !strings.Contains(st.Err.Error(), "did not answer within 3s") {
			t.Errorf("the server is %s: %v", st.State, st.Err)
		}
	})
	t.Run("missing program", func(t *testing.T) {
		st := failed(t, Server{Command: "no-such-program-anywhere"}, time.Minute)
		if st.State != Failed || st.Err == nil || !strings.Contains(st.Err.Error(), "no-such-program-anywhere") {
			t.Errorf("the server is %s: %v", st.State, st.Err)
		}
	})
}

func TestHostile_ServersStayUsable(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"garbage", "wrong ids", "stderr", "notifications", "changes", "old", "pages"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := ready(t, Config{Servers: map[string]Server{"x": program(t, kind)}})
			name := names(c)[0]
			for range 3 {
				res := invoke(t, c, name, `{}`)
				if got := tool.String(res.Output); res.Error != nil || !strings.HasPrefix(got, "done") {
					t.Fatalf("got %q and the error %v", got, res.Error)
				}
			}
			if n := len(names(c)); n > maxTools {
				t.Errorf("there are %d tools", n)
			}
			if n := len(c.Status()[0].Stderr); n > maxTail {
				t.Errorf("%d bytes of standard error are kept", n)
			}
		})
	}
}

func TestHostile_LargeMessageEndsTheConnectionOnly(t *testing.T) {
	t.Parallel()
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "huge")}})
	res := invoke(t, c, "mcp__x__b", `{}`)
	if res.Error == nil || res.Error.Code != Unavailable || !strings.Contains(res.Error.Message, "larger than 16 MiB") {
		t.Errorf("got the error %v", res.Error)
	}
	if res := invoke(t, c, "mcp__x__a", `{}`); res.Error != nil || tool.String(res.Output) != "done a" {
		t.Errorf("after that, the server answers %q and the error %v", tool.String(res.Output), res.Error)
	}
}

func TestHostile_ServerThatClosesItsOutputIsRestarted(t *testing.T) {
	t.Parallel()
	s := program(t, "closes")
	s.Timeout = 500 * time.Millisecond
	c := ready(t, Config{Servers: map[string]Server{"x": s}})
	if res := invoke(t, c, "mcp__x__a", `{}`); res.Error == nil || res.Error.Code != Unavailable && res.Error.Code != TimedOut {
		t.Errorf("got %q and the error %v", tool.String(res.Output), res.Error)
	}
}

func TestHostile_LastAnswerOfAServerCounts(t *testing.T) {
	t.Parallel()
	for range 5 {
		c := ready(t, Config{Servers: map[string]Server{"x": program(t, "exits")}}) // after a call
		if res := invoke(t, c, "mcp__x__a", `{}`); tool.String(res.Output) != "done a" {
			t.Errorf("got %q and the error %v", tool.String(res.Output), res.Error)
		}
		c.Close()
	}
}

func TestHostile_ServerThatReadsNothingCannotBlock(t *testing.T) {
	t.Parallel()
	s := program(t, "deaf")
	s.Timeout = 200 * time.Millisecond
	c := ready(t, Config{Servers: map[string]Server{"x": s}})
	results := make(chan tool.Result)
	for range 20 { // more than the pipe can hold
		go func() { results <- invoke(t, c, "mcp__x__a", `{"text":"`+strings.Repeat("x", 64<<10)+`"}`) }()
	}
	for range 20 {
		if res := <-results; res.Error == nil || res.Error.Code != TimedOut {
			t.Errorf("got %q and the error %v", tool.String(res.Output), res.Error)
		}
	}
}

func TestHostile_BadToolsAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "bad tools")}})
	if got := strings.Join(names(c), " "); got != "mcp__x__b mcp__x__a mcp__x__long" {
		t.Errorf("the tools are %s", got)
	}
	want := map[string]string{"text": "of type string", "ref": "#/nowhere", "hidden": "invisible characters", "a": "twice"}
	for _, q := range c.Status()[0].LeftOut {
		if !strings.Contains(q.Reason, want[q.Tool]) || want[q.Tool] == "" {
			t.Errorf("%s is left out because: %s", q.Tool, q.Reason)
		}
		delete(want, q.Tool)
	}
	if len(want) > 0 {
		t.Errorf("not left out: %v", want)
	}
	if n := len(c.Tools()[2].Spec().Description); n > maxDescription+20 {
		t.Errorf("a description has %d bytes", n)
	}
}

func TestHostile_ToolsThatCannotBeDecodedAreLeftOutAndNamed(t *testing.T) {
	t.Parallel()
	over := func(s Server) {
		t.Helper()
		c := ready(t, Config{Servers: map[string]Server{"x": s}})
		defer c.Close()
		if got := strings.Join(names(c), " "); got != "mcp__x__b mcp__x__a mcp__x__c" {
			t.Errorf("the tools are %s", got)
		}
		left := c.Status()[0].LeftOut
		for tool, why := range map[string]string{"number": "malformed", "absurd": "nested too deeply"} {
			if len(left) != 5 || !slices.ContainsFunc(left, func(q Quarantine) bool { return q.Tool == tool && strings.Contains(q.Reason, why) }) {
				t.Errorf("left out are %v; want 5, and %s because it is %s", left, tool, why)
			}
		}
	}
	over(program(t, "odd tools"))
	for _, kind := range []string{"application/json", "text/event-stream"} {
		s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { oddTools(w, r, kind) }))
		over(Server{URL: s.URL})
	}
}

// oddTools is an HTTP server like "odd tools".
func oddTools(w http.ResponseWriter, r *http.Request, kind string) {
	var m request
	if r.Method != "POST" || json.NewDecoder(r.Body).Decode(&m) != nil {
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	}
	var out strings.Builder
	server := &raw{kind: "odd tools", out: &out}
	server.handle(m)
	if out.Len() == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", kind)
	if kind == "text/event-stream" {
		fmt.Fprintf(w, "data: %s\n", out.String())
	} else {
		fmt.Fprint(w, out.String())
	}
}

func TestHostile_MalformedMessagesDoNoHarm(t *testing.T) {
	t.Parallel()
	cfg := Config{
		Servers: map[string]Server{"x": program(t, "nasty")}, Roots: []string{"/x"},
		Elicit: func(context.Context, string, ElicitRequest) (ElicitAnswer, error) {
			return ElicitAnswer{Accept, map[string]any{"a": 1}}, nil
		},
		Sample: func(context.Context, string, SampleRequest) (SampleAnswer, error) { return SampleAnswer{}, nil },
	}
	c := ready(t, cfg)
	for range 2 {
		if res := invoke(t, c, "mcp__x__a", `{}`); tool.String(res.Output) != "done a" {
			t.Errorf("got %q and the error %v", tool.String(res.Output), res.Error)
		}
	}
}

func TestHostile_NullsDoNoHarm(t *testing.T) {
	t.Parallel()
	c := ready(t, Config{Servers: map[string]Server{"x": program(t, "nulls")}})
	invoke(t, c, "mcp__x__a", `{}`)
	if list, err := c.Resources(t.Context(), "x"); err == nil && (len(list) != 1 || list[0].URI != "x://a") {
		t.Errorf("the resources are %v", list)
	}
	if list, err := c.ReadResource(t.Context(), "x", "x://a"); err == nil && (len(list) != 1 || list[0].Text != "a") {
		t.Errorf("the resource is %v", list)
	}
	invoke(t, c, "list_mcp_resources", `{}`)
	invoke(t, c, "read_mcp_resource", `{"server":"x","uri":"x://a"}`)
	if list, err := c.Prompts(t.Context(), "x"); err == nil && (len(list) != 1 || list[0].Name != "p") {
		t.Errorf("the prompts are %v", list)
	}
	c.GetPrompt(t.Context(), "x", "p", nil)
	if st := c.Status()[0]; st.State != Connected {
		t.Errorf("the server is %s: %v", st.State, st.Err)
	}
}
