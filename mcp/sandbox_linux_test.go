package mcp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/tool"
)

func TestSandbox_ServersRunInIt(t *testing.T) {
	outside := t.TempDir()
	e, err := local.New(local.Config{Dir: t.TempDir(), Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	in, out := program(t, "sdk"), program(t, "sdk")
	out.Unconfined = true
	c := Open(t.Context(), Config{Env: e, Servers: map[string]Server{"in": in, "out": out}})
	defer c.Close()
	c.Wait(t.Context(), time.Minute)
	for server, allowed := range map[string]bool{"in": false, "out": true} {
		file := filepath.Join(outside, server)
		res := invoke(t, c, "mcp__"+server+"__write", `{"text":"`+file+`"}`)
		_, err := os.Stat(file)
		if (res.Error == nil) != allowed || (err == nil) != allowed {
			t.Errorf("server %s wrote a file outside the workspace: %q, %v, %v; want %v", server, tool.String(res.Output), res.Error, err, allowed)
		}
		if res := invoke(t, c, "mcp__"+server+"__write", `{"text":"`+server+`"}`); res.Error != nil {
			t.Errorf("server %s cannot write in the workspace: %s", server, tool.String(res.Output))
		}
	}
}
