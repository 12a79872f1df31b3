package env_test

import (
	"path"
	"testing"

	"github.com/reins-agent/reins/env"
)

// Every platform's rules are tested on every platform.

func TestPaths_Clean(t *testing.T) {
	for platform, tests := range map[string]map[string]string{
		"linux": {
			"": ".", ".": ".", "a": "a", "a/": "a", "./a": "a", "a//b": "a/b", "a/../b": "b", "../a": "../a", "a/..": ".",
			"/": "/", "//": "/", "/..": "/", "/../a": "/a", "/a/": "/a", `a\b`: `a\b`, "C:/x": "C:/x",
		},
		"windows": {
			"": ".", ".": ".", "a": "a", `a\`: "a", "a/": "a", "./a": "a", `a\/b`: `a\b`, `a\..\b`: "b", `..\a`: `..\a`, "a/..": ".",
			`\`: `\`, "/": `\`, `\a\..\..\b`: `\b`, `C:\`: `C:\`, "C:/": `C:\`, `C:\..`: `C:\`, `c:\a\.\b\`: `c:\a\b`, `a\..\C:\b`: `.\C:\b`, "C:": "C:.", "C:a": "C:a", `C:a\..\..`: `C:..`,
			`\\server\share`: `\\server\share\`, `\\server\share\`: `\\server\share\`, `//server/share/a/../..`: `\\server\share\`, `\\server\share\a\`: `\\server\share\a`,
			`\\?\C:\a\..\b`: `\\?\C:\b`, `\\.\pipe\x`: `\\.\pipe\x`,
		},
	} {
		for name, want := range tests {
			p := env.PathsOf(platform)
			if got := p.Clean(name); got != want {
				t.Errorf("%s: Clean(%q) is %q, want %q", platform, name, got, want)
			}
			if got := p.Clean(want); got != want {
				t.Errorf("%s: Clean(%q) is %q, want it unchanged", platform, want, got)
			}
		}
	}
}

func TestPaths_IsAbs(t *testing.T) {
	for platform, tests := range map[string]map[string]bool{
		"linux":   {"": false, "a": false, "../a": false, "/": true, "/a": true, `C:\a`: false, "C:/a": false, `\\server\share`: false},
		"windows": {"": false, "a": false, `\a`: false, "/a": false, "C:": false, "C:a": false, `C:\`: true, "c:/a": true, "1:/a": false, `\\server\share`: true, `\\server\share\a`: true, `\\?\C:\a`: true, `\\`: false},
	} {
		for name, want := range tests {
			if got := env.PathsOf(platform).IsAbs(name); got != want {
				t.Errorf("%s: IsAbs(%q) is %v", platform, name, got)
			}
		}
	}
}

func TestPaths_Abs(t *testing.T) {
	for _, tt := range []struct{ platform, dir, name, want string }{
		{"linux", "/work", "", "/work"},
		{"linux", "/work", "a/", "/work/a"},
		{"linux", "/work", "../a", "/a"},
		{"linux", "/work", "/b/./c", "/b/c"},
		{"linux", "/", "a", "/a"},
		{"linux", "/work", `C:\a`, `/work/C:\a`},
		{"windows", `C:\work`, "", `C:\work`},
		{"windows", `C:\work`, "a/b", `C:\work\a\b`},
		{"windows", `C:\work`, `..\a`, `C:\a`},
		{"windows", `C:\work`, `\a`, `C:\a`},
		{"windows", `C:\work`, `/a`, `C:\a`},
		{"windows", `C:\work`, `c:a`, `C:\work\a`},
		{"windows", `C:\work`, `D:a`, `D:\a`},
		{"windows", `C:\work`, `d:/a/../b`, `d:\b`},
		{"windows", `C:\`, "a", `C:\a`},
		{"windows", `\\server\share\d`, `\a`, `\\server\share\a`},
		{"windows", `\\server\share\d`, "a", `\\server\share\d\a`},
		{"windows", `\\server\share`, "..", `\\server\share\`},
		{"windows", `C:\work`, `\\server\share\a`, `\\server\share\a`},
	} {
		if got := env.PathsOf(tt.platform).Abs(tt.dir, tt.name); got != tt.want {
			t.Errorf("%s: Abs(%q, %q) is %q, want %q", tt.platform, tt.dir, tt.name, got, tt.want)
		}
	}
}

func TestPaths_BaseAndDir(t *testing.T) {
	for _, tt := range []struct{ platform, name, base, dir string }{
		{"linux", "", ".", "."},
		{"linux", "a", "a", "."},
		{"linux", "/a/b", "b", "/a"},
		{"linux", "/", "/", "/"},
		{"linux", `a\b`, `a\b`, "."},
		{"windows", "", ".", "."},
		{"windows", "a", "a", "."},
		{"windows", `a/b\c`, "c", `a\b`},
		{"windows", `a\b\`, "b", "a"},
		{"windows", `C:\a`, "a", `C:\`},
		{"windows", `C:\`, `\`, `C:\`},
		{"windows", `C:a`, "a", `C:.`},
		{"windows", `\\server\share\a`, "a", `\\server\share\`},
		{"windows", `\\server\share`, ".", `\\server\share\`},
	} {
		p := env.PathsOf(tt.platform)
		if base, dir := p.Base(tt.name), p.Dir(tt.name); base != tt.base || dir != tt.dir {
			t.Errorf("%s: %q has base %q and directory %q, want %q and %q", tt.platform, tt.name, base, dir, tt.base, tt.dir)
		}
	}
}

func TestPaths_Join(t *testing.T) {
	for _, tt := range []struct {
		platform string
		elems    []string
		want     string
	}{
		{"linux", nil, ""},
		{"linux", []string{"", ""}, ""},
		{"linux", []string{"", "a", "", "b/"}, "a/b"},
		{"linux", []string{"/", "a"}, "/a"},
		{"linux", []string{"a", "../.."}, ".."},
		{"windows", []string{""}, ""},
		{"windows", []string{`C:\`, "a", "b/c"}, `C:\a\b\c`},
		{"windows", []string{"C:", "a"}, "C:a"},
		{"windows", []string{`\\server\share`, "a"}, `\\server\share\a`},
		{"windows", []string{"a", `..\b`}, "b"},
	} {
		if got := env.PathsOf(tt.platform).Join(tt.elems...); got != tt.want {
			t.Errorf("%s: Join(%q) is %q, want %q", tt.platform, tt.elems, got, tt.want)
		}
	}
}

func TestPaths_RelAndWithin(t *testing.T) {
	const outside = "(outside)"
	for _, tt := range []struct{ platform, dir, name, want string }{
		{"linux", "/work", "/work", "."},
		{"linux", "/work", "/work/", "."},
		{"linux", "/work/", "/work/a/b", "a/b"},
		{"linux", "/", "/a", "a"},
		{"linux", "/work", "/work/..a", "..a"},
		{"linux", "/work", "/work/../etc", outside},
		{"linux", "/work", "/workshop", outside},
		{"linux", "/work", "/Work/a", outside},
		{"linux", "/work", "work/a", outside},
		{"linux", "work", "/work/a", outside},
		{"linux", "", "/a", outside},
		{"linux", "/work", "", outside},
		{"darwin", "/work", "/Work/a", "a"},
		{"darwin", "/work", "/Work", "."},
		{"darwin", "/work/caf\u00e9", "/work/cafe\u0301/A", "A"},
		{"darwin", "/work/cafe\u0301", "/work/caf\u00e9", "."},
		{"darwin", "/work/.ssh", "/work/.\u017f\u017fh/id", "id"},
		{"darwin", "/work/.git", "/work/.g\u200cit/hooks", "hooks"},
		{"darwin", "/work", "/workshop", outside},
		{"darwin", "/work", "/Wor/k", outside},
		{"linux", "/work/caf\u00e9", "/work/cafe\u0301/a", outside},
		{"windows", `C:\work`, `c:\WORK`, "."},
		{"windows", `C:\work`, `c:/Work/A/b`, "A/b"},
		{"windows", `C:\Straße`, `c:\straße\Ä`, "Ä"},
		{"windows", `C:\ÄÖ`, `C:\äö\x`, "x"},
		{"windows", `C:\`, `C:\a`, "a"},
		{"windows", `C:\work`, `C:\workshop`, outside},
		{"windows", `C:\work`, `D:\work\a`, outside},
		{"windows", `C:\work`, `C:\work\..\a`, outside},
		{"windows", `C:\work`, `C:\work\.. \a`, outside},
		{"windows", `C:\work`, `C:\work\...\a`, outside},
		{"windows", `C:\work`, `C:\work\a:stream`, outside},
		{"windows", `C:\work`, `C:\wor` + "\u212a" + `\a`, outside},
		{"windows", `C:\desk`, `C:\de` + "\u017f" + `k\a`, outside},
		{"windows", `C:\work`, `C:work\a`, outside},
		{"windows", `C:\work`, `\work\a`, outside},
		{"windows", `C:\work`, `\\?\C:\work\a`, outside},
		{"windows", `\\server\share`, `\\SERVER\Share\a`, "a"},
		{"windows", `\\server\share`, `\\server\shared\a`, outside},
		{"windows", `\\server\share\d`, `\\server\share`, outside},
	} {
		p := env.PathsOf(tt.platform)
		rel, ok := p.Rel(tt.dir, tt.name)
		if !ok {
			rel = outside
		}
		if rel != tt.want || ok != p.Within(tt.dir, tt.name) {
			t.Errorf("%s: Rel(%q, %q) is %q, want %q; Within is %v", tt.platform, tt.dir, tt.name, rel, tt.want, p.Within(tt.dir, tt.name))
		}
	}
}

func TestPaths_KeyAndSeparators(t *testing.T) {
	for _, tt := range []struct {
		platform, a, b string
		same           bool
	}{
		{"linux", "d/../a", "a/", true},
		{"linux", "A", "a", false},
		{"linux", `d\a`, "d/a", false},
		{"darwin", "A", "a", true},
		{"darwin", "caf\u00c9", "cafe\u0301", true},
		{"darwin", "\u212a", "k", true},
		{"darwin", "\u00df", "s", false},
		{"linux", "caf\u00e9", "cafe\u0301", false},
		{"windows", `D\A`, "d/a", true},
		{"windows", "a", "b", false},
	} {
		p := env.PathsOf(tt.platform)
		if got := p.Key(tt.a) == p.Key(tt.b); got != tt.same {
			t.Errorf("%s: the keys of %q and %q are equal: %v", tt.platform, tt.a, tt.b, got)
		}
	}
	linux, windows := env.PathsOf("linux"), env.PathsOf("windows")
	if linux.EndsInSeparator(`a\`) || !windows.EndsInSeparator(`a\`) || !linux.EndsInSeparator("a/") || windows.EndsInSeparator("") {
		t.Error("EndsInSeparator is wrong")
	}
	if linux.ToSlash(`a\b`) != `a\b` || windows.ToSlash(`a\b`) != "a/b" {
		t.Error("ToSlash is wrong")
	}
}

// FuzzPaths checks properties that hold for every pair of paths.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"", "/", "/a/../b/", `C:\a`, "C:", `\\s\h\x`, `\\?\UNC\a\b\..`, "//", "///", `\\?\`, "a/./..", "a/../C:/b", `\\?\UNC`, "C:/.. /x"} {
		f.Add(s, `C:\work`)
		f.Add(s, "/work")
	}
	f.Fuzz(func(t *testing.T, name, dir string) {
		posix := env.PathsOf("linux")
		if posix.Clean(name) != path.Clean(name) || posix.Join(dir, name) != path.Join(dir, name) {
			t.Errorf("POSIX rules differ from package path for %q and %q", dir, name)
		}
		for _, p := range []env.Paths{posix, env.PathsOf("windows")} {
			clean := p.Clean(name)
			if p.Clean(clean) != clean || p.IsAbs(clean) != p.IsAbs(name) {
				t.Errorf("Clean(%q) is %q, which is not clean or not as absolute", name, clean)
			}
			if !p.IsAbs(dir) {
				continue
			}
			abs := p.Abs(dir, name)
			if !p.IsAbs(abs) || p.Clean(abs) != abs {
				t.Errorf("Abs(%q, %q) is %q, which is not absolute and clean", dir, name, abs)
			}
			if rel, ok := p.Rel(dir, abs); ok && rel != "." && p.Abs(dir, rel) != p.Join(dir, rel) {
				t.Errorf("Rel(%q, %q) is %q, which leads elsewhere", dir, abs, rel)
			}
		}
	})
}
