package shell

import (
	"path"
	"slices"
	"strings"
)

// Widening returns the first option in a command that makes its program run another program, or write a file that the
// option names: more than the program's own name suggests. The words are [Effect].Words. The option is written as in
// the words, without its value, such as "--pre" for rg --pre=x. For programs that take such a request in another form,
// it is the word that contains it, such as the script in sed 'w x'. It is [Unset] if a word that is only known when the
// line runs may be such an option.
func Widening(words []string) (option string, ok bool) {
	if len(words) == 0 {
		return "", false
	}
	fill()
	in := &invocation{a: newAnalyzer(Options{Dir: "/"}), st: &state{dirs: []string{"/"}}, name: path.Base(words[0]),
		effect: &Effect{Words: words}}
	for _, w := range words[1:] {
		if w == Unset {
			in.args = append(in.args, arg{{many: true}})
		} else {
			in.args = append(in.args, literal(w))
		}
	}
	return in.widening()
}

// widening finds the option by the table that describes the program.
func (in *invocation) widening() (string, bool) {
	switch in.name {
	case "find":
		return in.firstWord(func(w string) bool { return slices.Contains(findWidens, w) })
	case "sed", "gsed":
		return in.sedWidens()
	case "awk", "gawk", "mawk":
		return in.awkWidens()
	case "git":
		return in.gitWidens()
	case "go", "gcc", "g++", "cc", "c++", "clang", "clang++", "gofmt":
		return in.dashWidens(dashWidens[in.name])
	}
	if in.name == "xxd" {
		return in.firstOutput()
	}
	if p, ok := widens[in.name]; ok {
		return in.tableWidens(p)
	}
	if p, ok := programs[in.name]; ok {
		return in.tableWidens(p)
	}
	return "", false
}

// tableWidens finds an option by a table.
func (in *invocation) tableWidens(p program) (string, bool) {
	if in.name == "tar" && len(in.args) > 0 { // the letters in its first word need no dash
		if at := strings.IndexAny(in.args[0].word(), p.writes); at >= 0 && in.args[0].word()[0] != '-' {
			return "-" + in.args[0].word()[at:at+1], true
		}
	}
	opts, rest, certain := p.parse(in.args)
	for _, o := range opts {
		if o.in(p.writes, p.writesLong) || o.in(p.outputs, p.outputsLong) {
			return o.String(), true
		}
	}
	switch {
	case p.operands == secondOut && len(rest) > 1:
		return rest[1].word(), true
	case !certain && p.dangerous():
		return Unset, true
	}
	return "", false
}

// firstOutput finds the operand that is written.
func (in *invocation) firstOutput() (string, bool) {
	in.judge()
	for _, a := range in.effect.Accesses {
		if a.Kind == Write {
			return path.Base(a.Path), true
		}
	}
	return Unset, in.effect.Unknown != ""
}

// firstWord finds the first word for which is reports true, or may.
func (in *invocation) firstWord(is func(string) bool) (string, bool) {
	for _, g := range in.args {
		w, ok := g.text()
		switch {
		case !ok && g.maybeOption():
			return Unset, true
		case is(w):
			return w, true
		}
	}
	return "", false
}

// findWidens are the actions of find that run commands, change files, or take names from a file.
var findWidens = strings.Fields("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from")

// dashWidens are options of programs whose long options begin with one dash.
var dashWidens = map[string][]string{
	"go": strings.Fields("exec toolexec vettool o overlay modfile pkgdir outputdir coverprofile cpuprofile memprofile " +
		"blockprofile mutexprofile trace test.coverprofile test.cpuprofile test.memprofile test.blockprofile " +
		"test.mutexprofile test.trace test.outputdir test.gocoverdir test.testlogfile ldflags gccgoflags gcflags asmflags " +
		"compiler w u"),
	"gofmt": {"w", "cpuprofile"}, "gcc": compilerWidens, "g++": compilerWidens, "cc": compilerWidens, "c++": compilerWidens,
	"clang": compilerWidens, "clang++": compilerWidens,
}

var compilerWidens = strings.Fields("wrapper fplugin specs B fuse-ld load fpass-plugin")

// dashWidens finds an option by its name, with one dash or two.
func (in *invocation) dashWidens(names []string) (string, bool) {
	for i, g := range in.args {
		w, ok := g.text()
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		switch {
		case !ok && g.maybeOption():
			return Unset, true
		case w == "--" || w == "-args" || w == "--args" || i > 0 && in.args[0].is("run") && !dashed(g) && !dashed(in.args[i-1]):
			return "", false // the rest are words for the program that it runs
		case dashed(g) && (slices.Contains(names, name) || slices.Contains(names, "B") && strings.HasPrefix(w, "-B")):
			return w[:len(w)-len(strings.TrimLeft(w, "-"))] + name, true
		}
	}
	return "", false
}

func dashed(g arg) bool { return strings.HasPrefix(g.word(), "-") }

// sedWidens finds -i, a script from a file, or a script that writes or runs something.
func (in *invocation) sedWidens() (string, bool) {
	c := in.sedCommand()
	switch {
	case c.edits:
		return "-i", true
	case c.fromFile:
		return "-f", true
	case !c.certain:
		return Unset, true
	}
	for _, g := range c.scripts {
		if script, ok := g.text(); !ok || !sedOnlyPrints(script) {
			return g.word(), true
		}
	}
	return "", false
}

// awkWidens finds a program that writes or runs something, or an option that loads one.
func (in *invocation) awkWidens() (string, bool) {
	_, program, loads := in.awkWords()
	if loads != "" {
		return loads, true
	}
	if source, ok := program.text(); program != nil && (!ok || !awkOnlyPrints(source)) {
		return program.word(), true
	}
	return "", false
}

// gitWidens finds an option before or after git's subcommand.
func (in *invocation) gitWidens() (string, bool) {
	_, rest, ok := in.gitGlobals()
	if len(rest) == 0 {
		return "", false
	}
	sub, known := rest[0].text()
	if !ok || !known {
		name, _, _ := strings.Cut(sub, "=")
		if !known {
			name = Unset
		}
		return name, true
	}
	in.args = rest[1:]
	if p, ok := gitWidens[sub]; ok {
		return in.tableWidens(p)
	}
	return in.tableWidens(gitReads[sub])
}

// gitWidens are options for git subcommands that change something. Reading subcommands are in gitReads.
var gitWidens = map[string]program{
	"push": {writesLong: []string{"receive-pack", "exec"}, values: "o"}, "fetch": {writesLong: []string{"upload-pack"}},
	"pull": {writesLong: []string{"upload-pack"}}, "ls-remote": {writesLong: []string{"upload-pack", "exec"}},
	"clone":  {writes: "uc", writesLong: []string{"upload-pack", "config", "template", "separate-git-dir"}, values: "bojuc"},
	"init":   {writesLong: []string{"template", "separate-git-dir"}},
	"rebase": {writes: "x", writesLong: []string{"exec"}, values: "xsX"}, "archive": {writes: "o", writesLong: []string{"exec",
		"output", "remote"}, values: "o"}, "difftool": {writes: "x", writesLong: []string{"extcmd", "tool"}, values: "xt"},
	"format-patch": {writes: "o", writesLong: []string{"output-directory", "output", "ext-diff", "textconv"}, values: "ov"},
	"send-email":   {writesLong: []string{"smtp-server", "sendmail-cmd", "to-cmd", "cc-cmd", "header-cmd"}},
	"stash":        gitDiff, "apply": {writesLong: []string{"directory", "unsafe-paths"}, values: "pC"},
	"merge":          {writes: "s", writesLong: []string{"strategy"}, values: "msXF"},
	"checkout-index": {writesLong: []string{"prefix"}}, "fast-export": {writesLong: []string{"export-marks"}},
	"filter-branch": {writes: "d", writesLong: []string{"env-filter", "tree-filter", "index-filter", "msg-filter",
		"commit-filter", "parent-filter", "tag-name-filter", "setup"}, values: "d"},
}

// widens are options of programs that are not judged to only read, and so are not in the table of programs.
var widens = map[string]program{
	"tar": {writes: "CFIP", writesLong: []string{"to-command", "checkpoint-action", "use-compress-program", "rsh-command",
		"rmt-command", "info-script", "new-volume-script", "index-file", "directory", "absolute-names", "files-from"},
		values: "fCFIbKNTXgHLV", valuesLong: []string{"file", "exclude"}},
	"rsync": {writes: "e", writesLong: []string{"rsh", "rsync-path", "log-file", "temp-dir", "backup-dir", "partial-dir",
		"write-batch", "compare-dest", "copy-as"}, values: "efTBM", valuesLong: []string{"exclude", "include", "filter"}},
	"curl": {writes: "oOKcDTJ", writesLong: []string{"output", "remote-name", "remote-name-all", "output-dir", "config",
		"cookie-jar", "dump-header", "upload-file", "trace", "trace-ascii", "stderr", "libcurl", "etag-save", "hsts", "alt-svc",
		"engine"},
		values: "oKcDTAbdeEFhHmPQrtuUwxXyYzC", valuesLong: []string{"header", "data", "user", "request", "url", "form", "user-agent"}},
	"wget": {writes: "OoaPe", writesLong: []string{"output-document", "output-file", "append-output", "directory-prefix",
		"execute", "use-askpass", "warc-file", "save-cookies", "config", "post-file", "body-file"}, values: "OoaPeUtTwQiBADRIX"},
	"scp":   {writes: "oFSD", values: "oFSDcilPJ"},
	"ssh":   {writes: "oFEJ", values: "oFEJbcDeIilLmOpQRSWw"},
	"zip":   {writes: "TO", writesLong: []string{"unzip-command", "out"}, values: "O"},
	"unzip": {writes: "d", values: "dx"},
	"make":  {writes: "fE", writesLong: []string{"file", "makefile", "eval", "include-dir"}, values: "fECIoWj"},
	"npm":   npmWidens,
	"pnpm":  npmWidens,
	"yarn":  npmWidens,
	"cargo": {writes: "Z", writesLong: []string{"config", "target-dir", "artifact-dir", "out-dir"}, values: "Zp",
		valuesLong: []string{"package", "features", "test", "bin"}},
	"pytest": {writes: "pco", writesLong: []string{"config-file", "override-ini", "rootdir", "basetemp", "junitxml", "junit-xml",
		"pdbcls", "log-file", "confcutdir"}, values: "pcokmnrW"},
	"eslint": {writes: "cof", writesLong: []string{"config", "output-file", "format", "rulesdir", "resolve-plugins-relative-to",
		"parser", "plugin", "flag"}, values: "cof"},
	"pip":  pipWidens,
	"pip3": pipWidens,
	"gradle": {writes: "Ibcp", writesLong: []string{"init-script", "build-file", "settings-file", "project-dir",
		"project-cache-dir", "gradle-user-home", "include-build"}, values: "Ibcpxg"},
	"mvn": {writes: "fs", writesLong: []string{"file", "settings", "global-settings", "toolchains"}, values: "fsP"},
	"man": {writes: "PHC", writesLong: []string{"pager", "html", "config-file", "preprocessor"}, values: "PCMLmrRsSep"},
}

var npmWidens = program{writes: "C", writesLong: []string{"prefix", "dir", "cwd", "script-shell", "shell", "node-options",
	"userconfig", "globalconfig", "git", "editor", "viewer", "browser", "use-yarnrc", "global"}, values: "Cw",
	valuesLong: []string{"workspace", "filter"}}

var pipWidens = program{writes: "t", writesLong: []string{"target", "prefix", "root", "global-option", "config-settings", "python",
	"log", "src", "cache-dir"}, values: "trcei", valuesLong: []string{"requirement", "index-url"}}
