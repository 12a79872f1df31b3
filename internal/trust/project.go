package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/reins-agent/reins/internal/gitdir"
	"github.com/reins-agent/reins/internal/realpath"
)

// sources are the files and directories in a project that can make Reins run a program or widen an agent's permissions.
// A directory includes everything in it.
//
// Git's own configuration is not listed, because Reins runs git so that no setting can run a program. Neither are .env
// files, which Reins never loads into the environment.
var sources = []struct{ path, what string }{
	{".reins/config.toml", "configuration"},
	{".reins/config.local.toml", "configuration"},
	{".reins/hooks", "hook"},
	{".reins/skills", "skill"},
	{".reins/agents", "agent"},
	{".agents/skills", "skill"},
	{".claude/skills", "skill"},
	{".claude/commands", "command"},
	{".claude/agents", "agent"},
	{".codex/prompts", "command"},
	{".gemini/commands", "command"},
	{".claude/hooks", "hook"},
	{".claude/settings.json", "hooks and permissions"},
	{".claude/settings.local.json", "hooks and permissions"},
	{".mcp.json", "MCP servers"},
}

const (
	maxFiles = 10_000
	maxSize  = 16 << 20 // of one file
)

// Project is a directory that can be trusted as a whole.
type Project struct {
	Root  string // real path
	Files []File // the files that trusting the project enables
	dirs  []string
}

// File is a file that takes effect only in a trusted project.
type File struct {
	Path string `json:"path"` // relative to the root, with slashes
	Dir  string `json:"dir"`  // the directory that it configures, relative to the root
	What string `json:"what"` // such as "hook"
	Hash string `json:"hash"` // SHA-256 of the content
}

// Inspect returns a directory's project: the repository, the trusted directory above it, or else the directory itself.
// It looks for files in every directory from the root to the given directory.
func (s *Store) Inspect(dir string) (Project, error) {
	real, err := realpath.Dir(dir)
	if err != nil {
		return Project{}, err
	}
	p := Project{Root: s.root(real)}
	tree, err := os.OpenRoot(p.Root)
	if err != nil {
		return p, err
	}
	defer tree.Close()
	rel, err := filepath.Rel(p.Root, real)
	if err != nil {
		return p, err
	}
	for d := filepath.ToSlash(rel); ; d = path.Dir(d) {
		p.dirs = append(p.dirs, d)
		if d == "." {
			break
		}
	}
	slices.Reverse(p.dirs)
	for _, d := range p.dirs {
		for _, source := range sources {
			if err := p.add(tree, d, path.Join(d, source.path), source.what); err != nil {
				return p, fmt.Errorf("%s cannot be trusted: %w", p.Root, err)
			}
		}
	}
	return p, nil
}

// root returns the project root for a real path. A directory with a .git that is broken or cannot be read does not
// inherit trust from directories above it. A directory whose .git git ignores is part of the project above.
func (s *Store) root(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if gitdir.Stops(gitdir.Host, d) {
			return d
		}
		if _, err := os.Lstat(s.file(d)); err == nil {
			return d
		}
		if filepath.Dir(d) == d {
			return dir
		}
	}
}

// add adds a file, or all files in a directory. Links are followed inside the project only.
func (p *Project) add(tree *os.Root, dir, name, what string) error {
	info, err := tree.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s is unreadable or links outside the project; replace it: %w", name, err)
	case info.IsDir():
		return p.addDir(tree, dir, name, what)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; remove it", name)
	case info.Size() > maxSize, len(p.Files) == maxFiles:
		return fmt.Errorf("%s exceeds the limit of %d files or %d MiB per file; remove it", name, maxFiles, maxSize>>20)
	}
	hash, err := hashFile(tree, name)
	if err != nil {
		return err
	}
	p.Files = append(p.Files, File{Path: name, Dir: dir, What: what, Hash: hash})
	return nil
}

// addDir adds all files in a directory.
func (p *Project) addDir(tree *os.Root, dir, name, what string) error {
	return fs.WalkDir(tree.FS(), name, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := tree.Stat(file); err == nil && info.IsDir() { // may be a cycle
			return fmt.Errorf("%s is a link to a directory; replace it", file)
		}
		return p.add(tree, dir, file, what)
	})
}

// hashFile returns a file's hash. It fails if the file has grown beyond maxSize.
func hashFile(tree *os.Root, name string) (string, error) {
	f, err := tree.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxSize+1))
	if err == nil && n > maxSize {
		err = fmt.Errorf("%s is larger than %d MiB; remove it", name, maxSize>>20)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// changed lists the files in p's directories that differ from the trusted files.
func (p Project) changed(trusted []File) []string {
	now, then := map[string]string{}, map[string]string{}
	for _, f := range p.Files {
		now[f.Path] = f.Hash
	}
	for _, f := range trusted {
		if slices.Contains(p.dirs, f.Dir) {
			then[f.Path] = f.Hash
		}
	}
	var names []string
	for name, hash := range now {
		if then[name] != hash {
			names = append(names, name)
		}
	}
	for name := range then {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
