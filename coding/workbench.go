package coding

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/callhook"
	"github.com/reins-agent/reins/internal/gitrisk"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// Workbench runs tool calls like a session, but without a model or records.
type Workbench struct {
	Pipeline *tool.Pipeline
	Env      env.Environment

	hooks *benchHooks
	made  []io.Closer
}

// OpenWorkbench sets up what [Open] sets up for tool calls: the environment with its sandbox, redaction, hooks and the
// audit log. It uses only the corresponding fields of Config. newTools creates the tools. In the audit log, the calls
// have a random session ID.
func OpenWorkbench(ctx context.Context, c Config, newTools func(ToolConfig) (*tool.Registry, error)) (*Workbench, error) {
	b := &builder{config: c, session: c.Session, state: home.Dir(c.State)}
	b.config.ToolConfig.State, b.session.Policy = tools.NewState(), orDefault(c.Session.Policy)
	w, err := b.workbench(ctx, newTools)
	if err != nil {
		return nil, errors.Join(err, (&Workbench{made: b.made}).Close())
	}
	return w, nil
}

func (b *builder) workbench(ctx context.Context, newTools func(ToolConfig) (*tool.Registry, error)) (*Workbench, error) {
	s := &b.session
	for _, step := range []func(context.Context) error{b.createEnv, b.conceal, b.audit} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	reg, err := newTools(b.config.ToolConfig)
	if err != nil {
		return nil, err
	}
	p := &tool.Pipeline{
		Registry:   reg,
		Policy:     s.Policy,
		Mode:       s.Mode,
		Workspace:  s.Workspace,
		Approve:    s.Approve,
		Secrets:    s.Secrets,
		Limits:     s.ToolLimits,
		Middleware: append(slices.Clip(s.Middleware), ExplainLimits),
	}
	// A symbolic link that is replaced later must not change the workspace.
	if p.Workspace.Dir, err = s.Env.RealPath(ctx, s.Env.Info().Dir); err != nil {
		return nil, err
	}
	if p.Workspace.Git == nil && !b.config.Prompt.Trusted {
		p.Workspace.Git = func(ctx context.Context, dir string) string { return gitrisk.Runs(ctx, s.Env, dir) }
	}
	h := newBenchHooks(rand.Text(), s.Hooks, s.Env, p)
	if h.Set != nil {
		p.Hooks = []tool.Hook{h}
	}
	p.Audit = func(o tool.Outcome) {
		if o.Pending {
			return
		}
		if s.Audit != nil {
			s.Audit(h.session, "", o)
		}
		h.Ended(context.WithoutCancel(ctx), o)
		h.heard(o.Call.ID)
	}
	return &Workbench{Pipeline: p, Env: s.Env, hooks: h, made: b.made}, nil
}

// Guard runs the hooks that decide before the user is asked for approval. It returns an answer if they refuse the call.
func (w *Workbench) Guard(ctx context.Context, r tool.Request) *tool.Approval {
	return w.hooks.Requested(ctx, r, true)
}

// Close closes everything that OpenWorkbench created.
func (w *Workbench) Close() (err error) {
	for _, made := range w.made {
		err = errors.Join(err, made.Close())
	}
	return err
}

// benchHooks runs the hooks of a workbench. Their messages to the model become notes in the results.
type benchHooks struct {
	callhook.Calls
	session string

	mu   sync.Mutex
	said map[string][]string // messages of hooks, by call ID
	made []hook.Restriction
}

func newBenchHooks(session string, set *hook.Set, e env.Environment, p *tool.Pipeline) *benchHooks {
	if set != nil {
		set = set.Translating(HookCalls(e.Info().Paths()))
	}
	h := &benchHooks{session: session, said: make(map[string][]string)}
	h.Calls = callhook.Calls{Set: set, Tools: p.Registry, Fire: func(ctx context.Context, in hook.Input) hook.Output {
		in.Session, in.Dir, in.Mode = session, p.Workspace.Dir, string(p.Mode)
		out := set.Run(ctx, e, in).Output
		text := out.Context
		if out.Decision == hook.Deny && (in.Event == hook.PostToolUse || in.Event == hook.PostToolUseFailure) {
			text = strings.TrimSpace(out.Reason + "\n" + text)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.made = append(h.made, out.Restrict...)
		if text != "" {
			h.said[in.Call] = append(h.said[in.Call], text)
		}
		return out
	}, Restrictions: func() []hook.Restriction {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Clip(h.made)
	}}
	return h
}

// AfterTool runs the hooks after a call, and adds all messages of hooks about the call to its result.
func (h *benchHooks) AfterTool(ctx context.Context, c tool.Call, res *tool.Result) error {
	err := h.Calls.AfterTool(ctx, c, res)
	res.Notes = append(res.Notes, h.heard(c.ID)...)
	return err
}

// heard returns and removes the messages of hooks about a call.
func (h *benchHooks) heard(call string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := h.said[call]
	delete(h.said, call)
	return said
}
