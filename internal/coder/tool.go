package coder

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// input is the arguments of the tool.
type input struct {
	Prompt      string   `json:"PROMPT"`
	Dir         string   `json:"cd"`
	Sandbox     Sandbox  `json:"sandbox,omitempty"`
	Session     string   `json:"SESSION_ID,omitempty"`
	AllMessages bool     `json:"return_all_messages,omitempty"`
	Metrics     bool     `json:"return_metrics,omitempty"`
	Timeout     int      `json:"timeout,omitempty"`
	MaxDuration *int     `json:"max_duration,omitempty"`
	MaxRetries  int      `json:"max_retries,omitempty"`
	LogMetrics  bool     `json:"log_metrics,omitempty"`
	Contract    string   `json:"contract,omitempty"`
	Guardrails  string   `json:"guardrails,omitempty"`
	Allowed     []string `json:"allowed_files,omitempty"`
}

const schema = `{"type":"object","additionalProperties":false,"required":["PROMPT","cd"],"properties":{
"PROMPT":{"type":"string","minLength":1,"description":"the task, with everything that is needed to do it"},
"cd":{"type":"string","minLength":1,"description":"working directory"},
"sandbox":{"type":"string","enum":["read-only","workspace-write","danger-full-access"],"default":"workspace-write"},
"SESSION_ID":{"type":"string","description":"session to continue"},
"return_all_messages":{"type":"boolean"},
"return_metrics":{"type":"boolean"},
"timeout":{"type":"integer","minimum":1,"maximum":86400,"default":300,"description":"seconds without output"},
"max_duration":{"type":"integer","minimum":0,"maximum":604800,"default":1800,"description":"seconds; 0 means no limit"},
"max_retries":{"type":"integer","minimum":0,"maximum":10,"default":0,"description":"only if nothing was changed"},
"log_metrics":{"type":"boolean","description":"to stderr"},
"contract":{"type":"string","description":"constraints above the task"},
"guardrails":{"type":"string","description":"constraints above the task"},
"allowed_files":{"type":"array","items":{"type":"string"},"description":"patterns of files that may change, such as src/**"}}}`

// heartbeat is how often a run reports that it is still working, so that clients do not time out.
const heartbeat = 10 * time.Second

// Tool returns the coder tool. The policy decides whether a call may change the directory and, with Config.Command,
// whether it may run the command. Everything else is decided by the configuration of the session.
func Tool(c Config) tool.Tool {
	return tool.New(tool.Spec{
		Name:    toolName,
		Version: "1.0.0",
		Description: "Let a coding agent work on a task in a directory. Returns JSON: check success, keep SESSION_ID for the " +
			"next call, and read result or error_kind.",
		Input:       json.RawMessage(schema),
		SideEffects: "changes files and runs commands in the directory",
		Permissions: []tool.Permission{tool.FSRead, tool.FSWrite, tool.FSDelete, tool.ProcExec, tool.NetConnect},
		Destructive: true,
		OpenWorld:   true,
		Limit:       tool.Limit{Chars: -1, Lines: -1},
	}, c.access, c.call)
}

// access declares the directory first, and then what the call can change.
func (c Config) access(ctx context.Context, call *tool.Call, in input) []policy.Access {
	dir, err := call.Env.RealPath(ctx, in.Dir)
	if err != nil {
		return nil
	}
	list := []policy.Access{{Kind: policy.Read, Target: dir}}
	if in.Sandbox != ReadOnly {
		list = append(list, policy.Access{Kind: policy.Write, Target: call.Env.Info().Paths().Join(dir, "*")})
	}
	if in.Sandbox == FullAccess {
		list = append(list, policy.Access{Kind: policy.Write, Target: "/"})
	}
	if c.Command != nil {
		list = append(list, policy.Access{Kind: policy.Exec, Target: commandLine(c.Command.Args), Dir: dir})
	}
	return list
}

// commandLine returns a command as a line for the shell, which is how policies judge it.
func commandLine(args []string) string {
	var words []string
	for _, a := range args {
		word, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			word = "''" // a program without a name needs approval
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (c Config) call(ctx context.Context, call *tool.Call, in input) (tool.Result, error) {
	q := Request{
		Prompt:       in.Prompt,
		Dir:          in.Dir,
		Sandbox:      in.Sandbox,
		Session:      in.Session,
		Contract:     in.Contract,
		Guardrails:   in.Guardrails,
		AllowedFiles: in.Allowed,
		IdleTimeout:  time.Duration(in.Timeout) * time.Second,
		MaxRetries:   in.MaxRetries,
		AllMessages:  in.AllMessages,
		Metrics:      in.Metrics,
		LogMetrics:   in.LogMetrics,
	}
	if len(call.Accesses) > 0 {
		q.Dir = call.Accesses[0].Target // the path that the policy has checked
	}
	if in.MaxDuration != nil {
		q.MaxDuration = Seconds(*in.MaxDuration)
	}
	if show := call.Output; show != nil {
		lines := make(chan string)
		c.Progress = func(line string) { lines <- line }
		done := make(chan struct{})
		defer func() {
			close(lines)
			<-done
		}()
		go func() {
			defer close(done)
			beat(lines, show)
		}()
	}
	res := Run(ctx, c, q)
	text, err := json.Marshal(res)
	if err != nil {
		return tool.Result{}, err
	}
	out := tool.Result{Output: tool.Text(text)}
	if !res.Success {
		out.Error = tool.Errorf(tool.InternalError, "%s", res.Error)
		out.Error.Shown = true
	}
	return out, nil
}

// Seconds returns the maximum duration of a request in seconds; 0 means no limit.
func Seconds(n int) time.Duration {
	if n == 0 {
		return -1
	}
	return time.Duration(n) * time.Second
}

// beat shows lines as they arrive and, at each heartbeat, how long the run has been working.
func beat(lines <-chan string, show func([]byte)) {
	t := time.NewTicker(heartbeat)
	defer t.Stop()
	for start := time.Now(); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			show([]byte(line + "\n"))
		case <-t.C:
			show([]byte("working for " + time.Since(start).Round(time.Second).String() + "\n"))
		}
	}
}
