package event

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/tool"
)

// calls holds what tool calls wrote, as far as the log tells.
type calls struct {
	open  map[string]int // inputs with running calls, by agent and call ID
	loose tool.Untraced  // why any file may have been written since
}

// Wrote is how a session changed a workspace path since some state.
type Wrote struct {
	tool.Wrote      // from the first change to the last
	Shared     bool // others also changed the path in between
}

// Call applies a tool call's start or end, for any agent, or the approval that it waits for. Other records are ignored.
func (p *Past[P]) Call(r Record) {
	switch d := r.Data.(type) {
	case SessionResume: // its processes have ended
		p.calls.loose = ""
	case ToolCallStart:
		p.running(r.Agent+" "+d.ID, d.Question == "")
	case ApprovalRequested:
		p.running(r.Agent+" "+d.ID, false)
	case ApprovalResolved:
		p.running(r.Agent+" "+d.ID, d.Allowed && !d.Deferred)
	case ToolCallEnd:
		i, ok := p.calls.open[r.Agent+" "+d.ID]
		if !ok {
			i = len(p.inputs) - 1
		}
		p.running(r.Agent+" "+d.ID, false)
		p.wrote(i, d.Artifacts)
	}
}

// running records that a call runs, or no longer does.
func (p *Past[P]) running(call string, runs bool) {
	if _, ok := p.calls.open[call]; ok == runs {
		return
	}
	if !runs {
		delete(p.calls.open, call)
		return
	}
	if p.calls.open == nil {
		p.calls.open = make(map[string]int)
	}
	p.calls.open[call] = len(p.inputs) - 1
}

// wrote records what a call during an input wrote.
func (p *Past[P]) wrote(i int, a tool.Artifacts) {
	if a.Untraced == tool.UntracedBackground {
		p.calls.loose = a.Untraced
	}
	if i >= 0 {
		in := &p.inputs[i]
		in.wrote, in.untraced = append(in.wrote, a.Wrote...), cmp.Or(a.Untraced, in.untraced)
	}
}

// unknown returns why the session's writes since an input are not known, or "".
func (p *Past[P]) unknown(from int) tool.Untraced {
	for _, i := range p.calls.open {
		if i >= from {
			return tool.UntracedInterrupted
		}
	}
	for _, in := range p.inputs[from:] {
		if in.untraced != "" && !in.undone.Files {
			return in.untraced
		}
	}
	return ""
}

// own adds to u what inputs from the i-th on wrote, or only the i-th.
func (p *Past[P]) own(u *Undoing, i int, all bool) {
	if i < 0 || !p.inputs[i].traced {
		return
	}
	u.Traced = true
	u.Untraced = p.unknown(i)
	u.Since = p.inputs[i].seq
	last := i + 1
	if all {
		last = len(p.inputs)
	}
	var list []tool.Wrote
	for _, in := range p.inputs[i:last] {
		if !all || !in.undone.Files {
			list = append(list, in.wrote...)
		}
	}
	u.Wrote = Attribute(list)
}

// Attribute sums up changes, in call order. A path whose changes do not follow one another was also changed by others.
func Attribute(list []tool.Wrote) map[string]Wrote {
	sum := map[string]Wrote{}
	named := map[[2]string]bool{} // certain writes by calls
	for _, w := range list {
		if !w.Unsure {
			named[[2]string{w.Path, w.After}] = true
		}
	}
	for _, w := range list {
		if w.Unsure && named[[2]string{w.Path, w.After}] {
			continue // made by another call in this session
		}
		was, ok := sum[w.Path]
		if !ok {
			sum[w.Path] = Wrote{Wrote: w}
			continue
		}
		same := w.Before == was.Before && w.After == was.After // seen by two concurrent calls
		was.Shared = was.Shared || !same && w.Before != was.After
		was.After = w.After
		was.Command = was.Command || w.Command
		was.Unsure = was.Unsure || w.Unsure
		sum[w.Path] = was
	}
	return sum
}

// Disclaim removes what other sessions in the directory wrote since: a change that the session only seemed to have made
// is theirs, and a path that both wrote is shared. An unreadable log claims nothing.
func (u *Undoing) Disclaim(ctx context.Context, store Store, session, dir string, since time.Time, paths env.Paths) {
	unclear := false
	for _, w := range u.Wrote {
		unclear = unclear || w.Command
	}
	if !unclear {
		return
	}
	for m, err := range store.List(ctx) {
		if err != nil || m.ID == session || m.Updated.Before(since) || !paths.Within(m.Dir, dir) && !paths.Within(dir, m.Dir) {
			continue
		}
		for r, err := range store.Load(ctx, m.ID, 0) {
			d, ok := r.Data.(ToolCallEnd)
			if err != nil || !ok || r.Time.Before(since) {
				continue
			}
			for _, w := range d.Artifacts.Wrote {
				if path, ok := paths.Rel(dir, paths.Join(m.Dir, w.Path)); ok && !w.Unsure {
					u.disclaim(paths.ToSlash(path), w.After)
				}
			}
		}
	}
}

// disclaim records that another session left something at a path.
func (u *Undoing) disclaim(path, after string) {
	w, ok := u.Wrote[path]
	switch {
	case !ok || !w.Command || w.After != after:
	case w.Unsure:
		delete(u.Wrote, path)
	default:
		w.Shared = true
		u.Wrote[path] = w
	}
}

// at returns the input whose changes began with a checkpoint, or -1.
func (p *Past[P]) at(checkpoint string) int {
	return slices.IndexFunc(p.inputs, func(in pastInput[P]) bool { return in.checkpoint == checkpoint })
}
