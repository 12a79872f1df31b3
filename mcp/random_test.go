package mcp

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/tool"
)

// TestRandom_LifeOfAClient does everything at once. All operations must return, and in the end both servers must work.
func TestRandom_LifeOfAClient(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	servers := map[string]Server{"x": program(t, "sdk"), "y": program(t, "sdk")}
	c := ready(t, Config{Servers: servers, OnChange: func(Change) {}, Log: func(string, []byte) {}})
	echo := tool.Call{Args: json.RawMessage(`{"text":"hello"}`)}
	tools := map[string]tool.Tool{}
	for _, one := range c.Tools() {
		tools[one.Spec().Name] = one
	}
	run := func(ctx context.Context, name string) tool.Result {
		call := echo
		res, err := tools[name].Run(ctx, &call)
		if err != nil {
			t.Error(err)
		}
		return res
	}
	ops := []func(context.Context, string){
		func(ctx context.Context, s string) {
			if res := run(ctx, "mcp__"+s+"__echo"); res.Error == nil && tool.String(res.Output) != "hello" {
				t.Errorf("echo gave %q", tool.String(res.Output))
			}
		},
		func(ctx context.Context, s string) { run(ctx, "mcp__"+s+"__die") },
		func(ctx context.Context, s string) { c.Reconnect(ctx, s) },
		func(ctx context.Context, s string) { c.Enable(ctx, s, false) },
		func(ctx context.Context, s string) { c.Enable(ctx, s, true) },
		func(context.Context, string) { c.SetServers(servers) },
		func(_ context.Context, s string) {
			c.SetServers(map[string]Server{s: servers[s]})
			c.SetServers(servers)
		},
		func(context.Context, string) { c.Status(); c.Tools() },
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range 12 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(500))*time.Millisecond)
				ops[r.IntN(len(ops))](ctx, []string{"x", "y"}[r.IntN(2)])
				cancel()
			}
		})
	}
	all.Wait()
	c.SetServers(nil)
	c.SetServers(servers)
	c.Wait(t.Context(), time.Minute)
	for _, s := range []string{"x", "y"} {
		res := invoke(t, c, "mcp__"+s+"__echo", `{"text":"hello"}`)
		if tool.String(res.Output) != "hello" {
			t.Errorf("in the end, server %s gives %q and the error %v", s, tool.String(res.Output), res.Error)
		}
	}
}
