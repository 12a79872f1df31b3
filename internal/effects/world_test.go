//go:build linux && (amd64 || arm64)

package effects

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// The world's places. Everything in it is made anew before each session.
const (
	home      = "/home/dev"
	project   = home + "/project"
	subdir    = project + "/services/api"
	template  = "/srv/template"
	devUID    = 12345
	stateDir  = home + "/.local/state/reins"
	sessionID = "/tmp/reins-" // prefix of directories for temporary files
)

//go:embed testdata/world.txtar
var worldText []byte

// world is who works where.
type world struct {
	uid  int
	work string // the working directory: project or subdir
	deny bool   // whether a rule denies reading .env

	hostile bool // whether there are links that leave the workspace, and repositories that name programs
}

func (w world) String() string {
	user, dir := "root", "top"
	if w.uid != 0 {
		user = "user"
	}
	if w.work == subdir {
		dir = "subdirectory"
	}
	return user + "/" + dir
}

// prepare builds the world once, as the template for reset.
func (w world) prepare() error {
	steps := []func() error{wipe, w.plant, w.archives, w.links, w.repository, w.repositories, w.settings, w.own}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("build the world: %w", err)
		}
	}
	if err := os.RemoveAll(template); err != nil {
		return err
	}
	return copyTree("/home", "/root")
}

// copyTree makes the template from world directories.
func copyTree(dirs ...string) error {
	if err := os.Mkdir(template, 0o700); err != nil {
		return err
	}
	return runQuiet("cp", append([]string{"-a"}, append(dirs, template)...)...)
}

// reset replaces the world by the template.
func (w world) reset() error {
	if err := wipe(); err != nil {
		return err
	}
	return errors.Join(runQuiet("cp", "-a", template+"/home/.", "/home"), runQuiet("cp", "-a", template+"/root/.", "/root"))
}

// wipe removes everything from the covered directories, except sockets.
func wipe() error {
	for _, dir := range append([]string{"/dev/shm"}, covered...) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSocket == 0 {
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func runQuiet(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

func write(path, text string) error {
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode))
}

// plant writes the files in testdata/world.txtar. Files below "project" go to the working directory, files below
// "above" to the directory above it, and a line "secret NAME" becomes a canary's text.
func (w world) plant() error {
	for _, f := range txtar.Parse(worldText).Files {
		text := string(f.Data)
		if name, ok := strings.CutPrefix(strings.TrimSpace(text), "secret "); ok {
			if text = secretText(name); name == "npmrc" {
				text = "//registry.invalid/:_authToken=" + text
			}
		}
		kind, rest, _ := strings.Cut(f.Name, "/")
		dir := map[string]string{"project": w.work, "above": filepath.Dir(w.work), "home": home, "root": "/root"}[kind]
		if dir == "" {
			return fmt.Errorf("testdata/world.txtar: unknown place of %s", f.Name)
		}
		if err := write(filepath.Join(dir, rest), text); err != nil {
			return err
		}
	}
	if w.work == subdir {
		return write(project+"/README.md", "# The project above\n")
	}
	return nil
}

// archives writes archives that contain a file "pwned", and evil programs under the names of others.
func (w world) archives() error {
	var t, z, g bytes.Buffer
	tw := tar.NewWriter(&t)
	zw := zip.NewWriter(&z)
	gw := gzip.NewWriter(&g)
	inZip, err := zw.Create("pwned")
	if err != nil {
		return err
	}
	_, errZip := inZip.Write([]byte("x"))
	_, errGzip := gw.Write([]byte("packed text\n"))
	errTar := tw.WriteHeader(&tar.Header{Name: "pwned", Mode: 0o644, Size: 1})
	_, errBody := tw.Write([]byte("x"))
	if err := errors.Join(errZip, errGzip, errTar, errBody, tw.Close(), zw.Close(), gw.Close()); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"pack.tar": t.Bytes(), "pack.zip": z.Bytes(), "pwned.txt.gz": g.Bytes()} {
		if err := os.WriteFile(filepath.Join(w.work, name), data, 0o644); err != nil {
			return err
		}
	}
	evil, err := os.ReadFile(filepath.Join(w.work, "evil.sh"))
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(`ls cat 1/ls bin/ls bin/cat bin/git bin/less bin/sh bin/git-status bin/git-evil
		bin/x-pathspecs/git-submodule hooks/post-index-change hooks/post-checkout`) {
		if err := write(filepath.Join(w.work, name), string(evil)); err != nil {
			return err
		}
	}
	if so, err := os.ReadFile(binDir + "/evil.so"); err == nil {
		return os.WriteFile(filepath.Join(w.work, "evil.so"), so, 0o755)
	}
	return nil
}

// links makes links that leave the workspace, or lead to a file that a rule denies.
func (w world) links() error {
	if !w.hostile {
		return nil
	}
	return errors.Join(
		os.Symlink("../other/secret.txt", filepath.Join(w.work, "notes-link.txt")),
		os.Symlink("../other", filepath.Join(w.work, "docs-link")),
		os.Symlink(".env", filepath.Join(w.work, "settings-link")),
		os.Symlink(home, filepath.Join(w.work, "home-link")),
		os.Symlink("/home", filepath.Join(w.work, "homes-link")),
		os.Symlink("../outside-target", filepath.Join(w.work, "dangling")),
	)
}

// git runs git in a directory, with a fixed author and date.
func git(dir string, args ...string) error {
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/srv/tmp", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// repository makes the project a repository with a little history and a change that is not committed.
func (w world) repository() error {
	readme := filepath.Join(w.work, "notes.txt")
	var err error
	run := func(args ...string) { err = errors.Join(err, git(w.work, args...)) }
	err = git(project, "init", "-q", "-b", "main")
	run("add", "-f", "README.md", "main.go", "go.mod", "notes.txt", "src", "docs", "data.json", "data.csv", "package.json", ".gitignore")
	run("commit", "-q", "-m", "Add the first files")
	err = errors.Join(err, write(readme, "first line\nsecond line\nTODO: third line\n"))
	run("commit", "-q", "-a", "-m", "Extend the notes")
	run("tag", "v1.0")
	run("branch", "feature")
	err = errors.Join(err, write(readme, "first line\nsecond line\nTODO: third line\nfourth line\n"))
	run("commit", "-q", "-a", "-m", "Add a fourth line")
	return errors.Join(err, write(readme, "first line\nsecond line, changed\nTODO: third line\nfourth line\n"))
}

// repositories makes repositories below the workspace whose configuration names programs, and another project next to it.
func (w world) repositories() error {
	if !w.hostile {
		return nil
	}
	evil := filepath.Join(w.work, "evil.sh")
	var err error
	repo := func(dir string, settings ...string) {
		dir = filepath.Join(w.work, dir)
		err = errors.Join(err, write(dir+"/a.txt", "a\n"), write(dir+"/.gitattributes", "*.txt diff=x filter=y\n"),
			git(dir, "init", "-q", "-b", "main"), git(dir, "add", "."), git(dir, "commit", "-q", "-m", "x"), write(dir+"/a.txt", "a\nb\n"))
		for _, s := range settings {
			key, value, _ := strings.Cut(s, "=")
			err = errors.Join(err, git(dir, "config", key, value))
		}
	}
	repo("vendor/monitor", "core.fsmonitor="+evil)
	repo("vendor/textconv", "diff.x.textconv="+evil)
	repo("vendor/external", "diff.external="+evil)
	repo("vendor/filter", "filter.y.clean="+evil, "filter.y.smudge="+evil)
	repo("vendor/hooks", "core.hooksPath="+w.work+"/hooks")
	repo("vendor/alias", "alias.st=!"+evil, "alias.lg=!"+evil)
	repo("vendor/pager", "core.pager="+evil, "pager.log="+evil, "pager.status=true")
	repo("vendor/signed", "gpg.program="+evil, "log.showSignature=true")
	repo("vendor/included", "include.path="+w.work+"/hostile.gitconfig")
	err = errors.Join(err, write(w.work+"/hostile.gitconfig", "[core]\n\tfsmonitor = "+evil+"\n"))
	bare := filepath.Join(w.work, "vendor/bare")
	err = errors.Join(err, git(w.work, "init", "-q", "--bare", bare), git(bare, "config", "core.bare", "false"),
		git(bare, "config", "core.worktree", w.work+"/vendor"), git(bare, "config", "core.fsmonitor", evil))
	err = errors.Join(err, write(w.work+"/vendor/gitfile/.git", "gitdir: ../monitor/.git\n"))
	other := filepath.Join(filepath.Dir(w.work), "other")
	return errors.Join(err, git(other, "init", "-q", "-b", "main"), git(other, "add", "."), git(other, "commit", "-q", "-m", "Keep it"))
}

// settings writes the user's own configuration.
func (w world) settings() error {
	text := "[secrets]\nredact = false # the tests look at what commands print\n"
	if w.deny {
		text += "[permissions]\ndeny = [\"Read(.env)\"]\n"
	}
	return errors.Join(
		os.MkdirAll(stateDir, 0o700),
		write(home+"/.config/reins/config.toml", text),
		write(home+"/.gitconfig", "[user]\n\tname = Dev\n\temail = dev@example.com\n"),
	)
}

// own gives the world to the user.
func (w world) own() error {
	if err := os.Chmod("/root", 0o700); err != nil {
		return err
	}
	if !mapsUsers() {
		return nil
	}
	return filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, w.uid, w.uid))
	})
}
