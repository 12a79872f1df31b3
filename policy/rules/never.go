package rules

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/credential"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/shell"
	"github.com/reins-agent/reins/policy"
)

// never returns a denial with the code policy.Never. wanted is a rule that lifts it.
func never(rule, why, wanted string) policy.Decision {
	return policy.Decision{
		Code: policy.Never, Rule: "never " + rule,
		Reason: fmt.Sprintf("%s; this is denied in every mode, and only a rule that names it, such as %s, allows it", why, wanted),
	}
}

// neverFile denies an access that is never right.
func (j *judge) neverFile(f file) (policy.Decision, bool) {
	rule, why := "", ""
	_, what := describe(f.Access)
	name := map[policy.Kind]string{policy.Read: "Read", policy.Write: "Edit", policy.Delete: "Delete"}[f.Kind]
	wanted := name + "(" + ruleFor(j.q.Workspace, f.Target) + ")"
	switch {
	case f.lifted:
	case f.Kind == policy.Read:
		switch t := fold(j.q.Workspace.Paths.ToSlash(f.Target)); {
		case isKey(j.q.Workspace, t, false):
			rule, why = "private keys", what+", which is a private key or a cloud credential"
		case (f.deep || !f.line) && isKey(j.q.Workspace, t, true):
			rule, why = "private keys", what+", which holds private keys or cloud credentials"
		}
	case f.whole || f.Kind == policy.Delete && !f.line:
		if is := vital(j.q.Workspace, f.Target); is != "" {
			rule, why = "delete the system", fmt.Sprintf("deletes or moves %s, %s", f.Target, is)
		}
	case f.Kind == policy.Write && f.deep:
		if is := vital(j.q.Workspace, f.Target); is != "" && f.Target != j.q.Workspace.Home && !slices.Contains(local, f.Target) {
			rule, why = "change the system's permissions", fmt.Sprintf("changes the permissions of everything in %s, %s", f.Target, is)
		}
	case f.Kind == policy.Write && j.device(f.Target):
		rule, why = "overwrite devices", what+", a device of the system"
	}
	if rule == "" || j.lifts(f) {
		return policy.Decision{}, false
	}
	if f.wanted != "" && f.Kind != policy.Read {
		wanted = f.wanted
	}
	return never(rule, why, wanted), true
}

// lifts reports whether a rule names the very path that is accessed.
func (j *judge) lifts(f file) bool {
	return slices.ContainsFunc(j.rules.Allow, func(r Rule) bool {
		w := j.q.Workspace
		return !strings.ContainsAny(r.pattern, "*?[{") && r.pattern != "" && !r.project && j.concerns(r, f) && r.matches(w, f.Target) &&
			!r.matches(w, w.Paths.Dir(f.Target))
	})
}

// neverPattern denies a pattern that matches all files in a directory, if deleting that directory is denied.
func (j *judge) neverPattern(f file) (policy.Decision, bool) {
	if !f.glob || !f.whole && f.Kind != policy.Read && !f.deep {
		return policy.Decision{}, false
	}
	if g := f; f.Kind == policy.Read && isKey(j.q.Workspace, fold(f.Target), false) { // as in ~/.ssh/id_*
		g.glob = false
		return j.neverFile(g)
	}
	dir := f.Target[:strings.IndexAny(f.Target, "*?[")]
	dir = dir[:strings.LastIndexByte(dir, '/')+1]
	if strings.Trim(f.Target[len(dir):], "*?[]!^./") != "" {
		return policy.Decision{}, false
	}
	if real := j.q.Workspace.Paths.Clean(dir); j.q.Workspace.Files == nil {
		dir = real
	} else if r, err := j.real(dir); err == nil {
		dir = r
	}
	f.Target, f.glob = dir, false
	f.deep = f.deep || f.Kind == policy.Read
	return j.neverFile(f)
}

// neverEffect denies a command that is never right, whatever files it names.
func (j *judge) neverEffect(e shell.Effect, what, line string) (policy.Decision, bool) {
	if e.Endless != "" {
		return never("fork bombs", what+": "+e.Endless, "Bash("+line+")"), true
	}
	w := j.q.Workspace
	for _, m := range e.Mentions {
		target := fold(w.Paths.ToSlash(m))
		if (isKey(w, target, false) || isKey(w, target, true)) && !signsIn(e.Words, m) &&
			!j.lifts(file{Access: policy.Access{Kind: policy.Read, Target: m}}) {
			return never(
				"private keys",
				what+": it gets "+m+", which is or holds a private key or a cloud credential",
				naming(e, line),
			), true
		}
	}
	return policy.Decision{}, false
}

// signers are programs that use private keys without giving them away.
var signers = strings.Fields("ssh ssh-add ssh-keygen ssh-copy-id ssh-keyscan sftp mosh autossh sshfs")

// signsIn reports whether a command uses a private key to sign in, and does nothing else with it.
func signsIn(words []string, key string) bool {
	if len(words) == 0 {
		return false
	}
	switch name := path.Base(words[0]); {
	case slices.Contains(signers, name):
		return true
	case name == "git":
		return gitSigns(words[1:], key)
	case strings.HasPrefix(name, "gpg"):
		return strings.Contains(key, "/.gnupg")
	}
	option := false
	for i, w := range words[1:] {
		named := slices.Contains([]string{"-i", "--key", "--private-key"}, words[i])
		if strings.Contains(w, path.Base(key)) && !(named && w == key) {
			return false
		}
		option = option || named && w == key
	}
	return option && slices.Contains([]string{"scp", "rsync", "curl", "age", "ansible", "ansible-playbook"}, path.Base(words[0]))
}

// gitSigns reports whether git only passes a private key on, as in -c core.sshCommand="ssh -i KEY". As a file argument,
// git would save or show it.
func gitSigns(args []string, key string) bool {
	if len(args) > 0 && args[0] == "config" {
		return true
	}
	return !slices.ContainsFunc(args, func(w string) bool {
		setting := strings.Contains(w, " ") || strings.HasPrefix(strings.ToLower(w), "user.signingkey=")
		return !setting && path.Base(w) == path.Base(key)
	})
}

// naming returns the rule for exactly a command in a line, or for the line if it has a pattern. It returns "" for a
// command without words.
func naming(e shell.Effect, line string) string {
	switch {
	case len(e.Words) == 0 || slices.Contains(e.Words, shell.Unset):
		return ""
	case slices.ContainsFunc(e.Words, func(w string) bool { return strings.Contains(w, "*") }):
		return "Bash(" + strings.TrimSpace(line) + ")"
	}
	return "Bash(" + canonical(e.Words) + ")"
}

// exactly reports whether a rule is for this command in a line, or for this line, and for no other.
func (r Rule) exactly(e shell.Effect, line string) bool {
	switch {
	case !slices.Contains(r.kinds, policy.Exec) || r.project:
		return false
	case r.text == "Bash("+strings.TrimSpace(line)+")":
		return true
	case r.words == nil || r.prefix:
		return false
	}
	return slices.ContainsFunc(append([][]string{e.Words}, e.Outer...), func(words []string) bool { return slices.Equal(r.words, words) })
}

// isKey reports whether a path in folded form is a private key.
func isKey(w policy.Workspace, target string, whole bool) bool {
	homes := []string{fold(w.Paths.ToSlash(w.Home)), "/root"}
	if m := someHome().FindString(target); m != "" {
		homes = append(homes, m)
	}
	return slices.ContainsFunc(homes, func(home string) bool { return credential.Key(home, target, whole) })
}

var someHome = lazy.Regexp(`^(/home|/users|[a-z]:/users)/[^/]+`)

// systemDirs are directories that a system cannot work without, or that hold all users' files.
var systemDirs = strings.Fields(`/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /nix /opt /proc /root /run /sbin /srv /sys /usr /var
	/usr/bin /usr/lib /usr/lib64 /usr/sbin /Applications /Library /System /Users /Volumes /private /private/etc /private/var`)

// local are directories that users fill themselves, and whose permissions they change.
var local = []string{"/home", "/opt", "/srv", "/nix", "/Volumes"}

// root reports whether a path is a file system root.
func root(w policy.Workspace, target string) bool { return w.Paths.Dir(target) == target }

// vital returns what a directory is, if deleting all of it is never right, or "".
func vital(w policy.Workspace, target string) string {
	switch {
	case root(w, target):
		return "the whole file system"
	case w.Home != "" && w.Paths.Key(target) == w.Paths.Key(w.Home):
		return "the home directory"
	case w.Home != "" && w.Paths.Within(target, w.Home):
		return "which contains the home directory"
	case slices.ContainsFunc(systemDirs, func(dir string) bool { return w.Paths.Key(dir) == w.Paths.Key(target) }):
		return "a directory of the system"
	}
	return ""
}

// disks matches disks, memory devices and files that restart a system.
var disks = lazy.Regexp(`^(/dev/([shvx]v?d[a-z]+\d*|nvme\d.*|mmcblk\d.*|r?disk\d.*|dm-\d+|md\d.*|sr\d+|mapper/.+|disk/.+|k?mem|port)|` +
	`/proc/sysrq-trigger)$`)

// virtual matches block devices that users create themselves, from files and memory.
var virtual = lazy.Regexp(`^/dev/(loop|ram|zram|nbd|fd)`)

// device reports whether a path is a block device, by its name or because it is one.
func (j *judge) device(target string) bool {
	matches := func(re func() *regexp.Regexp) bool { return re().MatchString(target) }
	switch w := j.q.Workspace; {
	case matches(disks):
		return !strings.HasSuffix(target, "/control")
	case !strings.HasPrefix(target, "/dev/") || matches(virtual) || w.Files == nil:
		return false
	default:
		return isBlock(j.ctx, w, target)
	}
}

func isBlock(ctx context.Context, w policy.Workspace, target string) bool {
	entries, _ := w.Files.ReadDir(ctx, w.Paths.Dir(target))
	for _, e := range entries {
		if e.Name == w.Paths.Base(target) {
			return e.Mode&fs.ModeDevice != 0 && e.Mode&fs.ModeCharDevice == 0
		}
	}
	return false
}
