//go:build linux && (amd64 || arm64)

package effects

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// onlyReads is a judge that takes everything for a command that only reads.
func onlyReads(context.Context, policy.Query) policy.Decision {
	return policy.Decision{Verdict: policy.Allow, Rule: "everything only reads", Box: policy.BoxRead}
}

// boxAnswer is the serveBox process's answer for a line.
type boxAnswer struct {
	Output  string
	Refused bool
	Reason  string
}

// serveBox runs the command lines that it reads, JSON strings one per line, in a workbench whose judge is onlyReads.
func serveBox(in io.Reader, out io.Writer) error {
	ctx := context.Background()
	w, err := coding.OpenWorkbench(ctx, coding.Config{
		Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}, State: stateDir, Session: agent.Config{Policy: policy.Func(onlyReads)},
	}, func(c coding.ToolConfig) (*tool.Registry, error) {
		r := &tool.Registry{}
		return r, r.Register(coding.NewTools(c)...)
	})
	if err != nil {
		return err
	}
	defer w.Close()
	answers := json.NewEncoder(out)
	commands := json.NewDecoder(in)
	for n := 0; ; n++ {
		var command string
		if err := commands.Decode(&command); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		args, _ := json.Marshal(map[string]any{"command": command, "timeout_ms": lineTimeout.Milliseconds()})
		o := w.Pipeline.Run(ctx, tool.Call{ID: callID(n), Name: "shell", Args: args, Env: w.Env})
		if err := answers.Encode(answerOf(o)); err != nil {
			return err
		}
	}
}

func answerOf(o tool.Outcome) boxAnswer {
	a := boxAnswer{Output: o.Model, Refused: o.Decision.Verdict != policy.Allow, Reason: o.Decision.Reason}
	if o.Result.Output != nil {
		r := o.Result.Output.Open()
		defer r.Close()
		text, _ := io.ReadAll(r)
		a.Output += "\n" + string(text)
	}
	if o.Result.Error != nil {
		a.Output += "\n" + o.Result.Error.Message
	}
	return a
}

// boxMode is the configuration with the box.
const boxMode = "box"

// boxed runs lines in the box for commands that only read, whatever they do.
type boxed struct{ *observer }

func (b boxed) run(lines []line) (results []result, err error) {
	for len(lines) > 0 {
		done, err := b.session(lines)
		if err != nil {
			return results, err
		}
		results, lines = append(results, done...), lines[len(done):]
	}
	return results, nil
}

// session runs lines until one of them changes something.
func (b boxed) session(lines []line) (results []result, err error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	defer b.end()
	cmd := exec.Command(selfBin)
	cmd.Dir, cmd.SysProcAttr = b.work, b.credential()
	cmd.Env = append(b.vars(), stageVar+"=box", "ANTHROPIC_API_KEY="+canaries["apikey"])
	var side strings.Builder
	cmd.Stderr = &side
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	answers := json.NewDecoder(bufio.NewReader(out))
	for _, l := range lines {
		if err := json.NewEncoder(in).Encode(l.command); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", l.id, err, side.String())
		}
		var a boxAnswer
		if err := answers.Decode(&a); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", l.id, err, side.String())
		}
		r := result{line: l, refused: a.Refused, reason: a.Reason, output: a.Output}
		if r.effects, err = b.changes(); err != nil {
			return nil, err
		}
		changed := len(r.effects) > 0
		r.effects = append(r.effects, b.shown(r.output)...)
		if results = append(results, r); changed {
			break
		}
	}
	return results, nil
}
