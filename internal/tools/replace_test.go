package tools_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// replacing makes a tool that replaces files and may write those named.
func replacing(dir string, changes []tool.Change, may ...string) tool.Tool {
	return tool.New(tool.Spec{Name: "replacing"}, func(context.Context, *tool.Call, struct{}) []policy.Access {
		all := []policy.Access{{Kind: policy.Read, Target: dir}}
		for _, name := range may {
			all = append(all, policy.Access{Kind: policy.Write, Target: filepath.Join(dir, name)})
		}
		return all
	}, func(ctx context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
		_, err := tools.ReplaceFiles(ctx, c, tools.Config{}, changes)
		return tool.Result{}, err
	})
}

func TestReplaceFiles_ReplacesAllOrNone(t *testing.T) {
	r := newRig(t, tools.Config{})
	write := func(name, text string) tool.Change {
		path := filepath.Join(r.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return tool.Change{Path: path, Before: []byte(text), After: []byte("new " + name)}
	}
	content := func(name string) string {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	changes := []tool.Change{write("a", "old a"), write("b", "old b")}
	run := func(may ...string) tool.Outcome {
		reg := &tool.Registry{}
		if err := reg.Register(replacing(r.dir, changes, may...)); err != nil {
			t.Fatal(err)
		}
		return (&tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}).Run(t.Context(), tool.Call{Name: "replacing", Env: r.env})
	}
	if out := run("a"); out.OK() || !strings.Contains(out.Model, "Nothing was changed") || content("a") != "old a" {
		t.Errorf("b may not be written: got %s, a is %q; want an error and no change", out.Model, content("a"))
	}
	write("b", "changed by others")
	if out := run("a", "b"); out.OK() || out.Result.Error.Code != tool.EditConflict || content("a") != "old a" || content("b") != "changed by others" {
		t.Errorf("b was changed by others: got %s, the files are %q and %q; want an error and no change", out.Model, content("a"), content("b"))
	}
	write("b", "old b")
	if out := run("a", "b"); !out.OK() || content("a") != "new a" || content("b") != "new b" {
		t.Errorf("got %s, the files are %q and %q; want both replaced", out.Model, content("a"), content("b"))
	}
}
