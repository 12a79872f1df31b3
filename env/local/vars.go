package local

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Inherit says which variables of the host's own environment commands get to see.
type Inherit int

const (
	// InheritFiltered passes on everything except what looks like a secret.
	InheritFiltered Inherit = iota
	// InheritAll passes on everything.
	InheritAll
	// InheritNone passes on nothing: commands see Config.Vars and the quiet variables only.
	InheritNone
	// InheritCore passes on only what programs need to work: PATH, HOME and their like.
	InheritCore
)

// secretEndings are the ends of names that InheritFiltered holds back, in any case. A name that is
// nothing but such an ending, without its underscore, counts too.
var secretEndings = []string{
	"_API_KEY", "_APIKEY", "_SECRET", "_SECRETS", "_TOKEN", "_PASSWORD", "_PASSWD", "_PASSPHRASE",
	"_CREDENTIAL", "_CREDENTIALS", "_ACCESS_KEY", "_SECRET_KEY", "_PRIVATE_KEY",
}

// coreNames are always kept by InheritFiltered, and all that InheritCore keeps, besides LC_*.
var coreNames = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true,
	"LANGUAGE": true, "TERM": true, "COLORTERM": true, "TZ": true, "TMPDIR": true, "PWD": true,
	"XDG_RUNTIME_DIR": true, "XDG_CONFIG_HOME": true, "XDG_CACHE_HOME": true, "XDG_DATA_HOME": true,

	"GOPATH": true, "GOROOT": true, "GOBIN": true, "GOCACHE": true, "GOMODCACHE": true,
	"CARGO_HOME": true, "RUSTUP_HOME": true, "NVM_DIR": true, "NVM_BIN": true, "NODE_PATH": true,
	"FNM_DIR": true, "VOLTA_HOME": true, "PNPM_HOME": true, "BUN_INSTALL": true, "DENO_DIR": true,
	"PYENV_ROOT": true, "VIRTUAL_ENV": true, "CONDA_PREFIX": true, "PYTHONPATH": true,
	"RBENV_ROOT": true, "GEM_HOME": true, "GEM_PATH": true, "JAVA_HOME": true, "MAVEN_HOME": true,
	"GRADLE_HOME": true, "SDKMAN_DIR": true, "DOTNET_ROOT": true, "ANDROID_HOME": true,
	"ASDF_DIR": true, "ASDF_DATA_DIR": true, "MISE_DATA_DIR": true, "LD_LIBRARY_PATH": true,

	"SYSTEMROOT": true, "SYSTEMDRIVE": true, "WINDIR": true, "COMSPEC": true, "PATHEXT": true,
	"TEMP": true, "TMP": true, "USERPROFILE": true, "USERNAME": true, "HOMEDRIVE": true,
	"HOMEPATH": true, "APPDATA": true, "LOCALAPPDATA": true, "PROGRAMDATA": true,
	"PROGRAMFILES": true, "PROGRAMFILES(X86)": true, "PROGRAMW6432": true,
	"NUMBER_OF_PROCESSORS": true, "PROCESSOR_ARCHITECTURE": true,
}

// quiet are the variables that keep programs from waiting for a person.
//
// An editor that does nothing accepts the text it is offered, as an amended commit or a merge
// wants it, and an empty commit message still fails. The todo list of an interactive rebase must
// not be accepted unseen, so its editor fails instead.
var quiet = map[string]string{
	"GIT_EDITOR":               "true",
	"GIT_SEQUENCE_EDITOR":      "false",
	"GIT_TERMINAL_PROMPT":      "0",
	"GCM_INTERACTIVE":          "never",
	"SSH_ASKPASS_REQUIRE":      "never",
	"EDITOR":                   "true",
	"VISUAL":                   "true",
	"HGPLAIN":                  "1",
	"PAGER":                    "cat",
	"GIT_PAGER":                "cat",
	"GH_PAGER":                 "cat",
	"MANPAGER":                 "cat",
	"SYSTEMD_PAGER":            "cat",
	"AWS_PAGER":                "",
	"DEBIAN_FRONTEND":          "noninteractive",
	"APT_LISTCHANGES_FRONTEND": "none",
	"PIP_NO_INPUT":             "1",
	"POETRY_NO_INTERACTION":    "1",
	"COMPOSER_NO_INTERACTION":  "1",
	"GH_PROMPT_DISABLED":       "1",
	"TF_INPUT":                 "0",
}

// inherits reports whether a variable of the host is passed on.
func (i Inherit) inherits(name string) bool {
	upper := strings.ToUpper(name)
	core := coreNames[upper] || strings.HasPrefix(upper, "LC_")
	switch i {
	case InheritAll:
		return true
	case InheritNone:
		return false
	case InheritCore:
		return core
	default:
		return core || !secret(upper)
	}
}

// secret reports whether a name in upper case looks like that of a secret.
func secret(upper string) bool {
	return slices.ContainsFunc(secretEndings, func(end string) bool {
		return strings.HasSuffix(upper, end) || upper == end[1:]
	})
}

// baseVars makes the variables every command gets, by name, except the marker.
func baseVars(c Config, host []string) map[string]string {
	vars := make(map[string]string, len(host))
	for _, kv := range host {
		// Windows has hidden variables whose names begin with "=".
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && c.Inherit.inherits(name) {
			vars[name] = value
		}
	}
	setVars(vars, quiet)
	setVars(vars, c.Vars)
	delete(vars, markerName)
	return vars
}

// setVars sets variables over others. On Windows names that differ in case are the same.
func setVars(vars, more map[string]string) {
	for name, value := range more {
		if runtime.GOOS == "windows" {
			maps.DeleteFunc(vars, func(have, _ string) bool { return strings.EqualFold(have, name) })
		}
		vars[name] = value
	}
}

// varList turns variables into the form that starting a process takes. It takes the strings of have
// where they fit, which all environments of a process then share.
func varList(vars map[string]string, have []string) []string {
	list := make([]string, 0, len(vars))
	taken := make(map[string]bool, len(vars))
	for _, kv := range have {
		name, value, _ := strings.Cut(kv, "=")
		if v, ok := vars[name]; ok && v == value && !taken[name] {
			list = append(list, kv)
			taken[name] = true
		}
	}
	for name, value := range vars {
		if !taken[name] {
			list = append(list, name+"="+value)
		}
	}
	slices.Sort(list)
	return list
}

// environment gives the variables of one command: the environment's own, those of the command over
// them, and the marker that says whose descendant a process is. The marker comes first, where it
// is found soonest, and keeps the marks of an environment that this program itself runs in.
func (e *Env) environment(more map[string]string, mark string) []string {
	base := e.vars
	if len(more) > 0 {
		vars := make(map[string]string, len(base)+len(more))
		for _, kv := range base {
			name, value, _ := strings.Cut(kv, "=")
			vars[name] = value
		}
		setVars(vars, more)
		delete(vars, markerName)
		base = varList(vars, base)
	}
	list := make([]string, 0, len(base)+1)
	list = append(list, markerName+"="+e.outerMark+mark)
	return append(list, base...)
}
