package config

import (
	"path/filepath"
	"testing"
)

func TestUserDir(t *testing.T) {
	abs := filepath.Join(t.TempDir(), "xdg")
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/me"}, filepath.Join("/home/me", ".config")},
		{"linux", map[string]string{"HOME": "/home/me", "XDG_CONFIG_HOME": abs}, abs},
		{"linux", map[string]string{"HOME": "/home/me", "XDG_CONFIG_HOME": "relative"}, filepath.Join("/home/me", ".config")},
		{"linux", nil, ""},
		{"darwin", map[string]string{"HOME": "/Users/me"}, filepath.Join("/Users/me", "Library", "Application Support")},
		{"windows", map[string]string{"AppData": `C:\Users\me\AppData\Roaming`}, `C:\Users\me\AppData\Roaming`},
	} {
		if got := userDir(c.goos, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.goos, c.env, got, c.want)
		}
	}
}

// TestFiles_StandardPlaces pins the paths that users cannot choose.
func TestFiles_StandardPlaces(t *testing.T) {
	for goos, want := range map[string]string{"linux": "/etc/reins", "darwin": "/Library/Application Support/reins", "windows": `C:\ProgramData\reins`} {
		if got := systemDir(goos); got != want {
			t.Errorf("%s: %s, want %s", goos, got, want)
		}
	}
}
