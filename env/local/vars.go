package local

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
)

// Inherit selects the host variables that commands inherit.
type Inherit int

const (
	// InheritListed passes what programs need, such as PATH and HOME, and the variables in Config.Pass. A
	// listed variable whose value has a password in a URL is not passed.
	InheritListed Inherit = iota
	// InheritAll passes everything.
	InheritAll
	// InheritNone passes nothing.
	InheritNone
)

// listed are the variables that InheritListed passes. A name that ends in * stands for all that begin with it. Secrets
// have all kinds of names, so only names that are known to hold none are listed.
var listed = nameSet(`
	PATH HOME USER LOGNAME SHELL PWD OLDPWD SHLVL HOSTNAME LANG LANGUAGE LC_* TZ TERM COLORTERM TERM_PROGRAM
	COLUMNS LINES LS_COLORS NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TMPDIR DISPLAY WAYLAND_DISPLAY XAUTHORITY
	XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS
	XDG_SESSION_TYPE SSH_AUTH_SOCK GPG_TTY MANPATH INFOPATH CI GITHUB_ACTIONS GITLAB_CI SOURCE_DATE_EPOCH
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE
	REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME
	GIT_COMMITTER_EMAIL GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM EMAIL
	CC CXX CPP LD AR NM RANLIB AS FC CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS LD_LIBRARY_PATH LD_RUN_PATH
	LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH PKG_CONFIG PKG_CONFIG_PATH PKG_CONFIG_LIBDIR
	PKG_CONFIG_SYSROOT_DIR CMAKE_PREFIX_PATH CMAKE_GENERATOR CMAKE_BUILD_PARALLEL_LEVEL CTEST_OUTPUT_ON_FAILURE
	MAKEFLAGS NINJA_STATUS DYLD_LIBRARY_PATH SDKROOT DEVELOPER_DIR MACOSX_DEPLOYMENT_TARGET HOMEBREW_PREFIX
	GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOENV GOFLAGS GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE
	GOTOOLCHAIN GOWORK GOVCS GO111MODULE GOOS GOARCH GOARM GOAMD64 GOEXPERIMENT GODEBUG GOGC GOMEMLIMIT
	GOMAXPROCS GOTRACEBACK GORACE GOTMPDIR CGO_*
	CARGO_HOME CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_BUILD_JOBS CARGO_INCREMENTAL CARGO_NET_OFFLINE
	CARGO_TERM_COLOR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUSTDOCFLAGS RUST_BACKTRACE RUST_LOG RUSTC_WRAPPER
	NVM_DIR NVM_BIN NVM_INC NODE_PATH NODE_ENV NODE_OPTIONS FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME PNPM_HOME
	COREPACK_HOME BUN_INSTALL DENO_DIR PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN
	PYENV_ROOT PYENV_VERSION VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE PYTHONPATH PYTHONHOME
	PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONWARNINGS PYTEST_ADDOPTS PIPX_HOME POETRY_HOME
	UV_CACHE_DIR UV_PYTHON MYPYPATH RBENV_ROOT RBENV_VERSION GEM_HOME GEM_PATH BUNDLE_PATH BUNDLE_GEMFILE RUBYLIB
	RUBYOPT JAVA_HOME JDK_HOME JAVA_OPTS JAVA_TOOL_OPTIONS MAVEN_HOME M2_HOME MAVEN_OPTS GRADLE_HOME
	GRADLE_USER_HOME GRADLE_OPTS KOTLIN_HOME SCALA_HOME SBT_OPTS SDKMAN_DIR DOTNET_ROOT
	DOTNET_CLI_TELEMETRY_OPTOUT NUGET_PACKAGES ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME FLUTTER_ROOT
	PUB_CACHE ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE
	LUA_PATH LUA_CPATH PERL5LIB PHPRC COMPOSER_HOME R_HOME R_LIBS JULIA_DEPOT_PATH GHCUP_INSTALL_BASE_PREFIX
	STACK_ROOT OPAMROOT ERL_AFLAGS MIX_ENV ZIG_GLOBAL_CACHE_DIR CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERPROFILE USERNAME USERDOMAIN COMPUTERNAME HOMEDRIVE
	HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES
	NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE OS VSINSTALLDIR VCINSTALLDIR INCLUDE LIB LIBPATH`)

// names is a set of variables, by upper-case name.
type names struct {
	exact    map[string]bool
	prefixes []string
}

func nameSet(list ...string) names {
	n := names{exact: make(map[string]bool)}
	for _, text := range list {
		for name := range strings.FieldsSeq(strings.ToUpper(text)) {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				n.prefixes = append(n.prefixes, prefix)
			} else {
				n.exact[name] = true
			}
		}
	}
	return n
}

func (n names) has(upper string) bool {
	return n.exact[upper] || slices.ContainsFunc(n.prefixes, func(p string) bool { return strings.HasPrefix(upper, p) })
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

// inherits reports whether commands inherit a host variable.
func (c Config) inherits(name, value string, pass names) bool {
	switch c.Inherit {
	case InheritAll:
		return true
	case InheritNone:
		return false
	}
	upper := strings.ToUpper(name)
	return pass.has(upper) || listed.has(upper) && !hasPassword(value)
}

// hasPassword reports whether a value contains a URL with a password or token.
func hasPassword(value string) bool {
	for rest := value; ; {
		_, after, ok := strings.Cut(rest, "://")
		if !ok {
			return false
		}
		if host, _, _ := strings.Cut(after, "/"); strings.Contains(host, "@") {
			return true
		}
		rest = after
	}
}

// baseVars returns the variables for every command except the marker, and the names of withheld variables.
func baseVars(c Config, host []string) (vars map[string]string, withheld []string) {
	vars = make(map[string]string, len(host))
	pass := nameSet(c.Pass...)
	for _, kv := range host {
		// Windows has hidden variables whose names begin with "=".
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "" || name == markerName:
		case c.inherits(name, value, pass):
			vars[name] = value
		default:
			withheld = append(withheld, name)
		}
	}
	setVars(vars, quiet)
	setVars(vars, c.Vars)
	withheld = slices.DeleteFunc(withheld, func(name string) bool { _, set := vars[name]; return set })
	slices.Sort(withheld)
	return vars, withheld
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

// varList returns variables as a sorted list of NAME=VALUE. It reuses equal strings from have, so that all environments
// share them.
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

// environment returns the variables for a command: the environment's, overridden by the command's, and the marker. The
// marker comes first, where it is found fastest. It includes the marks of any environment that this program runs in.
func (e *Env) environment(c env.Command, mark string) []string {
	base, more := e.vars, c.Env
	switch {
	case e.outside:
		base = e.outer
	case c.ReadOnly && e.box != nil:
		base = e.readVars
	}
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
