package local_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

// readWorld is a home directory with secrets, other projects and a workspace.
type readWorld struct {
	t         *testing.T
	home, dir string
	env       *local.Env
}

const canary = "CANARY-4711"

func newReadWorld(t *testing.T) *readWorld {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GOFLAGS", "-mod=mod")
	w := &readWorld{t: t, home: home, dir: home + "/code/app/sub"}
	for _, name := range []string{
		".ssh/id_rsa", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".mozilla/firefox/cookies", ".bash_history",
		".codex/auth.json", "code/other/secret.txt", "notes.txt", ".cargo/credentials.toml",
	} {
		w.write(name, canary)
	}
	w.write(".npmrc", "//registry/:_authToken="+canary)
	w.write("code/app/sub/file", "inside\n")
	w.write("code/app/README", "root\n")
	w.write(".gitconfig", "[user]\n\tname = x\n\temail = x\n[init]\n\tdefaultBranch = main\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "first"}} {
		c := exec.Command("git", args...)
		c.Dir = home + "/code/app"
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	w.env = newBoxed(t, local.Config{Dir: w.dir, SpoolDir: t.TempDir()})
	return w
}

func (w *readWorld) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *readWorld) run(e env.Environment, c env.Command) env.ExecResult {
	w.t.Helper()
	r, err := env.Exec(w.t.Context(), e, c)
	if err != nil {
		w.t.Fatalf("%s: %v", c.Line, err)
	}
	return r
}

func TestSandbox_ReadOnlyCommandsReadOnlyTheProjectAndTheSystem(t *testing.T) {
	w := newReadWorld(t)
	if !w.env.ReadsOnly() {
		t.Fatal("reading is not enforced")
	}
	for _, line := range []string{
		"cat ~/.ssh/id_rsa", "cat ~/.aws/credentials", "cat ~/.netrc", "cat ~/.npmrc", "cat ~/.config/gh/hosts.yml", "cat ~/.bash_history",
		"cat ~/code/other/secret.txt", "cat ~/notes.txt", "ls ~/code", "cat ~/.cargo/credentials.toml", "cat ~/.mozilla/firefox/cookies",
		"cat /proc/" + fmt.Sprint(os.Getpid()) + "/root" + w.home + "/notes.txt", "ln -s ~/notes.txt $TMPDIR/l; cat $TMPDIR/l", "cat ~/.codex/auth.json",
	} {
		// Root can open the empty file that replaces a masked file.
		if r := w.run(w.env, env.Command{Line: line, ReadOnly: true}); r.Code == 0 && r.Stdout != "" || strings.Contains(r.Combined, canary) {
			t.Errorf("%s: exit code %d, %q, want a failure", line, r.Code, r.Combined)
		}
		if r := w.run(w.env.Outside(), env.Command{Line: strings.ReplaceAll(line, "$TMPDIR", t.TempDir())}); r.Code != 0 {
			t.Errorf("%s outside: exit code %d, %q, want 0, or the test shows nothing", line, r.Code, r.Combined)
		}
	}
	for line, want := range map[string]string{
		"cat file": "inside", "ls / | wc -l": "", "cat /etc/passwd": "root:",
		"sort <<< x": "x", "cat <<E\nhello\nE": "hello", "echo x > /dev/null && echo ok": "ok", "git config user.name": "x", "diff <(echo x) <(echo x) && echo same": "same",
		"mktemp > /dev/null && echo made": "made", "python3 -c 'print(7)'": "7",
	} {
		if r := w.run(w.env, env.Command{Line: strings.ReplaceAll(line, "\\n", "\n"), ReadOnly: true}); r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("%s: exit code %d, %q %q, want %q", line, r.Code, r.Stdout, r.Stderr, want)
		}
	}
}

// What reads the files that it names needs no more than the workspace. Git and other programs need the repository.
func TestSandbox_OnlyProgramsReadTheRepositoryAroundTheWorkspace(t *testing.T) {
	w := newReadWorld(t)
	w.write("code/app/.gitignore", "*.tmp\n")
	w.write("code/app/other/secret.txt", canary)
	w.write("code/app/sub/x.tmp", "ignored\n")
	config := confined
	config.Readable = []string{w.home + "/code/app/other"}
	own := newEnv(t, local.Config{Dir: w.dir, SpoolDir: t.TempDir(), Sandbox: config})
	for _, c := range []struct {
		line, want string
		env        *local.Env
		repository bool
	}{
		{"git log --format=%s", "first", w.env, true},
		{"git status --short --untracked-files=no", "", w.env, true},
		{"cat ../README ../other/secret.txt", canary, w.env, true},
		{"cat file ../.gitignore", "*.tmp", w.env, false},
		{"cat ../other/secret.txt", canary, own, false}, // as the configuration says
		{"cat ../README", "?", w.env, false},
		{"cat ../other/secret.txt", "?", w.env, false},
		{"ls ..", "?", w.env, false},
		{"cat ../.git/config", "?", w.env, false},
		{"git log", "?", w.env, false},
	} {
		r := w.run(c.env, env.Command{Line: c.line, ReadOnly: true, Repository: c.repository})
		if c.want == "?" && (r.Code == 0 || strings.Contains(r.Combined, canary)) || c.want != "?" && (r.Code != 0 || !strings.Contains(r.Stdout, c.want)) {
			t.Errorf("%s, repository %v: exit code %d, %q, want %q", c.line, c.repository, r.Code, r.Combined, c.want)
		}
	}
	r := w.run(w.env, env.Command{Line: "cat ../README", ReadOnly: true, Reveal: []string{w.home + "/code/app/README"}})
	if r.Stdout != "root\n" {
		t.Errorf("a file that the decision names: %+v", r)
	}
}

func TestSandbox_ReadOnlyCommandsChangeNothing(t *testing.T) {
	w := newReadWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	temp := w.env.Info().Limits.Temp
	w.run(w.env, env.Command{Line: "echo kept > $TMPDIR/kept"})
	for _, line := range []string{
		"echo x > new", "echo x >> file", "rm file", "mv file f", "mkdir d", "chmod 777 file", "touch file", "ln file l", "ln -s file s",
		"echo x > " + temp + "/kept", "echo x > ~/new", "git commit --allow-empty -m x", "git config x.y z", "echo x > .git/x", "sed -i s/i/o/ file",
		"exec 3<>/dev/tcp/127.0.0.1/" + fmt.Sprint(port), "python3 -c 'import socket; socket.socket()'",
		"python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", "kill -0 " + fmt.Sprint(os.Getpid()), "echo x > /dev/sda", "mknod n c 1 3",
	} {
		if r := w.run(w.env, env.Command{Line: line, ReadOnly: true}); r.Code == 0 {
			t.Errorf("%s: exit code 0, want a failure: %q", line, r.Combined)
		}
	}
	if r := w.run(w.env, env.Command{Line: "cat " + temp + "/kept && git -C .. status --short", ReadOnly: true, Repository: true}); r.Stdout != "kept\n" {
		t.Errorf("%+v, want an unchanged tree", r)
	}
}

// An approved command must not read credentials either, unless the approval names them.
func TestSandbox_CredentialsAreMasked(t *testing.T) {
	w := newReadWorld(t)
	for _, name := range []string{".ssh/id_rsa", ".aws/credentials", ".netrc", ".npmrc", ".codex/auth.json", ".bash_history"} {
		if r := w.run(w.env, env.Command{Line: "cat ~/" + name}); r.Code == 0 && r.Stdout != "" {
			t.Errorf("%s: exit code %d, %q, want a failure", name, r.Code, r.Combined)
		}
	}
	if r := w.run(w.env, env.Command{Line: "cat ~/notes.txt ~/code/other/secret.txt"}); r.Code != 0 {
		t.Errorf("other files: %+v", r)
	}
	r := w.run(w.env, env.Command{Line: "cat ~/.netrc; ! grep . ~/.ssh/id_rsa", Reveal: []string{w.home + "/.netrc"}})
	if r.Code != 0 || r.Stdout != canary {
		t.Errorf("with .netrc revealed: %+v", r)
	}
	w.write(".git-credentials", canary) // created after the sandbox was started
	if r := w.run(w.env, env.Command{Line: "cat ~/.git-credentials"}); strings.Contains(r.Stdout, canary) {
		t.Errorf("a file that was created later: %+v", r)
	}
}

// A file revealed to one command must not be readable by the next.
func TestSandbox_ARevealIsForOneCommand(t *testing.T) {
	w := newReadWorld(t)
	names := []string{"/.netrc", "/.ssh/id_rsa", "/.netrc"}
	for _, readOnly := range []bool{false, true} {
		for _, name := range names {
			c := env.Command{Line: "grep -l . ~/.netrc ~/.ssh/id_rsa", ReadOnly: readOnly, Reveal: []string{w.home + name}}
			if r := w.run(w.env, c); r.Stdout != w.home+name+"\n" {
				t.Errorf("read only %v, with %s revealed: %+v", readOnly, name, r)
			}
		}
		if r := w.run(w.env, env.Command{Line: "grep -l . ~/.netrc ~/.ssh/id_rsa", ReadOnly: readOnly}); r.Stdout != "" {
			t.Errorf("read only %v, with nothing revealed: %+v", readOnly, r)
		}
	}
}

func TestSandbox_ReadableNamesCredentials(t *testing.T) {
	w := newReadWorld(t)
	c := confined
	c.Readable = []string{w.home + "/.ssh", w.home + "/code/other"}
	e := newEnv(t, local.Config{Dir: w.dir, SpoolDir: t.TempDir(), Sandbox: c})
	for _, readOnly := range []bool{false, true} {
		if r := w.run(e, env.Command{Line: "cat ~/.ssh/id_rsa ~/code/other/secret.txt && ! grep . ~/.netrc", ReadOnly: readOnly}); r.Code != 0 {
			t.Errorf("read only %v: %+v", readOnly, r)
		}
	}
}

// A mask would make git report a workspace file as changed, but commands with ReadOnly must not read it.
func TestSandbox_MaskedFilesInTheWorkspaceCannotBeReadByReadOnlyCommands(t *testing.T) {
	w := newReadWorld(t)
	w.write("code/app/sub/keys/x", canary)
	c := confined
	c.Masked = []string{w.dir + "/keys"}
	e := newEnv(t, local.Config{Dir: w.dir, SpoolDir: t.TempDir(), Sandbox: c})
	if r := w.run(e, env.Command{Line: "cat keys/x", ReadOnly: true}); r.Code == 0 || strings.Contains(r.Combined, canary) {
		t.Errorf("%+v, want a failure", r)
	}
	if r := w.run(e, env.Command{Line: "cat file && ls keys", ReadOnly: true}); r.Stdout != "inside\nx\n" {
		t.Errorf("%+v, want the other files", r)
	}
}

func TestSandbox_ReportsWhatItBlocked(t *testing.T) {
	w := newReadWorld(t)
	r := w.run(w.env, env.Command{Line: "mkdir .vscode; echo x > .envrc"})
	if got := strings.Join(r.Blocked, " "); got != w.dir+"/.envrc "+w.dir+"/.vscode" {
		t.Errorf("blocked %q", got)
	}
}

// Files that rules deny are unreadable, but look unchanged: git must not report them as deleted.
func TestSandbox_HiddenFilesCannotBeReadAndLookUnchanged(t *testing.T) {
	w := newReadWorld(t)
	w.write("code/app/sub/private/x", canary)
	w.write("code/app/.env", canary)
	// Git reads files again if they are as new as its index.
	c := exec.Command("sh", "-c", "touch -d 2001-01-01 .env sub/private/x && git add -f . && git commit -qm more")
	c.Dir = w.home + "/code/app"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := confined
	hidden := []string{w.dir + "/private", w.home + "/code/app/.env"}
	config.Hidden = func() []string { return hidden }
	e := newEnv(t, local.Config{Dir: w.dir, SpoolDir: t.TempDir(), Sandbox: config})
	for _, line := range []string{"cat private/x", "cat ../.env", "grep -r CANARY ..", "cat later"} {
		if r := w.run(e, env.Command{Line: line, ReadOnly: true, Repository: true}); strings.Contains(r.Stdout, canary) || r.Code == 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := w.run(e, env.Command{Line: "git status --short && ls private && cat file", ReadOnly: true, Repository: true}); r.Stdout != "x\ninside\n" {
		t.Errorf("%+v", r)
	}
	w.write("code/app/sub/new", "new\n")
	if r := w.run(e, env.Command{Line: "cat new", ReadOnly: true}); r.Stdout != "new\n" {
		t.Errorf("a new file: %+v", r)
	}
	w.write("code/app/sub/later", canary)
	hidden = append(hidden, w.dir+"/later")
	if r := w.run(e, env.Command{Line: "cat later", ReadOnly: true}); strings.Contains(r.Stdout, canary) {
		t.Errorf("a file that is hidden later: %+v", r)
	}
	if r := w.run(e, env.Command{Line: "cat private/x"}); r.Stdout != canary {
		t.Errorf("an approved command: %+v, want what it was approved for", r)
	}
}

// Hidden is called while the sandbox is made, and may look at files through the environment.
func TestSandbox_HiddenMayUseTheEnvironment(t *testing.T) {
	w := newReadWorld(t)
	w.write("code/app/sub/private", canary)
	config, looked := confined, 0
	var e *local.Env
	config.Hidden = func() []string {
		looked++
		if _, err := e.ReadDir(t.Context(), w.dir); err != nil {
			t.Error(err)
		}
		return []string{w.dir + "/private"}
	}
	e = newEnv(t, local.Config{Dir: w.dir, SpoolDir: t.TempDir(), Sandbox: config})
	for _, c := range []env.Command{{Line: "cat private", ReadOnly: true}, {Line: "cat private", ReadOnly: true, Reveal: []string{w.home + "/other"}}} {
		if r := w.run(e, c); strings.Contains(r.Stdout, canary) || looked == 0 {
			t.Errorf("%+v", r)
		}
	}
}
