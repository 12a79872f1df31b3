package shell

import (
	"slices"
	"strings"
)

// rm deletes its operands.
func (in *invocation) rm() output {
	opts, rest, certain := program{}.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of " + in.name)
	}
	deep := false
	for _, o := range opts {
		deep = deep || o.in("rR", []string{"recursive"})
		if o.in("p", []string{"parents"}) && in.name == "rmdir" {
			in.unknown("rmdir -p deletes parent directories")
		}
	}
	n := len(in.effect.Accesses)
	for _, g := range rest {
		in.uses(Delete, g)
	}
	for i := range in.effect.Accesses[n:] {
		in.effect.Accesses[n+i].Deep, in.effect.Accesses[n+i].Whole = deep, deep
	}
	for _, g := range rest {
		in.everything(g)
	}
	return text
}

// everything records that the command deletes or overwrites all that a search has found, if that is all there is.
func (in *invocation) everything(g arg) {
	for _, v := range g {
		if !v.inside || v.from == nil || !v.from.all {
			continue
		}
		for _, x := range in.a.below(Delete, in.st, v) {
			in.effect.Accesses = append(in.effect.Accesses, Access{Kind: Delete, Path: x.Path, Glob: x.Glob, Whole: true})
		}
	}
}

// move handles cp, mv, ln and install: the last operand is written, and the others are read, or written too
// if they move away.
func (in *invocation) move() output {
	p := program{values: "StZmgo", valuesLong: []string{"suffix", "target-directory", "mode", "owner", "group"}}
	opts, rest, certain := p.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of " + in.name)
	}
	target := arg(nil)
	for _, o := range opts {
		switch {
		case o.in("t", []string{"target-directory"}):
			target = o.value
		case in.name == "install" && (o.letter == 'd' || o.long == "directory"):
			in.unknown("install -d changes directories")
		case o.in("", []string{"strip-program"}) || in.name == "install" && o.letter == 's':
			in.unknown("install runs a program")
		case o.in("S", []string{"suffix"}):
			in.unknown(in.name + " " + o.String() + " writes its backup to another file")
		case o.in("", []string{"parents"}):
			in.unknown(in.name + " --parents writes to the directories that the names begin with")
		case in.name == "cp" && o.in("ls", []string{"link", "symbolic-link"}):
			in.unknown("it makes a link")
		}
	}
	if target == nil && len(rest) > 0 && !(in.name == "ln" && len(rest) == 1) {
		target, rest = rest[len(rest)-1], rest[:len(rest)-1]
	}
	if target == nil {
		target = literal(".")
	}
	in.into(target, rest)
	for _, g := range rest {
		switch in.name {
		case "mv":
			n := len(in.effect.Accesses)
			in.uses(Write, g)
			for i := range in.effect.Accesses[n:] {
				in.effect.Accesses[n+i].Whole = true
			}
			in.searches(g)
		case "ln":
			in.uses(Read, g)
			in.unknown("it makes a link")
		default:
			in.searches(g)
		}
	}
	return text
}

// into records that a target is written, as a file and as a directory that gets the sources.
func (in *invocation) into(target arg, sources []arg) {
	in.uses(Write, target)
	dir, ok := target.text()
	if !ok {
		return
	}
	for _, g := range sources {
		name, ok := g.text()
		if !ok {
			if g[0].glob && len(g) == 1 {
				in.copies(g[0].text, dir)
			}
			continue // it is below the target, which is recorded
		}
		name = strings.TrimRight(name, "/")
		below := dir + "/" + name[strings.LastIndexByte(name, '/')+1:]
		in.uses(Write, literal(below))
		in.copies(name, dir)
		in.copies(name, below)
	}
}

// copies records a source and a target.
func (in *invocation) copies(from, to string) {
	sources, _ := in.a.file(Read, in.st, exact(from))
	targets, _ := in.a.file(Write, in.st, exact(to))
	for i := range min(len(sources), len(targets)) { // one for each directory
		in.effect.Copies = append(in.effect.Copies, [2]string{sources[i].Path, targets[i].Path})
	}
}

// writer handles programs that write all their operands.
func (in *invocation) writer() output {
	p := program{
		values:     map[string]string{"touch": "dt", "mkdir": "m", "truncate": "so"}[in.name],
		files:      "r",
		filesLong:  []string{"reference"},
		valuesLong: []string{"date", "mode", "size", "time"},
	}
	if in.name == "mkdir" || in.name == "tee" {
		p.files = ""
	}
	opts, rest, certain := p.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of " + in.name)
	}
	for _, o := range opts {
		if o.in(p.files, p.filesLong) && o.value != nil {
			in.uses(Read, o.value)
		}
	}
	for _, g := range rest {
		in.uses(Write, g)
	}
	return text
}

// mode handles chmod and chown, which may make a file executable or give it away.
func (in *invocation) mode() output {
	opts, rest, _ := program{filesLong: []string{"reference"}}.parse(in.args)
	given := slices.ContainsFunc(opts, func(o option) bool { // as an option, or by another file
		return in.name == "chmod" && o.in("rwxXst", nil) || o.in("", []string{"reference"})
	})
	deep := slices.ContainsFunc(opts, func(o option) bool { return o.in("R", []string{"recursive"}) })
	n := len(in.effect.Accesses)
	for i, g := range rest {
		if i > 0 || given {
			in.uses(Write, g)
		}
	}
	for i := range in.effect.Accesses[n:] {
		in.effect.Accesses[n+i].Deep = deep
	}
	in.unknown(in.name + " changes permissions")
	return text
}

func (in *invocation) dd() output {
	for _, g := range in.args {
		w, ok := g.text()
		name, value, _ := strings.Cut(w, "=")
		switch {
		case !ok:
			in.unknown("dd uses a file whose name is only known when it runs")
		case name == "if":
			in.uses(Read, literal(value))
		case name == "of":
			in.uses(Write, literal(value))
		}
	}
	return text
}
