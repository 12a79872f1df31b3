package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type pathIn struct {
	Path string `json:"path"`
}

// versioned runs a call that was made for a version, on a tool with version 2.3.1.
func versioned(t *testing.T, version, args string, adapt func(string, json.RawMessage) (json.RawMessage, error)) tool.Outcome {
	t.Helper()
	r := &tool.Registry{}
	err := r.Register(tool.New(tool.Spec{Name: "show", Version: "2.3.1", Adapt: adapt}, tool.Nothing[pathIn],
		func(_ context.Context, _ *tool.Call, in pathIn) (tool.Result, error) {
			return tool.Success("%s", in.Path), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	p := &tool.Pipeline{Registry: r, Policy: policy.AllowAll{}}
	return p.Run(t.Context(), tool.Call{ID: "1", Name: "show", Args: json.RawMessage(args), Version: version})
}

func TestVersion_CallsForCompatibleVersionsRun(t *testing.T) {
	for version, runs := range map[string]bool{
		"": true, "2.3.1": true, "2.3.0": true, "2.3.9": true, "2.0.0": true, "2": true, "2.3": true,
		"2.4.0": false, "3.0.0": false, "1.9.9": false, "1": false, "20.0.0": false, "x": false, "2.x": false, "-2.0": false, "v2.3.1": false,
	} {
		out := versioned(t, version, `{"path":"a"}`, nil)
		if runs != out.OK() {
			t.Errorf("%q: got %+v, want it to run: %v", version, out.Result.Error, runs)
		}
		if runs {
			continue
		}
		want := "The call was made for version " + version + " of show, but the tool now has version 2.3.1. Call it again as its current description says."
		if e := out.Result.Error; e.Code != tool.VersionMismatch || out.Model != want || out.Decision.Verdict != policy.Deny || out.Decision.Rule != "version" {
			t.Errorf("%q: got %+v, %+v, want %q", version, e, out.Decision, want)
		}
	}
}

func TestVersion_OldCallsAreAdapted(t *testing.T) {
	adapt := func(version string, args json.RawMessage) (json.RawMessage, error) {
		if version != "1.0.0" {
			return nil, errors.New("it is too old")
		}
		return json.RawMessage(strings.Replace(string(args), "file", "path", 1)), nil
	}
	if out := versioned(t, "1.0.0", `{"file":"a"}`, adapt); !out.OK() || out.Model != "a" || string(out.Call.Args) != `{"path":"a"}` {
		t.Errorf("got %+v with %s, want the adapted call", out.Result.Error, out.Call.Args)
	}
	if out := versioned(t, "1.0.0", `{"other":"a"}`, adapt); out.OK() || out.Result.Error.Code != tool.ValidationError {
		t.Errorf("got %+v, want adapted arguments to be validated", out.Result.Error)
	}
	if out := versioned(t, "0.1.0", `{"file":"a"}`, adapt); out.OK() || !strings.Contains(out.Model, "2.3.1: it is too old.") {
		t.Errorf("got %q, want the reason of the adapter", out.Model)
	}
	panics := func(string, json.RawMessage) (json.RawMessage, error) { panic("no") }
	if out := versioned(t, "1.0.0", `{"file":"a"}`, panics); out.OK() || out.Result.Error.Code != tool.VersionMismatch {
		t.Errorf("got %+v, want a refusal", out.Result.Error)
	}
}
