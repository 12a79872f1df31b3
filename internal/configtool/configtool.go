// Package configtool has the tool with which the model reads and changes settings.
package configtool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// New returns the tool with which the model reads the configuration and asks to change the user's file. entries
// returns the effective settings without secrets, and file returns the user's file.
func New(entries func() ([]config.Entry, error), file func() (config.File, error)) tool.Tool {
	t := configTool{entries, file}
	made := tool.New(tool.Spec{
		Name:        "config",
		Version:     "1.0.0",
		SideEffects: "changes the user's configuration file",
		Idempotent:  true,

		Description: "Read a setting of this program and its origin, or all settings without a key. With a value, ask the user " +
			"to change the setting for later runs.",

		Input: json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","description":"such as model"},` +
			`"value":{"type":["string","number","boolean"]}},"additionalProperties":false}`),
	}, t.access, t.run)
	return tool.WithPreview(made, t.preview)
}

type configTool struct {
	entries func() ([]config.Entry, error)
	file    func() (config.File, error)
}

type configIn struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// text returns the value as text: a string without its quotes, or the JSON of another value.
func (in configIn) text() (text string) {
	if json.Unmarshal(in.Value, &text) == nil {
		return text
	}
	return string(in.Value)
}

// writes reports whether the call would change a setting. Other calls with a value are errors.
func (in configIn) writes() bool { return in.Value != nil && config.AgentCanSet(in.Key) }

func (configTool) access(_ context.Context, _ *tool.Call, in configIn) []policy.Access {
	if !in.writes() {
		return []policy.Access{}
	}
	return []policy.Access{{Kind: policy.Configure, Target: in.Key + " = " + string(in.Value)}}
}

func (t configTool) preview(_ context.Context, _ *tool.Call, in configIn) (tool.Preview, error) {
	if !in.writes() {
		return tool.Preview{}, tool.ErrNoPreview
	}
	f, err := t.file()
	if err != nil {
		return tool.Preview{}, err
	}
	before, after, err := f.Preview(in.Key, in.text())
	return tool.Preview{Changes: []tool.Change{{
		Path:    f.Path,
		Before:  before,
		After:   after,
		Existed: f.Exists(),
		Exists:  true,
	}}}, err
}

func (t configTool) run(_ context.Context, _ *tool.Call, in configIn) (tool.Result, error) {
	switch {
	case in.Value == nil:
		return t.read(in.Key)
	case in.Key == "":
		return tool.Failure(tool.ValidationError, "Nothing was changed: pass the key of the setting."), nil
	case !in.writes():
		return tool.Failure(
			tool.PermissionDenied,
			"%s cannot be changed with this tool. The user can change it with: reins config set", in.Key,
		), nil
	}
	f, err := t.file()
	if err == nil {
		err = f.Set(in.Key, in.text())
	}
	if err != nil {
		return tool.Failure(tool.ValidationError, "%s was not changed: %v.", in.Key, err), nil
	}
	res := tool.Success("%s was changed in %s. It takes effect in later runs.", in.Key, f.Path)
	res.Artifacts.FilesChanged = []string{f.Path}
	return res, nil
}

// read returns a setting, or all of them.
func (t configTool) read(key string) (tool.Result, error) {
	entries, err := t.entries()
	if err != nil {
		return tool.Failure(tool.IOError, "Cannot read the configuration: %v.", err), nil
	}
	var b strings.Builder
	for _, e := range entries {
		if key != "" && e.Key != key {
			continue
		}
		value, err := json.Marshal(e.Value)
		if err != nil {
			return tool.Result{}, err
		}
		var origins []string
		for _, o := range e.Origins {
			origins = append(origins, o.String())
		}
		fmt.Fprintf(&b, "%s = %s (%s)\n", e.Key, value, strings.Join(slices.Compact(origins), ", "))
	}
	switch {
	case b.Len() > 0:
		return tool.Result{Output: tool.Text(b.String())}, nil
	case key != "" && !slices.Contains(config.Keys(), key):
		return tool.Failure(tool.ValidationError, "Unknown setting %q: call config without a key for a list.", key), nil
	}
	return tool.Success("%s is not set.", key), nil
}
