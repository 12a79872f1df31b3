package config_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
)

// FuzzLoad looks for files that make Load or Set panic, for hostile projects that widen something, and for edits
// that change more than they should.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		hostile, "", "model = \"x\"", "[[hooks]]\n[hooks.x]", "hooks.event = 1", "a.b.c = [[{}]]", "permissions = {rule = [{tool = \"x\"}]}",
		"[permissions]\n[permissions.rule]\ntool = \"\"", "permissions.deny = [\n\"a\", # b\n]", "\"\" = 1", "[run]\nbudget = 1e400", "model = 2020-01-01", "hooks = [[]]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := newWorld(t)
		safe := w.load()
		w.write(config.LayerProject, text)
		for _, trusted := range []bool{false, true} {
			w.sources.Trusted = trusted
			s, err := config.Load(w.sources)
			if err != nil {
				if !strings.Contains(err.Error(), "config.toml") {
					t.Errorf("the error does not name the file: %v", err)
				}
				continue
			}
			p := s.Permissions
			if s.BaseURL != "" || len(p.Allow)+len(p.AdditionalDirectories)+len(s.Hooks)+len(s.Environment.Pass)+len(s.Sandbox.WritableRoots) > 0 ||
				s.Sandbox.Network || s.Sandbox.Mode != "" || p.Mode != "default" && p.Mode != "dontAsk" || s.Run.MaxRounds > 200 {
				t.Errorf("trusted %v: the project widens %+v", trusted, s.Config)
			}
			if !trusted && (s.Model != safe.Model || s.Provider != safe.Provider || s.Effort != safe.Effort || s.Run != safe.Run || p.Mode != "default") {
				t.Errorf("an untrusted project changes %+v", s.Config)
			}
		}
		user := newWorld(t)
		user.write(config.LayerUser, text)
		before, err := config.Load(user.sources)
		if err != nil || user.file(config.LayerUser).Set("effort", "high") != nil || user.file(config.LayerUser).Add("permissions.deny", "x") != nil {
			return
		}
		after := user.load()
		if after.Effort != "high" || after.Model != before.Model || len(after.Permissions.Deny) < len(before.Permissions.Deny) {
			t.Errorf("after Set: %+v, before: %+v", after.Config, before.Config)
		}
	})
}
