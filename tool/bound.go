package tool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
)

// bound is the environment for a call whose accesses were judged. It works on real paths that the accesses cover, and
// follows no symbolic link to get there, so a link that is swapped in after the decision, or while an approval was
// pending, cannot redirect the call.
type bound struct {
	env.Environment // without symbolic links
	links           env.Environment
	paths           env.Paths
	judged          []policy.Access // with absolute paths
	starts          env.Environment // for commands
	box             policy.Box      // for commands
	repository      bool            // they may read the repository around the workspace
	reveal          []string        // further files that they may read
	hides           func(path string) bool
}

// bind returns the environment for a call with these accesses, whose commands run in the decision's box. If the
// accesses are undeclared, nothing is refused: the call was permitted without knowing them. Searches skip paths that
// hides reports, if it is not nil.
func bind(e env.Environment, accesses []policy.Access, d policy.Decision, hides func(path string) bool) env.Environment {
	if e == nil || accesses == nil {
		return e
	}
	if policy.LeavesSandbox(accesses) { // approved
		e, _ = env.Outside(e)
	}
	info := e.Info()
	b := &bound{Environment: env.NoLinks(e), links: e, paths: info.Paths(), judged: slices.Clone(accesses)}
	b.starts, b.hides = b.Environment, hides
	b.repository, b.reveal = d.Repository, d.Reveal
	if d.Verdict == policy.Allow { // an approval permits the workspace
		b.box = d.Box
	}
	if b.box == policy.BoxOutside {
		outside, _ := env.Outside(e)
		b.starts = env.NoLinks(outside)
	}
	for i, a := range b.judged {
		switch a.Kind {
		case policy.Read, policy.Write, policy.Delete:
			b.judged[i].Target = b.paths.Abs(info.Dir, a.Target)
		case policy.Exec:
			b.judged[i].Target = a.Dir
		}
	}
	return b
}

// confine marks the accesses that an environment's sandbox does not permit. Without a sandbox there are none.
func confine(e env.Environment, accesses []policy.Access) []policy.Access {
	if e == nil {
		return accesses
	}
	box, _ := e.(env.Confined)
	_, confined := env.Outside(e)
	accesses = slices.Clone(accesses)
	for i := range accesses {
		a := &accesses[i]
		switch a.Kind {
		case policy.Write, policy.Delete:
			a.Outside = confined && !a.Host && !box.Allows(e.Info().Paths().Abs(e.Info().Dir, a.Target))
		default:
			a.Outside = confined && a.Outside
		}
	}
	return accesses
}

// leaving turns permission for a call into a question, because the call would leave the sandbox. No policy permits
// that on its own.
func leaving(d policy.Decision, accesses []policy.Access, m policy.Mode) policy.Decision {
	if d.Verdict == policy.Deny {
		return d
	}
	i := slices.IndexFunc(accesses, func(a policy.Access) bool { return a.Outside })
	what := "writes " + accesses[i].Target
	switch accesses[i].Kind {
	case policy.Exec:
		what = "runs: " + accesses[i].Target
	case policy.Delete:
		what = "deletes " + accesses[i].Target
	}
	d = policy.Decision{Verdict: policy.Ask, Code: "outside_sandbox", Rule: "sandbox", Reason: what + ", outside the sandbox"}
	if m == policy.ModeDontAsk {
		d.Verdict, d.Reason = policy.Deny, d.Reason+" (mode dontAsk denies what would need approval)"
	}
	return d
}

// Hidden implements search.Hider.
func (b *bound) Hidden() func(path string) bool { return b.hides }

// Unwrap and Below let a search bypass the wrapper; see [env.Wrapper].
func (b *bound) Unwrap() env.Environment { return b.Environment }

func (b *bound) Below(ctx context.Context, _, path string) (below string, done func(error), err error) {
	err = b.file(ctx, path, b.reads, func(real string) error {
		below = real
		_, err := b.Environment.Stat(ctx, real)
		if errors.Is(err, env.ErrLink) {
			return err
		}
		return nil
	})
	return below, func(error) {}, err
}

// Info returns the environment with the limits that its commands have.
func (b *bound) Info() env.Info {
	info := b.Environment.Info()
	if l := info.Limits; b.box == policy.BoxRead && l != nil && l.Sandbox != "" {
		own := *l
		own.Sandbox = ReadSandbox
		own.Writable = nil
		own.Network = false
		own.Hosts = nil
		info.Limits = &own
	}
	return info
}

// ReadSandbox is the sandbox name in Limits for a call whose commands can only read.
const ReadSandbox = "reads only"

// any reports whether an access of the given kinds matches.
func (b *bound) any(match func(target string) bool, kinds ...policy.Kind) bool {
	return slices.ContainsFunc(b.judged, func(a policy.Access) bool { return slices.Contains(kinds, a.Kind) && match(a.Target) })
}

// is, below and above compare a path with an access target.
func (b *bound) is(path string) func(string) bool {
	return func(target string) bool { return b.paths.Within(target, path) && b.paths.Within(path, target) }
}

func (b *bound) below(path string) func(string) bool {
	return func(target string) bool { return b.paths.Within(target, path) }
}

func (b *bound) above(path string) func(string) bool {
	return func(target string) bool { return b.paths.Within(path, target) }
}

// reads reports whether a path may be read. A call that changes a file may read it too.
func (b *bound) reads(path string) bool {
	return b.any(b.below(path), policy.Read) || b.any(b.is(path), policy.Write, policy.Delete)
}

// looks reports whether a path's properties may be read, which includes directories above an access.
func (b *bound) looks(path string) bool {
	return b.reads(path) || b.any(b.above(path), policy.Read, policy.Write, policy.Delete, policy.Exec)
}

func (b *bound) writes(path string) bool { return b.any(b.is(path), policy.Write) }

// moves reports whether a path may be renamed, replaced or removed. That includes temporary files beside a file that is
// changed.
func (b *bound) moves(path string) bool {
	return b.any(b.is(path), policy.Write, policy.Delete) ||
		strings.HasPrefix(b.paths.Base(path), ".reins-") &&
			b.any(func(target string) bool { return b.is(b.paths.Dir(path))(b.paths.Dir(target)) }, policy.Write, policy.Delete)
}

// makes reports whether a directory may be created or, if it is empty, removed: it must be above a new file.
func (b *bound) makes(path string) bool { return b.any(b.above(path), policy.Write) }

func (b *bound) removes(path string) bool { return b.moves(path) || b.makes(path) }

// runs reports whether a command may start in a directory. An access without a directory permits all.
func (b *bound) runs(path string) bool {
	return b.any(func(dir string) bool { return dir == "" || b.is(path)(dir) }, policy.Exec)
}

// deletes reports whether a path is deleted. If it is a link, it may lead anywhere.
func (b *bound) deletes(ctx context.Context, path string) bool {
	name, err := b.linkPath(ctx, b.paths.Abs(b.Info().Dir, path))
	return err == nil && b.any(b.is(name), policy.Delete)
}

// leads reports whether a path leads to a path whose properties may be read. Then its links may be read too.
func (b *bound) leads(ctx context.Context, path string) bool {
	real, err := b.links.RealPath(ctx, path)
	return err == nil && b.looks(real)
}

// file runs an operation on a file's real path.
func (b *bound) file(ctx context.Context, path string, may func(string) bool, op func(real string) error) error {
	return b.at(path, may, op, func(full string) (string, error) { return b.links.RealPath(ctx, full) })
}

// link is like file, but does not follow a link in the last element.
func (b *bound) link(ctx context.Context, path string, may func(string) bool, op func(real string) error) error {
	return b.at(path, may, op, func(full string) (string, error) { return b.linkPath(ctx, full) })
}

// linkPath resolves a path except for its last element.
func (b *bound) linkPath(ctx context.Context, full string) (string, error) {
	dir, err := b.links.RealPath(ctx, b.paths.Dir(full))
	return b.paths.Join(dir, b.paths.Base(full)), err
}

// at runs an operation on a path if may permits it, and otherwise on the path that it resolves to.
func (b *bound) at(path string, may func(string) bool, op func(string) error, resolve func(string) (string, error)) error {
	if path == "" {
		return op(path)
	}
	full := b.paths.Abs(b.Info().Dir, path)
	if may(full) {
		if err := op(full); !errors.Is(err, env.ErrLink) {
			return err
		}
	}
	real, err := resolve(full)
	if err != nil {
		return err
	}
	if may(real) {
		if err := op(real); !errors.Is(err, env.ErrLink) {
			return err
		}
	}
	return Errorf(
		PermissionDenied,
		"Permission denied: %s leads to a file that was not checked for this call. If it was changed meanwhile, try again.",
		path,
	)
}

// named sets the name from the requested path.
func (b *bound) named(fi env.FileInfo, path string) env.FileInfo {
	fi.Name = b.paths.Base(b.paths.Abs(b.Info().Dir, path))
	return fi
}

func (b *bound) Stat(ctx context.Context, path string) (fi env.FileInfo, err error) {
	err = b.file(ctx, path, func(real string) bool { return b.looks(real) || b.deletes(ctx, path) }, func(real string) (err error) {
		fi, err = b.Environment.Stat(ctx, real)
		return err
	})
	return b.named(fi, path), err
}

func (b *bound) Lstat(ctx context.Context, path string) (fi env.FileInfo, err error) {
	err = b.link(ctx, path, func(name string) bool { return b.looks(name) || b.leads(ctx, path) }, func(real string) (err error) {
		fi, err = b.Environment.Lstat(ctx, real)
		return err
	})
	return b.named(fi, path), err
}

func (b *bound) RealPath(ctx context.Context, path string) (string, error) {
	return b.links.RealPath(ctx, path)
}

func (b *bound) Open(ctx context.Context, path string) (f io.ReadCloser, err error) {
	err = b.file(ctx, path, b.reads, func(real string) (err error) {
		f, err = b.Environment.Open(ctx, real)
		return err
	})
	return f, err
}

func (b *bound) ReadDir(ctx context.Context, path string) (list []env.FileInfo, err error) {
	err = b.file(ctx, path, b.reads, func(real string) (err error) {
		list, err = b.Environment.ReadDir(ctx, real)
		return err
	})
	return list, err
}

func (b *bound) WriteFile(ctx context.Context, path string, data []byte, perm fs.FileMode) error {
	if b.paths.EndsInSeparator(path) {
		return &fs.PathError{Op: "write", Path: path, Err: env.ErrIsDir}
	}
	return b.file(ctx, path, b.writes, func(real string) error { return b.Environment.WriteFile(ctx, real, data, perm) })
}

func (b *bound) Remove(ctx context.Context, path string) error {
	return b.link(ctx, path, b.removes, func(real string) error { return b.Environment.Remove(ctx, real) })
}

func (b *bound) Rename(ctx context.Context, from, to string) error {
	return b.link(ctx, from, b.moves, func(from string) error {
		return b.link(ctx, to, b.moves, func(to string) error { return b.Environment.Rename(ctx, from, to) })
	})
}

func (b *bound) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	return b.link(ctx, path, b.makes, func(real string) error { return b.Environment.Mkdir(ctx, real, perm) })
}

func (b *bound) Start(ctx context.Context, c env.Command) (p env.Process, err error) {
	err = b.file(ctx, cmp.Or(c.Dir, b.Info().Dir), b.runs, func(real string) (err error) {
		c.Dir, c.ReadOnly = real, b.box == policy.BoxRead
		c.Repository, c.Reveal = b.repository, b.reveal
		p, err = b.starts.Start(ctx, c)
		return err
	})
	return p, err
}
