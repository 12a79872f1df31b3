package shell

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

// gitReads are the subcommands of git that only read, with the options that make them do more.
var gitReads = map[string]program{
	"status": {}, "log": gitDiff, "diff": gitDiff, "show": gitDiff, "whatchanged": gitDiff, "shortlog": gitDiff, "blame": gitBlame,
	"annotate":  gitBlame,
	"diff-tree": gitDiff, "diff-index": gitDiff, "diff-files": gitDiff, "range-diff": gitDiff,
	"ls-files": {values: "x", files: "X", filesLong: []string{"exclude-from"}}, "ls-tree": {},
	"rev-parse": {writesLong: []string{"show-superproject-working-tree"}},
	"rev-list":  gitDiff, "describe": {}, "name-rev": {}, "merge-base": {}, "for-each-ref": {valuesLong: []string{"format", "sort",
		"count"}},
	"show-ref": {writes: "d", writesLong: []string{"delete"}}, "show-branch": {}, "count-objects": {}, "check-ignore": {},
	"check-attr": {}, "check-mailmap": {},
	"cherry": {}, "version": {}, "var": {}, "cat-file": {writesLong: []string{"textconv", "filters", "batch", "batch-command"}},
	"grep": {writes: "O", writesLong: []string{"open-files-in-pager", "ext-grep", "textconv"}, values: "efABCm", files: "f"},
}

// gitBlame describes commands that show the origin of lines. They accept the options of git diff.
var gitBlame = program{values: "LS", files: "S", filesLong: []string{"contents", "ignore-revs-file"}, outputsLong: []string{"output"}}

// gitDiff describes commands that show differences. With --submodule they run git in directories that any commit
// may name.
var gitDiff = program{
	writesLong:  []string{"ext-diff", "textconv", "show-signature", "submodule"},
	outputsLong: []string{"output"},
	values:      "nSGLOU",

	files: "O",

	valuesLong: []string{"max-count", "skip", "since", "after", "until", "before", "author", "committer", "grep", "date",
		"diff-filter"},
}

// gitLists are subcommands that only read if they get no names, or an option that lists.
var gitLists = map[string]struct {
	lists  []string // options that make names harmless
	writes program
}{
	"branch": {[]string{"--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--show-current"},
		program{
			writes: "dDmMcCfut", writesLong: []string{"delete", "move", "copy", "force", "set-upstream-to", "unset-upstream",
				"edit-description", "track", "create-reflog"},
			valuesLong: []string{"sort", "format"},
		}},
	"tag": {[]string{"--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "-n"}, program{
		writes: "dasmFfeuv", writesLong: []string{"delete", "annotate", "sign", "message", "file", "force", "edit", "local-user",
			"verify", "create-reflog", "cleanup", "trailer"},
		valuesLong: []string{"sort", "format"},
	}},
}

// gitNegations are options of branch and tag that begin with "no-" and undo no listing.
var gitNegations = []string{"no-contains", "no-merged", "no-color", "no-column", "no-abbrev"}

// gitSub are subcommands whose first word selects their effect.
var gitSub = map[string][]string{
	"stash": {"list", "show"}, "remote": {"", "-v", "--verbose", "get-url"}, "reflog": {"", "show", "exists"}, "worktree": {"list"},
	"notes": {"", "list", "show"}, "bisect": {"log"}, "submodule": {"status"}, "config": {}, "bundle": {"verify", "list-heads"},
}

// harmlessSettings matches the settings that -c may set.
var harmlessSettings = lazy.Regexp(`^(color\.[a-z]+(\.[a-z]+)?|core\.(quotepath|abbrev)|log\.(decorate|date)|` +
	`diff\.(renames|context|noprefix|algorithm|mnemonicprefix)|` +
	`advice\.[a-z]+|status\.(short|branch|showstash|showuntrackedfiles|relativepaths|renames)|grep\.linenumber)(=[a-z0-9 :%-]*)?$|` +
	`^(core\.pager=(cat)?|log\.showsignature=false|core\.fsmonitor=(false)?|core\.hookspath=/dev/null)$`)

// gitFlags are options before the subcommand that change nothing that matters.
var gitFlags = strings.Fields("--no-pager -P --no-optional-locks --no-replace-objects --no-lazy-fetch --no-advice " +
	"--literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs")

// git handles git. Reading commands use the repository's configuration, which may name programs to run; Effect.Repos
// lists these repositories.
func (in *invocation) git() output {
	dirs, rest, ok := in.gitGlobals()
	if !ok {
		in.mentions()
		in.unknown("it runs git with options that may run programs")
		return text
	}
	if len(rest) == 0 {
		if !in.asksVersion() {
			in.unknown("it runs git")
		}
		return text
	}
	st := *in.st
	st.dirs = dirs
	in.st = &st
	if dirs == nil {
		in.unknown("the repository it uses is only known when it runs")
	}
	in.effect.Repos = append(in.effect.Repos, dirs...)
	for _, d := range dirs {
		in.effect.Accesses = append(in.effect.Accesses, Access{Kind: Read, Path: d})
	}
	in.effect.Also = append(in.effect.Also, append([]string{in.effect.Words[0]}, words(rest)...))
	sub, known := rest[0].text()
	in.args = rest[1:]
	if slices.ContainsFunc(in.args, func(g arg) bool { return g.is("--help") || verifies().MatchString(g.word()) }) {
		in.unknown("it runs a viewer or gpg")
	}
	list, isList := gitLists[sub]
	subs, isSub := gitSub[sub]
	p, reads := gitReads[sub]
	switch {
	case !known:
		in.unknown("the git command is only known when it runs")
		in.effect.Opaque = true
	case sub == "config":
		in.gitConfig()
	case isList:
		in.gitList(list.lists, list.writes)
	case isSub:
		return in.gitSub(sub, subs)
	case reads:
		return in.gitRead(sub, p)
	default:
		if !slices.Contains([]string{"add", "commit", "push", "fetch", "merge", "rebase", "tag", "reset"}, sub) {
			in.mentions()
		}
		in.unknown("git " + sub + " changes the repository or runs programs")
	}
	return text
}

// verifies matches a format that runs gpg.
var verifies = lazy.Regexp(`%G|%\([-+ a-z]*signature`)

// gitSub handles a subcommand whose first word selects its effect.
func (in *invocation) gitSub(sub string, reads []string) output {
	first := ""
	if len(in.args) > 0 {
		first = in.args[0].word()
	}
	switch {
	case sub == "reflog" && strings.HasPrefix(first, "-"):
		return in.gitRead(sub, gitDiff)
	case !slices.Contains(reads, first) || sub == "remote" && first != "get-url" && len(in.args) > 1:
		in.unknown("git " + sub + " " + first + " changes the repository")
	case first != "" && (sub == "stash" || sub == "reflog"): // as git diff and git log
		in.args = in.args[1:]
		return in.gitRead(sub, gitDiff)
	case sub == "bundle":
		for _, g := range in.args[1:] {
			in.uses(Read, g)
		}
	}
	return text
}

// gitGlobals skips the options before the subcommand. It reports false for those that may run programs.
func (in *invocation) gitGlobals() (dirs []string, rest []arg, ok bool) {
	dirs, rest = in.st.dirs, in.args
	for len(rest) > 0 {
		word, known := rest[0].text()
		switch {
		case !known:
			return dirs, rest, !rest[0].maybeOption()
		case slices.Contains(gitFlags, word):
			rest = rest[1:]
		case word == "--version" || word == "-v":
			return dirs, nil, len(rest) == 1
		case word == "-C" && len(rest) > 1:
			st := *in.st
			st.dirs = dirs
			dirs = nil
			for _, v := range rest[1] {
				list, ok := in.a.file(Read, &st, v)
				if !ok || v.glob || v.inside {
					return nil, rest, false
				}
				for _, x := range list {
					dirs = append(dirs, x.Path)
				}
				in.effect.Accesses = append(in.effect.Accesses, list...)
			}
			rest = rest[2:]
		case word == "-c" && len(rest) > 1:
			setting, ok := rest[1].text()
			if !ok || strings.HasPrefix(strings.ToLower(setting), "alias.") {
				in.effect.Opaque = true // it may be any command
			}
			if !ok || !harmlessSettings().MatchString(strings.ToLower(setting)) {
				return dirs, rest, false
			}
			rest = rest[2:]
		case strings.HasPrefix(word, "-"):
			in.effect.Opaque = strings.HasPrefix(word, "--config") || strings.HasPrefix(word, "-c") || strings.HasPrefix(word, "--exec")
			return dirs, rest, false
		default:
			return dirs, rest, true
		}
	}
	return dirs, rest, true
}

// gitRead handles a subcommand that only reads.
func (in *invocation) gitRead(sub string, p program) output {
	opts, rest, certain := p.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of git")
	}
	out, separated := gitNames(sub, opts, rest), slices.ContainsFunc(in.args, func(g arg) bool { return g.is("--") })
	for _, o := range opts {
		switch {
		case o.in("", p.outputsLong) && strings.HasPrefix(o.long, "o"):
			if o.value == nil {
				in.unknown("git " + sub + " --output writes a file")
				break
			}
			in.uses(Write, o.value)
		case o.in(p.writes, p.writesLong):
			in.unknown("git " + sub + " " + o.String() + " may run programs")
		case o.in(p.files, p.filesLong) && o.value != nil:
			in.uses(Read, o.value)
		case o.in("", []string{"no-index", "untracked"}):
			separated = true
			if sub == "grep" { // it also searches files that git does not know
				in.searches(literal("."))
			}
		}
	}
	for _, g := range rest {
		w, ok := g.text()
		_, file, revision := strings.Cut(w, ":")
		switch {
		case ok && revision:
			in.uses(Read, literal(file[strings.LastIndexByte(file, ':')+1:]))
		case ok && strings.Contains(w, "..") && !leaves(w) && !separated: // a range
		case separated || sub == "blame" || sub == "diff" || ok && strings.ContainsAny(w, "/."):
			in.uses(Read, g)
		}
	}
	return out
}

// leaves reports whether a path has an element "..", or is absolute.
func leaves(p string) bool {
	return strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..")
}

// gitNames returns a command's output: names if its options leave nothing else.
func gitNames(sub string, opts []option, rest []arg) output {
	only := slices.ContainsFunc(opts, func(o option) bool {
		return o.long == "name-only" && (sub == "diff" || sub == "ls-tree") || sub == "grep" && o.in("l",
			[]string{"files-with-matches"})
	})
	more := slices.ContainsFunc(opts, func(o option) bool {
		return o.letter == 0 && !slices.Contains(plainNames, o.long) || o.letter != 0 && strings.IndexByte("lcomznriwEFP", o.letter) < 0
	})
	above := slices.ContainsFunc(rest, func(g arg) bool {
		w, ok := g.text()
		return !ok || strings.HasPrefix(w, ":") || strings.Contains(w, "..") && sub == "ls-files"
	})
	if !only && sub != "ls-files" || more || above {
		return text
	}
	from := &origin{starts: []string{"."}}
	for _, g := range rest {
		w, _ := g.text()
		if sub != "ls-files" || !strings.HasPrefix(w, "*.") || strings.Contains(w, "/") {
			return paths
		}
		from.names = append(from.names, w)
	}
	from.names = withHidden(from.names)
	return output{paths.kind, from}
}

// gitList handles branch and tag.
func (in *invocation) gitList(lists []string, p program) {
	opts, rest, certain := p.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of git")
	}
	for _, o := range opts {
		undoes := strings.HasPrefix(o.long, "no-") && !slices.Contains(gitNegations, o.long)
		if undoes || o.in(p.writes, p.writesLong) && !slices.Contains(lists, o.String()) {
			in.unknown("git " + o.String() + " changes the repository")
		}
	}
	listing := slices.ContainsFunc(opts, func(o option) bool { return slices.Contains(lists, o.String()) })
	if len(rest) > 0 && !listing {
		in.unknown("it creates a branch or a tag")
	}
}

// gitConfig handles git config. Setting a value writes a configuration file.
func (in *invocation) gitConfig() {
	p := program{values: "f", valuesLong: []string{"file", "blob", "type", "default"}}
	opts, rest, certain := p.parse(in.args)
	reads := false
	global := false
	writes := false
	file := arg(nil)
	for _, o := range opts {
		reads = reads || slices.Contains([]string{"get", "get-all", "get-regexp", "get-urlmatch", "list", "get-color",
			"get-colorbool"}, o.long) || o.letter == 'l'
		writes = writes || o.letter == 'e' || o.in("", []string{"add", "replace-all", "unset-all", "rename-section",
			"remove-section", "edit"})
		global = global || o.long == "global" || o.long == "system"
		if o.letter == 'f' || o.long == "file" {
			file = o.value
		}
	}
	if len(rest) > 0 && (rest[0].is("get") || rest[0].is("list")) || len(rest) == 1 && !rest[0].is("edit") {
		reads = true
	}
	reads = reads && !writes
	switch {
	case certain && reads && file != nil:
		in.uses(Read, file)
	case certain && reads:
	case file != nil:
		in.uses(Write, file)
		in.unknown("git config changes settings")
	default:
		target := literal(".git/config")
		if global {
			target = literal(strings.TrimSuffix(in.a.Home, "/") + "/.gitconfig")
		}
		in.uses(Write, target)
		in.unknown("git config changes settings")
	}
}
