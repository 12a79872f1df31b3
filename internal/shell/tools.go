package shell

import (
	"slices"
	"strings"
)

// reader describes a developer tool's subcommand that only reads, apart from the tool's own caches. Options that are
// not listed may run programs or write files.
type reader struct {
	flags  string // options without a value, with their dashes
	values string // options with a value, in the same word after = or in the next one
	// names means that other words are names, or paths if they begin with a dot or a slash. Otherwise no other words
	// are allowed.
	names bool
}

// readers are such subcommands. Two words are joined by a blank.
var readers = map[string]map[string]reader{
	"go": {
		"list": {flags: "-json -m -deps -test -e -find -retracted -race -v -n -x -buildvcs -trimpath",
			values: "-json -f -tags -buildvcs -p", names: true},
		"vet":        {flags: "-json -race -v -n -x " + vetChecks, values: "-c -tags -p " + vetChecks, names: true},
		"doc":        {flags: "-all -cmd -short -src -u -c", names: true},
		"version":    {flags: "-m -v -json", names: true},
		"env":        {flags: "-json -changed", names: true},
		"help":       {names: true},
		"mod graph":  {},
		"mod why":    {flags: "-m", names: true},
		"mod verify": {},
	},
	"npm": {
		"ls": npmList, "list": npmList, "la": npmList, "ll": npmList, "explain": npmList, "why": npmList,
		"root": {flags: "-g"}, "prefix": {flags: "-g"}, "run": {}, "pkg get": {names: true}, "config get": {names: true},
	},
	"pnpm": {"ls": npmList, "list": npmList, "ll": npmList, "why": npmList},
	"pip":  pipReaders, "pip3": pipReaders,
	"docker": {
		"ps": dockerList, "images": dockerList, "container ls": dockerList, "image ls": dockerList, "volume ls": dockerList,
		"network ls": dockerList,
		"version":    {}, "info": {}, "context ls": {},
	},
	"man":     {"": {flags: "-a -k -f -w --where --apropos --whatis --all", values: "-s --sections", names: true}},
	"whatis":  {"": {names: true}},
	"apropos": {"": {flags: "-e -a -l", names: true}},
}

var (
	npmList = reader{
		flags:  "-a --all -l --long -p --parseable --json --prod --production --dev --link --package-lock-only -g --global -r --recursive",
		values: "--depth --omit --include", names: true,
	}
	dockerList = reader{flags: "-a --all -q --quiet --no-trunc -l --latest -s --size --digests",
		values: "-f --filter -n --last --format", names: true}
	pipReaders = map[string]reader{
		"list":   {flags: "-l --local --user --not-required --editable -e", values: "--format"},
		"freeze": {flags: "-l --local --user --all"}, "show": {flags: "-f --files", names: true},
	}
)

// vetChecks are the checks of go vet, which are options too.
const vetChecks = "-appends -asmdecl -assign -atomic -bools -buildtag -cgocall -composites -copylocks -defers -directive -errorsas " +
	"-framepointer -hostport -httpresponse -ifaceassert -loopclosure -lostcancel -nilfunc -printf -printf.funcs -shift " +
	"-sigchanyzer -slog -stdmethods -stdversion -stringintconv -structtag -testinggoroutine -tests -timeformat -unmarshal " +
	"-unreachable -unsafeptr -unusedresult -waitgroup"

// proxies are programs that run another one in their place if a file in the directory names it.
var proxies = strings.Fields("cargo rustc rustfmt rustdoc yarn pnpm")

// tool handles a developer's tool.
func (in *invocation) tool() output {
	in.effect.Confined = true
	if in.asksVersion() {
		in.effect.Confined = slices.Contains(proxies, in.name)
		return text
	}
	for n := range 3 {
		if r, ok := readers[in.name][strings.Join(words(in.args[:min(n, len(in.args))]), " ")]; ok && n <= len(in.args) {
			in.reads(r, in.args[n:])
			return text
		}
	}
	in.effect.Confined = false
	return in.other()
}

// reads judges the words after a subcommand that only reads.
func (in *invocation) reads(r reader, args []arg) {
	flags, values := strings.Fields(r.flags), strings.Fields(r.values)
	for i := 0; i < len(args); i++ {
		w, ok := args[i].text()
		name, _, has := strings.Cut(w, "=")
		if strings.HasPrefix(name, "--") && in.name == "go" {
			name = name[1:]
		}
		switch {
		case !ok && (args[i].maybeOption() || args[i].several()):
			in.unknown("a name may be an option of " + in.name)
		case ok && !has && (slices.Contains(flags, name) || in.combines(w, flags)), ok && has && slices.Contains(values, name):
		case ok && slices.Contains(values, name) && i+1 < len(args) && !args[i+1].several():
			i++
		case ok && strings.HasPrefix(w, "-"):
			in.unknown(in.name + " " + name + " may write files or run programs")
		case !r.names:
			in.unknown("it runs " + in.name)
		default:
			in.readsName(args[i], w)
		}
	}
	if in.effect.Unknown != "" {
		in.effect.Confined = false
		in.mentions()
	}
}

// combines reports whether a word is several flags of one letter in one. The options of go cannot be combined.
func (in *invocation) combines(word string, flags []string) bool {
	return in.name != "go" && len(word) > 2 && word[0] == '-' && word[1] != '-' &&
		!slices.ContainsFunc([]byte(word[1:]), func(c byte) bool { return !slices.Contains(flags, "-"+string(c)) })
}

// readsName records a word that is a name, or a path.
func (in *invocation) readsName(g arg, word string) {
	switch {
	case in.name == "man" && strings.Contains(word, "/"):
		in.unknown("man formats a file") // which may include others
	case in.name == "go" && strings.Contains(word, "@"):
		in.unknown("go downloads a module")
	case strings.HasPrefix(word, ".") || leaves(word) || word == "" || in.name == "go" && in.args[0].is("version"):
		if before, ok := strings.CutSuffix(word, "..."); ok {
			g = literal(before)
		}
		in.uses(Read, g)
	}
}
