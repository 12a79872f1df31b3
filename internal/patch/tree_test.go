package patch

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"strings"
)

// A tree is an in-memory file system, by path.
type tree map[string]string

func (t tree) Read(name string) ([]byte, error) {
	if ok, err := t.Exists(name); err != nil {
		return nil, err
	} else if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(t[path.Clean(name)]), nil
}

func (t tree) Exists(name string) (bool, error) {
	name = path.Clean(name)
	for other := range t {
		if strings.HasPrefix(other, name+"/") {
			return false, errors.New("is a directory")
		}
	}
	_, ok := t[name]
	return ok, nil
}

// carryOut returns the tree after the operations.
func (t tree) carryOut(ops []FileOp) tree {
	out := maps.Clone(t)
	for _, op := range ops {
		delete(out, path.Clean(op.From))
		if op.Action == Delete {
			delete(out, path.Clean(op.Path))
		} else {
			out[path.Clean(op.Path)] = string(op.Content)
		}
	}
	return out
}

// run parses, plans and carries out a patch.
func run(files tree, text string, opt Options) (tree, error) {
	parsed, err := Parse(text)
	if err != nil {
		return files, err
	}
	plan, err := parsed.Plan(files, opt)
	return files.carryOut(plan.Ops), err
}
