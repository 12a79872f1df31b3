package patch_test

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/reins-agent/reins/coding/patch"
)

// A tree is a file system in memory, by path.
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
func (t tree) carryOut(ops []patch.FileOp) tree {
	out := maps.Clone(t)
	for _, op := range ops {
		switch op := op.(type) {
		case patch.Create:
			out[path.Clean(op.Path)] = string(op.Content)
		case patch.Rewrite:
			out[path.Clean(op.Path)] = string(op.Content)
		case patch.Rename:
			delete(out, path.Clean(op.From))
			out[path.Clean(op.To)] = string(op.Content)
		case patch.Unlink:
			delete(out, path.Clean(op.Path))
		}
	}
	return out
}

// run parses, plans and carries out a patch.
func run(files tree, text string, opt patch.Options) (tree, error) {
	parsed, err := patch.Parse(text)
	if err != nil {
		return files, err
	}
	plan, err := parsed.Plan(files, opt)
	return files.carryOut(plan.Ops), err
}
