package local

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Inherit selects the variables of the host that commands inherit.
type Inherit int

const (
	// InheritFiltered passes everything except variables that look like secrets.
	InheritFiltered Inherit = iota
	// InheritAll passes everything.
	InheritAll
	// InheritNone passes nothing.
	InheritNone
	// InheritCore passes only what programs need, such as PATH and HOME.
	InheritCore
)

// secretEndings are the suffixes of names that InheritFiltered drops, ignoring case. A name that
// equals a suffix without its underscore is dropped too.
var secretEndings = []string{
	"_API_KEY", "_APIKEY", "_SECRET", "_SECRETS", "_TOKEN", "_PASSWORD", "_PASSWD", "_PASSPHRASE",
	"_CREDENTIAL", "_CREDENTIALS", "_ACCESS_KEY", "_SECRET_KEY", "_PRIVATE_KEY",
}

// coreNames and LC_* are all that InheritCore passes. InheritFiltered always passes them.
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

// quiet has variables that keep programs from waiting for user input. Every command gets them.
//
// "true" as the editor accepts the proposed text, which suits an amended commit or a merge; an empty
// commit message still fails. The todo list of an interactive rebase must not be accepted unseen, so
// its editor fails.
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

// inherits reports whether commands inherit a variable of the host.
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

// secret reports whether an upper-case name looks like a secret.
func secret(upper string) bool {
	return slices.ContainsFunc(secretEndings, func(end string) bool {
		return strings.HasSuffix(upper, end) || upper == end[1:]
	})
}

// baseVars returns the variables of every command except the marker.
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

// setVars adds variables, overriding existing ones. Names ignore case on Windows.
func setVars(vars, more map[string]string) {
	for name, value := range more {
		if runtime.GOOS == "windows" {
			maps.DeleteFunc(vars, func(have, _ string) bool { return strings.EqualFold(have, name) })
		}
		vars[name] = value
	}
}

// varList returns variables as a sorted list of NAME=VALUE. It reuses equal strings of have, so that
// all environments share them.
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

// environment returns the variables of a command: those of the environment, overridden by its own,
// and the marker. The marker comes first, where it is found fastest. It includes the marks of an
// environment that this program runs in.
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
