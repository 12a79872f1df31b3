package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
)

func effects(t *testing.T, line string) []Effect {
	t.Helper()
	list, err := Analyze(line, Options{Dir: "/repo", Home: "/home/user", Paths: env.PathsOf("linux")})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return list
}

// TestAnalyze_DeletedParentsAreUnknown covers rmdir -p, which deletes more than the directory it names.
func TestAnalyze_DeletedParentsAreUnknown(t *testing.T) {
	for line, unknown := range map[string]bool{"rmdir a/b": false, "rmdir -p a/b": true, "rmdir --parents a/b": true,
		"rmdir --par a/b": true, "rm -f a": false} {
		if e := effects(t, line); len(e) != 1 || (e[0].Unknown != "") != unknown {
			t.Errorf("%s: got %q, want unknown %v", line, e[0].Unknown, unknown)
		}
	}
}

// TestAnalyze_SearchesSayWhichFilesTheyRead covers what deny rules for files depend on.
func TestAnalyze_SearchesSayWhichFilesTheyRead(t *testing.T) {
	for line, want := range map[string]Access{
		"grep -r x":                              {Deep: true},
		"grep -d recurse x .":                    {Deep: true},
		"grep --directories=recurse x .":         {Deep: true},
		"grep -d skip x .":                       {},
		"grep -r --include=*.go x .":             {Deep: true, Names: []string{"*.go", ".*.go", ".go"}},
		"grep -r --include=?env x .":             {Deep: true, Names: []string{"?env", ".env"}},
		"grep -r --exclude=a --include=b x .":    {Deep: true},
		"grep -r --include=b --exclude=a x .":    {Deep: true, Names: []string{"b"}},
		`grep -r --include=b --include="$x" y .`: {Deep: true},
		"rg x":                                   {Deep: true, Visible: true},
		"rg -g '*.go' x":                         {Deep: true, Names: []string{"*.go", ".*.go", ".go"}},
		"rg -g '!*.go' x":                        {Deep: true, Visible: true},
		"rg -g .env x":                           {Deep: true, Names: []string{".env"}},
		"rg -g 'a/b' x":                          {Deep: true},
		"rg --iglob .ENV x":                      {Deep: true},
		"rg -t go x":                             {Deep: true},
		"rg -g a -t go x":                        {Deep: true},
		"rg --hidden x":                          {Deep: true},
		"diff . src":                             {Deep: true, Follow: true},
	} {
		e := effects(t, line)
		i := slices.IndexFunc(e[len(e)-1].Accesses, func(a Access) bool { return a.Path == "/repo" })
		if i < 0 {
			t.Errorf("%s: it does not read the directory: %v", line, e)
			continue
		}
		got := e[len(e)-1].Accesses[i]
		if got.Deep != want.Deep || got.Visible != want.Visible || got.Follow != want.Follow || !slices.Equal(got.Names, want.Names) {
			t.Errorf("%s: got %+v, want %+v", line, got, want)
		}
	}
}

// TestAnalyze_ProjectToolsAreConfined says which lines only read because the system permits nothing else.
func TestAnalyze_ProjectToolsAreConfined(t *testing.T) {
	for line, want := range map[string]bool{
		"go vet ./...": true, "go list ./...": true, "npm ls": true, "docker ps": true, "cargo --version": true, "yarn -v": true,
		"pnpm ls":    true,
		"go version": false, "npm --version": false, "ls": false, "git status": false, "go build": false, "npm install": false,
		"go vet -vettool=x": false,
	} {
		if e := effects(t, line); e[0].Confined != want {
			t.Errorf("%s: got %v, want %v", line, e[0].Confined, want)
		}
	}
}

func TestAnalyze_MentionsPathsOfToolsThatDoMore(t *testing.T) {
	e := effects(t, "go vet -vettool=.git/hooks/x ./...")
	if !slices.ContainsFunc(e[0].Mentions, func(m string) bool { return strings.HasSuffix(m, ".git/hooks/x") }) {
		t.Errorf("got %v", e[0].Mentions)
	}
}

// A search may start at absolute and relative directories. Relative directories are in the working directory, in any
// order.
func TestAnalyze_SearchesMixAbsoluteAndRelativeDirectories(t *testing.T) {
	for line, want := range map[string][]string{
		"find sub /tmp/x -type f | xargs rm":             {"/repo/sub", "/tmp/x"},
		"find /tmp/x sub -type f | xargs rm":             {"/tmp/x", "/repo/sub"},
		"cd other && find /tmp/x sub | xargs rm":         {"/tmp/x", "/repo/other/sub"},
		"find /tmp/x .git/hooks -type f -exec rm {} ';'": {"/tmp/x", "/repo/.git/hooks"},
	} {
		var got []string
		for _, e := range effects(t, line) {
			for _, x := range e.Accesses {
				if x.Kind == Delete && !slices.Contains(got, x.Path) {
					got = append(got, x.Path)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s deletes in %q, want %q", line, got, want)
		}
	}
}
