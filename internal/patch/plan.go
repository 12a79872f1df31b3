package patch

import (
	"errors"
	"io/fs"

	"github.com/reins-agent/reins/env"
)

// A Source reads the files that a patch names. Paths are as the patch writes them.
type Source interface {
	// Read returns a file's bytes. If the file does not exist, the error wraps fs.ErrNotExist. Anything but a file,
	// such as a directory, is an error too.
	Read(path string) ([]byte, error)
	// Exists reports whether there is a file. Anything but a file is an error.
	Exists(path string) (bool, error)
}

// Options change how a patch is planned. The zero value is the default.
type Options struct {
	// Classic keeps the operations before the first that fails: the plan then holds them together with the error.
	// Otherwise a failed operation returns no plan.
	Classic bool
	// Paths are the path rules for the environment in which the patch is applied.
	Paths env.Paths
}

// A Plan lists a patch's operations, verified in full.
type Plan struct {
	Ops []FileOp // to be performed in order
	// Notes tell the patch's author about hunks that did not match exactly or matched several places.
	Notes []string
}

// A FileOp is one operation on a file. Add creates it, Update writes it, and Delete removes it. An
// operation that replaces an existing file is an Update.
type FileOp struct {
	Action  Action
	Path    string
	From    string // a moved file's old path, or ""
	Content []byte
}

// Plan returns the patch's operations on the files in src without changing anything. Operations see the effect of
// earlier operations on the same path, and repeated updates to a file become one operation. Paths are the same if their
// cleaned forms are equal; the caller must check for links and letter case. The error is an [*Error].
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

// A planner collects operations and tracks the resulting files.
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
	op      int // index of the operation that wrote it
}

func (pl *planner) key(name string) string { return pl.paths.Clean(name) }

func (pl *planner) add(op Op) error {
	var err error
	switch op.Action {
	case Add:
		err = pl.create(op)
	case Delete:
		err = pl.unlink(op)
	case Update:
		err = pl.update(op)
	}
	if failure, ok := err.(*Error); ok {
		failure.Path, failure.PatchLine = op.Path, max(failure.PatchLine, op.Line)
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
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Kind: FileNotFound, Err: err}
	case err != nil:
		return nil, &Error{Kind: Unreadable, Err: err}
	}
	return data, nil
}

// push appends an operation that writes a file.
func (pl *planner) push(op FileOp) {
	pl.files[pl.key(op.Path)] = fileState{exists: true, content: op.Content, op: len(pl.plan.Ops)}
	pl.plan.Ops = append(pl.plan.Ops, op)
}

func (pl *planner) create(op Op) error {
	exists, err := pl.exists(op.Path)
	if err != nil {
		return err
	}
	action := Add
	if exists {
		action = Update
	}
	pl.push(FileOp{Action: action, Path: op.Path, Content: []byte(op.Content)})
	return nil
}

func (pl *planner) unlink(op Op) error {
	exists, err := pl.exists(op.Path)
	if err != nil {
		return err
	}
	if !exists {
		return &Error{Kind: FileNotFound}
	}
	pl.plan.Ops = append(pl.plan.Ops, FileOp{Action: Delete, Path: op.Path})
	pl.files[pl.key(op.Path)] = fileState{}
	return nil
}

func (pl *planner) update(op Op) error {
	before, err := pl.read(op.Path)
	if err != nil {
		return err
	}
	content, notes, err := apply(op.Path, before, op.hunks)
	if err != nil {
		return err
	}
	key := pl.key(op.Path)
	moves := op.MoveTo != "" && pl.key(op.MoveTo) != key
	if moves {
		// A file there is replaced; anything else is an error.
		if _, err = pl.exists(op.MoveTo); err != nil {
			return err
		}
	}
	pl.plan.Notes = append(pl.plan.Notes, notes...)
	state, known := pl.files[key]
	switch {
	case moves:
		pl.push(FileOp{Action: Update, Path: op.MoveTo, From: op.Path, Content: content})
		pl.files[key] = fileState{}
	case known: // written by an earlier operation in the patch
		state.content, pl.plan.Ops[state.op].Content = content, content
		pl.files[key] = state
	default:
		pl.push(FileOp{Action: Update, Path: op.Path, Content: content})
	}
	return nil
}
