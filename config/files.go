package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reins-agent/reins/internal/gitdir"
)

// Configuration file names in a project root.
const (
	ProjectFile = ".reins/config.toml"
	LocalFile   = ".reins/config.local.toml" // not for version control
)

// File is a configuration file, which may not exist.
type File struct {
	Layer Layer  `json:"layer"`
	Path  string `json:"path"`

	root, name string // project root and name in it; "" for files outside projects
	required   bool   // a missing file is an error
	about      string // project root, for a file outside the project
	profile    string // profile name, for a profile's file
}

// Files returns the files that Load reads, lowest layer first.
func (src Sources) Files() []File {
	dir := src.SystemDir
	if dir == "" {
		dir = systemDir(runtime.GOOS)
	}
	files := []File{{Layer: LayerSystem, Path: filepath.Join(dir, "config.toml")}}
	if user := src.userFile(); user.Path != "" {
		files = append(files, user)
	}
	if src.Dir != "" {
		files = append(files,
			File{Layer: LayerProject, Path: filepath.Join(src.Dir, ProjectFile), root: src.Dir, name: ProjectFile},
			File{Layer: LayerLocal, Path: filepath.Join(src.Dir, LocalFile), root: src.Dir, name: LocalFile})
		if dir := src.PersonalDir(); dir != "" {
			files = append(files, File{Layer: LayerPersonal, Path: filepath.Join(dir, personalName(src.Dir)), about: src.Dir})
		}
	}
	if profile := src.profileFile(); profile.Path != "" {
		files = append(files, profile)
	}
	return append(files, File{Layer: LayerManaged, Path: filepath.Join(dir, "managed.toml")})
}

func systemDir(goos string) string {
	switch goos {
	case "windows":
		return `C:\ProgramData\reins`
	case "darwin":
		return "/Library/Application Support/reins"
	}
	return "/etc/reins"
}

// PersonalDir returns the directory for the user's own project files, or "" if the user has no home. Projects cannot
// write there.
func (src Sources) PersonalDir() string {
	dir := userDir(runtime.GOOS, src.getenv())
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "reins", "projects")
}

// personalName returns the user's own file name for a project root: the directory name, for readability, and a
// hash over the path.
func personalName(root string) string {
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, filepath.Base(root))
	const longest = 40
	sum := sha256.Sum256([]byte(root))
	return name[:min(len(name), longest)] + "-" + hex.EncodeToString(sum[:8]) + ".toml"
}

func (src Sources) getenv() func(string) string {
	if src.Getenv == nil {
		return os.Getenv
	}
	return src.Getenv
}

func (src Sources) userFile() File {
	getenv := src.getenv()
	if path := getenv("REINS_CONFIG"); path != "" {
		return File{Layer: LayerUser, Path: path, required: true}
	}
	dir := userDir(runtime.GOOS, getenv)
	if dir == "" {
		return File{}
	}
	return File{Layer: LayerUser, Path: filepath.Join(dir, "reins", "config.toml")}
}

// userDir returns the user's configuration directory, or "".
func userDir(goos string, getenv func(string) string) string {
	// XDG requires relative paths to be ignored.
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	home := getenv("HOME")
	switch {
	case goos == "windows":
		return getenv("AppData")
	case home == "":
		return ""
	case goos == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".config")
}

// Root returns the project root for a directory: the top of its git repository, or else the directory itself. The path
// is absolute, without symbolic links. A .git that is broken or cannot be read makes a root too, because the settings
// above may belong to someone else. A .git that git ignores does not: the surrounding project's rules still apply.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	top, _, _ := gitdir.Find(gitdir.Host, abs) // an error marks a root, too
	return cmp.Or(top, abs), nil
}

func (f File) inProject() bool { return f.root != "" }

// Exists reports whether the file exists.
func (f File) Exists() bool {
	_, err := os.Lstat(f.Path)
	return err == nil
}

// maxFile limits the file size.
const maxFile = 1 << 20

// read returns the file content, or nil if the file does not exist. A project file must not be a link that points
// outside the project.
func (f File) read() ([]byte, error) {
	if f.profile != "" && !filepath.IsAbs(f.Path) {
		return nil, fmt.Errorf("invalid profile name %q: use letters, digits, _ and -", f.profile)
	}
	open, stat, name := os.Open, os.Stat, f.Path
	if f.inProject() {
		root, err := os.OpenRoot(f.root)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		open, stat, name = root.Open, root.Stat, f.name
	}
	info, err := stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !f.required:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist) && f.profile != "":
		return nil, fmt.Errorf("there is no profile %q; to create it, run: reins config edit --profile-name %[1]s", f.profile)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("REINS_CONFIG names a file that does not exist: %s", f.Path)
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", f.Path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", f.Path)
	}
	file, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", f.Path, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than 1 MiB", f.Path)
	}
	return data, err
}
