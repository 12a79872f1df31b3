package home

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStatePath_EachSystemHasItsPlace(t *testing.T) {
	for _, c := range []struct{ goos, env, want string }{
		{"linux", "HOME=/home/u", "/home/u/.local/state/reins"},
		{"freebsd", "HOME=/home/u", "/home/u/.local/state/reins"},
		{"darwin", "HOME=/Users/u", "/Users/u/Library/Application Support/reins"},
		{"windows", `LocalAppData=/L USERPROFILE=/U`, "/L/reins"},
		{"windows", `USERPROFILE=/U`, "/U/AppData/Local/reins"},
		{"linux", "HOME=/home/u XDG_STATE_HOME=/var/state", "/var/state/reins"},
		{"linux", "HOME=/home/u XDG_STATE_HOME=relative", "/home/u/.local/state/reins"},
		{"linux", "HOME=/home/u XDG_STATE_HOME=/var/state REINS_HOME=/r", "/r"},
		{"linux", "", ""},
	} {
		vars := map[string]string{}
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		got := statePath(c.goos, func(name string) string { return vars[name] })
		if strings.ReplaceAll(got, `\`, "/") != c.want {
			t.Errorf("%s with %s: %q, want %q", c.goos, c.env, got, c.want)
		}
	}
	if _, err := Find(func(string) string { return "" }); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "REINS_HOME") {
		t.Errorf("without a home: %v", err)
	}
}

func TestCheckpointDir_IsReadableAndOnePerWorkspace(t *testing.T) {
	state, root := t.TempDir(), t.TempDir()
	dirs := map[string]string{}
	for _, name := range []string{"my project", "my-project", "…", "a/same", "b/same"} {
		workspace := root + "/" + name
		if err := os.MkdirAll(workspace, 0o755); err != nil {
			t.Fatal(err)
		}
		dir, err := Dir(state).checkpointsOf(workspace)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := dirs[dir]; taken {
			t.Errorf("%s and %s share %s", name, other, dir)
		}
		dirs[dir] = name
		if again, err := Dir(state).checkpointsOf(workspace + "/../" + name[strings.LastIndex(name, "/")+1:]); err != nil || again != dir {
			t.Errorf("the same place is %s and %s, %v", dir, again, err)
		}
	}
	for dir, name := range dirs {
		if name == "my project" && !strings.Contains(dir, "my-project-") {
			t.Errorf("the checkpoints of %s are in %s", name, dir)
		}
	}
	if err := os.Symlink(root+"/a", root+"/link"); err == nil {
		direct, err1 := Dir(state).checkpointsOf(root + "/a")
		linked, err2 := Dir(state).checkpointsOf(root + "/link")
		if direct != linked || err1 != nil || err2 != nil {
			t.Errorf("over a link it is %s, not %s (%v, %v)", linked, direct, err1, err2)
		}
	}
	if _, err := Dir(state).checkpointsOf(root + "/none"); err == nil {
		t.Error("a directory that is not there has checkpoints")
	}
	if entries, err := os.ReadDir(state); err != nil || len(entries) > 0 {
		t.Errorf("%v was made, %v", entries, err)
	}
}

func TestInput_IsProtectedAndOnePerWorkspace(t *testing.T) {
	d := Dir(t.TempDir())
	one, err1 := d.Input(t.TempDir())
	two, err2 := d.Input(t.TempDir())
	if err1 != nil || err2 != nil || one == two {
		t.Errorf("%s, %s, %v, %v", one, two, err1, err2)
	}
	if !slices.Contains(d.Protected(), filepath.Dir(one)) {
		t.Errorf("%s is not protected: %q", one, d.Protected())
	}
	if _, err := d.Input(string(d) + "/none"); err == nil {
		t.Error("a directory that is not there has a directory for input")
	}
}
