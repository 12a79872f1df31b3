package feature

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/skill"
	"github.com/reins-agent/reins/tool"
)

// maxInjections is the maximum number of commands and files in the text of a skill.
const maxInjections = 20

// inject runs the commands and reads the files in the text of a skill, and inserts the outputs. Each is a tool call: the
// policy, the approver, the sandbox, hooks and the audit log apply, and commands need a tool that the skill allows. If a
// call is refused, nothing is sent to the model.
func (c Commands) inject(ctx context.Context, inv *skill.Invocation) (err error) {
	if c.Config == nil || len(inv.Injections) == 0 {
		return nil
	}
	if n := len(inv.Injections); n > maxInjections {
		return fmt.Errorf("/%s has %d commands and files to insert; at most %d are possible", inv.Skill.Name, n, maxInjections)
	}
	conf := *c.Config
	if conf.Session.Policy == nil {
		conf.Session.Policy = rules.Policy{}
	}
	active := &activeSkills{stacks: map[string][]activeSkill{}}
	conf.Session.Policy = active.policy(conf.Session.Policy, !conf.Prompt.Trusted)
	w, err := coding.OpenWorkbench(ctx, conf, func(t coding.ToolConfig) (*tool.Registry, error) {
		r := &tool.Registry{}
		return r, r.Register(coding.NewTools(t)...)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var outputs []string
	for i, in := range inv.Injections {
		tools := inv.Skill.AllowedTools
		if in.File != "" && tools != nil { // they are for the model, which does not choose this file
			tools = append(slices.Clip(tools), "Read")
		}
		active.stacks[""] = []activeSkill{{name: inv.Skill.Name, tools: tools}}
		call := tool.Call{ID: fmt.Sprintf("%s-%d", inv.Skill.Name, i+1), Name: "read_file", Env: w.Env}
		file := in.File
		if rest, ok := strings.CutPrefix(file, "~/"); ok && conf.Prompt.Home != "" {
			file = w.Env.Info().Paths().Join(conf.Prompt.Home, rest)
		}
		what, args := "reads "+in.File, map[string]any{"file_path": file}
		if in.Command != "" {
			call.Name, what, args = "shell", "runs "+in.Command, map[string]any{"command": in.Command}
		}
		if call.Args, err = json.Marshal(args); err != nil {
			return err
		}
		out := w.Pipeline.Run(ctx, call)
		text, failed := out.Model, out.Result.Error
		switch {
		case out.Pending || ctx.Err() != nil:
			return fmt.Errorf("/%s %s: interrupted", inv.Skill.Name, what)
		case failed == nil, failed.Code == tool.ShellExitError, failed.Code == tool.ShellTimeout:
		case in.File != "" && inv.Skill.Kind == skill.KindClaude && failed.Code != tool.PermissionDenied:
			text = "@" + in.File // not a file, but another kind of reference
		default:
			return llm.Errorf(llm.ErrConfiguration, "", "/%s %s, which was refused or failed: %s", inv.Skill.Name, what, failed.Message)
		}
		outputs = append(outputs, text)
	}
	inv.Fill(outputs)
	return nil
}
