//go:build unix

package native_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type args = map[string]any

// rig runs a vendor's tools on real files and processes, through the whole pipeline.
type rig struct {
	*testing.T
	dir  string
	pipe *tool.Pipeline
	env  *local.Env
}

func profile(family coding.Family, c coding.ToolConfig) *coding.Profile {
	model := map[coding.Family]string{coding.OpenAIFamily: "gpt-5.5", coding.AnthropicFamily: "claude-opus-5", coding.GeminiFamily: "gemini-3.8-flash"}[family]
	return coding.NewProfile(coding.ProfileConfig{Provider: string(family), Model: model, Toolset: coding.Native, Tools: c})
}

func newRig(t *testing.T, family coding.Family, c coding.ToolConfig) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	reg, err := profile(family, c).Registry()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t, dir, &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}, e}
}

func (r *rig) write(name, content string) {
	r.Helper()
	p := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) content(name string) string {
	r.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}

func (r *rig) call(name string, a args) tool.Call {
	r.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		r.Fatal(err)
	}
	return tool.Call{ID: "1", Name: name, Args: b, Env: r.env, Vision: true}
}

func (r *rig) run(name string, a args) tool.Outcome {
	r.Helper()
	return r.pipe.Run(context.Background(), r.call(name, a))
}

// varying lists the parts of an output that differ between runs, and their replacements.
var varying = []struct {
	form *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`Chunk ID: [0-9a-f]{6}\n`), "Chunk ID: HEX\n"},
	{regexp.MustCompile(`Wall time: \d+\.\d{4} seconds\n`), "Wall time: SECONDS\n"},
	{regexp.MustCompile(`(PID|PGID:) \d+`), "$1 N"},
}

// step is a call and the result that the model must see.
type step struct {
	name string
	tool string
	args args
	want string
	code tool.Code // "" succeeds
}

// golden runs steps in order.
func (r *rig) golden(steps []step) {
	r.Helper()
	for _, s := range steps {
		out := r.run(s.tool, s.args)
		got := strings.ReplaceAll(out.Model, r.dir, "DIR")
		for _, v := range varying {
			got = v.form.ReplaceAllString(got, v.with)
		}
		var code tool.Code
		if !out.OK() {
			code = out.Result.Error.Code
		}
		if got != s.want || code != s.code {
			r.Errorf("%s: %s gives (%s)\n%s\nwant (%s)\n%s", s.name, s.tool, code, short(got), s.code, short(s.want))
		}
	}
}

func short(s string) string {
	if len(s) > 2000 {
		return fmt.Sprintf("%s … (%d bytes) … %s", s[:1000], len(s), s[len(s)-1000:])
	}
	return s
}

// signature returns the parameters in a schema on one line: name:type, * if required.
func signature(t *testing.T, schema json.RawMessage) string {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	if s.AdditionalProperties == nil || s.AdditionalProperties.Not == nil {
		t.Errorf("%s allows any argument", schema)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		text := name
		if slices.Contains(s.Required, name) {
			text += "*"
		}
		kind := p.Type
		if kind == "" {
			kind = strings.Join(p.Types, "|")
		}
		text += ":" + kind
		if p.Enum != nil {
			text += fmt.Sprint(p.Enum)
		}
		sub := p
		if p.Items != nil {
			sub = p.Items
		}
		if len(sub.Properties) > 0 {
			b, _ := json.Marshal(sub)
			text += "(" + signature(t, b) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// contract checks a toolset's names, order, parameters and limits.
func contract(t *testing.T, family coding.Family, want [][2]string, limits map[string]int) {
	t.Helper()
	reg, err := profile(family, coding.ToolConfig{}).Registry()
	if err != nil {
		t.Fatal(err)
	}
	specs := reg.Specs()
	for i, w := range want {
		if i >= len(specs) || specs[i].Name != w[0] {
			t.Fatalf("the tools are %v; want %s at place %d", reg.Names(), w[0], i)
		}
		s := specs[i]
		if got := signature(t, s.Input); got != w[1] {
			t.Errorf("%s takes\n%s, want\n%s", s.Name, got, w[1])
		}
		if s.Description == "" || s.Version == "" || s.Output == nil || !s.Plan && len(s.Permissions) == 0 {
			t.Errorf("%s has an incomplete spec: %+v", s.Name, s)
		}
		if n, ok := limits[s.Name]; ok && s.Limit.Chars != n {
			t.Errorf("the model sees %d characters of %s, want %d", s.Limit.Chars, s.Name, n)
		}
	}
	if len(specs) != len(want) {
		t.Errorf("the tools are %v, want %d of them", reg.Names(), len(want))
	}
}

// declares checks a call's declared accesses, as "kind target".
func (r *rig) declares(name string, a args, want ...string) {
	r.Helper()
	out := r.pipe.Check(context.Background(), r.call(name, a))
	var got []string
	for _, acc := range out.Accesses {
		got = append(got, strings.ReplaceAll(acc.String(), r.dir, "DIR"))
	}
	if !slices.Equal(got, want) {
		r.Errorf("%s %v declares %q, want %q", name, a, got, want)
	}
}

func lines(n int, text string) string { return strings.Repeat(text+"\n", n) }
