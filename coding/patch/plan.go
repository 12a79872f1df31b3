package patch

import (
	"slices"

	"github.com/reins-agent/reins/env"
)

// A Source is where a plan reads the files that a patch names. Paths are
// passed as the patch writes them.
type Source interface {
	// Read returns a file's bytes, or an error that wraps fs.ErrNotExist when
	// there is none. Something that is not a file, such as a directory, is an
	// error too.
	Read(path string) ([]byte, error)
	// Exists reports whether there is a file. Something that is not a file is
	// an error.
	Exists(path string) (bool, error)
}

// Options change how a patch is planned. The zero value is the default.
type Options struct {
	// Classic keeps the operations before the first one that fails: the plan
	// then holds them beside the error. Otherwise a failure leaves no plan.
	Classic bool
	// Paths are the rules for the paths of the patch: those of the place where
	// it is applied.
	Paths env.Paths
}

// A Plan is what a patch does, worked out and verified in full.
type Plan struct {
	// Ops are to be carried out in order.
	Ops []FileOp
	// Notes are sentences that the author of the patch should read, about
	// hunks that matched loosely or fitted several places.
	Notes []string
}

// A FileOp is one operation on the file system: [Create], [Rewrite], [Rename]
// or [Unlink].
type FileOp interface{ fileOp() }

// Create writes a new file, or replaces an existing one as a whole.
type Create struct {
	Path     string
	Content  []byte
	Replaces bool // there is a file already
}

// Rewrite replaces the content of a file.
type Rewrite struct {
	Path    string
	Before  []byte
	Content []byte
	Hunks   []Placement
}

// Rename moves a file to another path with new content.
type Rename struct {
	From, To string
	Before   []byte
	Content  []byte
	Replaces bool // there is a file at the new path, which is lost
	Hunks    []Placement
}

// Unlink deletes a file.
type Unlink struct {
	Path string
}

func (Create) fileOp()  {}
func (Rewrite) fileOp() {}
func (Rename) fileOp()  {}
func (Unlink) fileOp()  {}

// Plan works out the operations of the patch on the files of src without
// changing anything. A later operation sees the outcome of earlier ones on the
// same path, and repeated updates of one file become a single operation. Paths
// are the same when their cleaned forms are; a caller whose file system knows
// further names for a file, by links or letter case, has to look for those.
// The error is an [*Error].
func (p Patch) Plan(src Source, opt Options) (Plan, error) {
	if len(p.Ops) == 0 {
		return Plan{}, &Error{Kind: Empty}
	}
	pl := planner{src: src, paths: opt.Paths, files: make(map[string]fileState)}
	for _, op := range p.Ops {
		if err := pl.add(op); err != nil {
			if opt.Classic {
				return pl.plan, err
			}
			return Plan{}, err
		}
	}
	return pl.plan, nil
}

// A planner collects the operations and knows the files as they will be.
type planner struct {
	src   Source
	paths env.Paths
	plan  Plan
	files map[string]fileState // by cleaned path
}

// A fileState is a file after the operations so far.
type fileState struct {
	exists  bool
	content []byte
	op      int // the operation that wrote it
}

// key identifies a path within the patch.
func (pl *planner) key(name string) string { return pl.paths.Clean(name) }

func (pl *planner) add(op Op) error {
	var err error
	switch op := op.(type) {
	case Add:
		err = pl.create(op)
	case Delete:
		err = pl.unlink(op)
	case Update:
		err = pl.update(op)
	}
	if failure, ok := err.(*Error); ok {
		failure.Path, failure.PatchLine = op.path(), max(failure.PatchLine, op.line())
	}
	return err
}

func (pl *planner) exists(name string) (bool, error) {
	if state, ok := pl.files[pl.key(name)]; ok {
		return state.exists, nil
	}
	ok, err := pl.src.Exists(name)
	if err != nil {
		return false, &Error{Kind: Unreadable, Err: err}
	}
	return ok, nil
}

func (pl *planner) read(name string) ([]byte, error) {
	if state, ok := pl.files[pl.key(name)]; ok {
		if !state.exists {
			return nil, &Error{Kind: FileNotFound}
		}
		return state.content, nil
	}
	data, err := pl.src.Read(name)
	if err != nil {
		return nil, readError(err)
	}
	return data, nil
}

// push appends an operation that leaves content at a path.
func (pl *planner) push(op FileOp, name string, content []byte) {
	pl.files[pl.key(name)] = fileState{exists: true, content: content, op: len(pl.plan.Ops)}
	pl.plan.Ops = append(pl.plan.Ops, op)
}

func (pl *planner) create(op Add) error {
	replaces, err := pl.exists(op.Path)
	if err != nil {
		return err
	}
	content := []byte(op.Content)
	pl.push(Create{Path: op.Path, Content: content, Replaces: replaces}, op.Path, content)
	return nil
}

func (pl *planner) unlink(op Delete) error {
	exists, err := pl.exists(op.Path)
	if err != nil {
		return err
	}
	if !exists {
		return &Error{Kind: FileNotFound}
	}
	pl.plan.Ops = append(pl.plan.Ops, Unlink{Path: op.Path})
	pl.files[pl.key(op.Path)] = fileState{}
	return nil
}

func (pl *planner) update(op Update) error {
	before, err := pl.read(op.Path)
	if err != nil {
		return err
	}
	content, hunks, err := apply(before, op.Hunks)
	if err != nil {
		return err
	}
	moves := op.MoveTo != "" && pl.key(op.MoveTo) != pl.key(op.Path)
	replaces := false
	if moves {
		if replaces, err = pl.exists(op.MoveTo); err != nil {
			return err
		}
	}
	for _, h := range hunks {
		pl.plan.Notes = append(pl.plan.Notes, h.notes(op.Path)...)
	}
	if moves {
		pl.push(Rename{From: op.Path, To: op.MoveTo, Before: before, Content: content, Replaces: replaces, Hunks: hunks}, op.MoveTo, content)
		pl.files[pl.key(op.Path)] = fileState{}
		return nil
	}
	if !pl.merge(op.Path, content, hunks) {
		pl.push(Rewrite{Path: op.Path, Before: before, Content: content, Hunks: hunks}, op.Path, content)
	}
	return nil
}

// merge puts a further update of a file into the operation that wrote it last.
func (pl *planner) merge(name string, content []byte, hunks []Placement) bool {
	state, ok := pl.files[pl.key(name)]
	if !ok {
		return false
	}
	switch last := pl.plan.Ops[state.op].(type) {
	case Create:
		last.Content = content
		pl.plan.Ops[state.op] = last
	case Rewrite:
		last.Content = content
		last.Hunks = slices.Concat(last.Hunks, hunks)
		pl.plan.Ops[state.op] = last
	case Rename:
		last.Content = content
		last.Hunks = slices.Concat(last.Hunks, hunks)
		pl.plan.Ops[state.op] = last
	}
	state.content = content
	pl.files[pl.key(name)] = state
	return true
}
