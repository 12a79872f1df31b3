package gitrisk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/gitconfig"
	"github.com/reins-agent/reins/internal/lazy"
)

// programs are the settings whose values reading commands run, as of git 2.55. Other settings name programs
// too, such as editors, merge tools and mail commands. Reading commands do not run them.
var programs = []string{
	"core.fsmonitor", "core.pager", "core.alternaterefscommand",
	"diff.external", "diff.command", "diff.textconv",
	"filter.clean", "filter.smudge", "filter.process",
	"merge.driver", // of merge-tree and log --remerge-diff
	"gpg.program",  // of signatures in log
	"hook.command",
}

// transports are the settings that can run programs when git fetches objects that a partial clone lacks. After
// that git may also collect garbage.
var transports = []string{
	"core.sshcommand", "core.gitproxy", "core.askpass", "credential.helper", "remote.vcs", "remote.uploadpack",
	"url.insteadof", "gc.recentobjectshook",
}

// inert are values of settings that turn a program on or off, and programs that do nothing.
var inert = []string{"", "true", "false", "yes", "no", "on", "off", "1", "0", "cat"}

// runs reports whether reading commands run the program that a setting names.
func runs(s gitconfig.Setting) bool {
	switch s.Section {
	case "include", "includeif":
		return true // the file may contain anything
	case "alias": // can replace deprecated commands
		return s.Name == "whatchanged" || s.Sub == "whatchanged"
	case "submodule": // a repository that is not in .git/modules
		return s.Name == "gitdir" && (!strings.HasPrefix(s.Value, ".git/modules/") || strings.Contains(s.Value, ".."))
	}
	if s.Key() == "diff.submodule" { // runs git in directories that only old commits name
		return strings.EqualFold(s.Value, "diff")
	}
	return (s.Section == "pager" || slices.Contains(programs, s.Key())) && !slices.Contains(inert, strings.ToLower(s.Value))
}

// remote is a remote's name that is not a path, a URL or an option, and address a URL that git connects to with its own
// programs or ssh.
var (
	remote  = lazy.Regexp(`^[A-Za-z0-9][\w./-]*$`)
	address = lazy.Regexp(`^(https?|ssh)://[A-Za-z0-9]|^[A-Za-z0-9][\w.-]*@[A-Za-z0-9][\w.-]*:[^:]`)
)

// promisors returns the remotes from which git fetches missing objects.
func promisors(list []gitconfig.Setting) (names []string) {
	for _, s := range list {
		switch s.Key() {
		case "extensions.partialclone":
			names = append(names, s.Value)
		case "remote.promisor", "remote.partialclonefilter":
			names = append(names, s.Sub)
		}
	}
	return names
}

// fetches returns an error if fetching from a promisor can run programs that these settings name.
func fetches(list []gitconfig.Setting, names []string) error {
	for _, name := range names {
		known := false
		for _, s := range list {
			if s.Key() != "remote.url" || s.Sub != name {
				continue
			}
			if known = address().MatchString(s.Value); !known {
				break
			}
		}
		if !known || !remote().MatchString(name) {
			return fmt.Errorf("it is a partial clone of %s, which may run programs", quote(name))
		}
	}
	for _, s := range list {
		if len(names) > 0 && (s.Section == "protocol" || slices.Contains(transports, s.Key())) {
			return fmt.Errorf("%s in a partial clone", describe(s))
		}
	}
	return nil
}

func describe(s gitconfig.Setting) string { return s.Full() + " = " + quote(s.Value) }

// quote quotes a text from the repository, shortened.
func quote(text string) string {
	if len(text) > 80 {
		text = text[:80] + "..."
	}
	return fmt.Sprintf("%q", text)
}
