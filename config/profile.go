package config

import (
	"path/filepath"

	"github.com/reins-agent/reins/internal/lazy"
)

// ProfileVariable is the environment variable that names the profile: a set of the user's settings that is chosen for a
// run or a shell.
const ProfileVariable = "REINS_PROFILE"

var validProfile = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// profileFile returns the file of the chosen profile, or a file without a path.
func (src Sources) profileFile() File {
	name, dir := src.getenv()(ProfileVariable), src.PersonalDir()
	if name == "" {
		return File{}
	}
	f := File{Layer: LayerProfile, Path: "profile " + name, required: true, profile: name}
	if dir != "" && validProfile().MatchString(name) {
		f.Path = filepath.Join(filepath.Dir(dir), "profiles", name+".toml")
	}
	return f
}
