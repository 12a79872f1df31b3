package shell

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"

	"github.com/reins-agent/reins/internal/lazy"
)

// value is one text that a word may expand to.
type value struct {
	text   string
	known  bool // text is all of it; otherwise text is how it begins
	glob   bool // text is a pattern that the shell expands
	number bool // a number that is not known
	inside bool // a name below the working directory that is not known
	dotted bool // such a name that does not begin with a dash
	many   bool // it may become several words, or none
	cut    bool // a name below the working directory without its end, which may be ".." or nothing
	stream bool // a pipe, such as <(…)
	// from says more about a name below the working directory.
	from *origin
	// form is the text with 0 for each number that is not known, if there are only such unknown parts.
	form string
}

func exact(s string) value { return value{text: s, known: true} }

// maxAlternatives bounds the values that are followed for one word.
const maxAlternatives = 64

// eval returns the values that a word may have, and records its substitutions' effects.
func (a *analyzer) eval(w *syntax.Word, st *state) []value {
	if w == nil {
		return []value{exact("")}
	}
	if a.work++; a.work > maxWork {
		return []value{{many: true}}
	}
	return a.parts(w.Parts, st, false)
}

func (a *analyzer) parts(list []syntax.WordPart, st *state, quoted bool) []value {
	all := []value{exact("")}
	for i, p := range list {
		all = join(all, a.part(p, st, quoted, i == 0))
		if len(all) > maxAlternatives {
			all = []value{{many: true}}
		}
	}
	return all
}

// join concatenates every value in the first list with every value in the second.
func join(first, second []value) []value {
	var all []value
	for _, x := range first {
		for _, y := range second {
			all = append(all, concat(x, y))
		}
	}
	return all
}

func concat(x, y value) value {
	switch {
	case x == exact(""):
		return y
	case y == exact(""):
		return x
	}
	v := value{many: x.many || y.many, glob: x.glob || y.glob}
	if f, ok := x.shape(); ok && !v.glob {
		if g, ok := y.shape(); ok {
			v.form = f + g
		}
	}
	switch {
	case x.known && y.known:
		v.text = x.text + y.text
		v.known = true
		v.form = ""
	case x.known:
		v.text = x.text + y.text
		// A directory before a name below it is still below; anything else may lead elsewhere.
		v.inside = y.inside && y.from.relative() && strings.HasSuffix(x.text, "/") && stays(x.text)
		v.dotted, v.cut = v.inside, y.cut
		v.number = y.number && isNumber(x.text)
	case x.number && (y.number || y.known && isNumber(y.text)):
		v.number = true
	case x.inside && y.known && continues(y.text):
		v.inside = true
		v.dotted = x.dotted && !x.cut
		v.from = x.from.anyName()
	default:
		v.text = x.text
	}
	return v
}

// continues reports whether text after a name cannot make another directory of it, as "./x" after "." does.
func continues(s string) bool {
	first, _, _ := strings.Cut(s, "/")
	return strings.Trim(first, ".") != "" && stays(s)
}

// relative reports whether the names are relative to the working directory.
func (o *origin) relative() bool {
	return o == nil || !slices.ContainsFunc(o.starts, func(s string) bool { return !stays(s) })
}

// anyName returns the origin of names that have changed, but not their directory.
func (o *origin) anyName() *origin {
	if o == nil {
		return nil
	}
	return &origin{starts: o.starts}
}

// replaced returns a word with a value in place of a marker.
func replaced(word, marker string, v value) value {
	parts := strings.Split(word, marker)
	all := exact(parts[0])
	for _, p := range parts[1:] {
		all = concat(concat(all, v), exact(p))
	}
	return all
}

// shape returns the text with 0 for each unknown number, if nothing else in it is unknown.
func (v value) shape() (string, bool) {
	switch {
	case v.known:
		return v.text, !v.glob && !v.stream
	case v.number:
		return "0", true
	}
	return v.form, v.form != ""
}

// stays reports whether a relative path cannot lead out of its directory.
func stays(p string) bool {
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !slices.Contains(strings.Split(p, "/"), "..")
}

var number = lazy.Regexp(`^[+-]?[0-9]*$`)

func isNumber(s string) bool { return number().MatchString(s) }

func (a *analyzer) part(p syntax.WordPart, st *state, quoted, first bool) []value {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			return []value{exact(unescape(p.Value, true))}
		}
		return []value{a.literal(p.Value, first)}
	case *syntax.SglQuoted:
		if !p.Dollar {
			return []value{exact(p.Value)}
		}
		text, _, err := expand.Format(nil, p.Value, nil)
		if err != nil || strings.Contains(p.Value, "%") {
			return []value{{}}
		}
		return []value{exact(text)}
	case *syntax.DblQuoted:
		if p.Dollar {
			a.unsafe(`it uses a translated string, $"…"`)
		}
		v := a.parts(p.Parts, st, true)
		for i := range v {
			v[i].many = all(p.Parts)
		}
		return v
	case *syntax.ParamExp:
		return a.param(p, st, quoted)
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			a.unclear("it uses a substitution that is not analysed")
		}
		v := a.stmts(p.Stmts, st.perhaps()).out.value()
		v.many = !quoted
		return []value{v}
	case *syntax.ArithmExp:
		a.arithm(p.X, st)
		return []value{{number: true}}
	case *syntax.ProcSubst:
		a.stmts(p.Stmts, st.perhaps())
		return []value{{stream: true, known: true, text: "/dev/fd/63"}}
	case *syntax.ExtGlob:
		return []value{{glob: true, many: true}}
	}
	return []value{{many: true}}
}

// all reports whether a quoted part is "$@" or "${a[@]}", which becomes several words even in quotes.
func all(parts []syntax.WordPart) bool {
	return slices.ContainsFunc(parts, func(p syntax.WordPart) bool {
		e, ok := p.(*syntax.ParamExp)
		if !ok {
			return false
		}
		w, _ := e.Index.(*syntax.Word)
		return e.Param != nil && e.Param.Value == "@" || w != nil && w.Lit() == "@" || e.Names != 0
	})
}

// literal returns the value of unquoted text.
func (a *analyzer) literal(s string, first bool) value {
	if strings.Contains(s, "<(") || strings.Contains(s, ">(") {
		a.unclear("it uses a process substitution inside another expansion") // which the parser does not see
	}
	if i := max(strings.Index(s, "=~"), strings.Index(s, ":~")); i >= 0 {
		return value{text: s[:i+1]} // in what looks like an assignment, this is a home directory
	}
	v := value{known: true, glob: hasGlob(s) && s != "["}
	if first && strings.HasPrefix(s, "~") {
		user, rest, _ := strings.Cut(s, "/")
		if user != "~" || a.Home == "" {
			return value{text: "~"}
		}
		if s == user {
			return exact(a.Home)
		}
		s = strings.TrimSuffix(a.Home, "/") + "/" + rest
	}
	if v.glob {
		v.text, v.many = s, true
		return v
	}
	v.text = unescape(s, false)
	return v
}

// hasGlob reports whether unquoted text has an unescaped pattern character.
func hasGlob(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// unescape removes the backslashes that quote characters.
func unescape(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || quoted && !strings.ContainsRune("$`\"\\\n", rune(s[i+1])) {
			b.WriteByte(s[i])
			continue
		}
		if i++; s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// numeric are special parameters and variables that hold numbers.
var numeric = []string{
	"?", "#", "$", "!", "RANDOM", "SECONDS", "EPOCHSECONDS", "UID", "EUID", "PPID", "BASHPID", "SHLVL",
	"LINENO", "COLUMNS", "LINES", "OPTIND", "SRANDOM",
}

// param returns the values of an expansion such as $x or ${x%.go}.
func (a *analyzer) param(p *syntax.ParamExp, st *state, quoted bool) []value {
	unknown := []value{{many: !quoted}}
	if p.Param == nil || p.Flags != nil || p.Width || p.IsSet || p.Modifiers != nil || p.NestedParam != nil ||
		p.Split+p.GlobSubst+p.RcExpand != 0 {
		a.unclear("it uses an expansion that is not analysed")
		return unknown
	}
	if p.Excl && p.Names == 0 {
		if w, ok := p.Index.(*syntax.Word); !ok || w.Lit() != "@" && w.Lit() != "*" { // ${!a[@]} lists the keys
			a.unsafe("${!%s} expands a variable whose name is only known when it runs", p.Param.Value)
			return unknown
		}
	}
	a.subscript(p.Index, st)
	if p.Slice != nil {
		for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if x != nil {
				a.arithm(x, st)
			}
		}
	}
	var changed, alternatives []value
	if p.Repl != nil {
		a.eval(p.Repl.Orig, st)
		a.eval(p.Repl.With, st)
		changed = unknown
	}
	if p.Exp != nil {
		changed, alternatives = a.expansion(p, st)
	}
	switch {
	case p.Length:
		return []value{{number: true}}
	case p.Names != 0 || p.Excl || p.Slice != nil:
		return unknown
	}
	v := a.variable(p.Param.Value, st, quoted)
	if changed != nil {
		if v = a.shortened(p, v, st); v == nil {
			v = changed
		}
	}
	v = append(v, alternatives...)
	if w, ok := p.Index.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		if quoted && w.Lit() == "*" && len(v) > 1 {
			return unknown // all elements in one word
		}
		for i := range v {
			v[i].many = true
		}
	}
	return v
}

// shortened returns the values without what ${x%pattern} or ${x#pattern} removes, or nil if they are not known.
func (a *analyzer) shortened(p *syntax.ParamExp, list []value, st *state) []value {
	if p.Exp == nil {
		return nil
	}
	pattern := a.eval(p.Exp.Word, st)
	var all []value
	for _, v := range list {
		text, ok := "", false
		if len(pattern) == 1 && pattern[0].known && v.known && !v.glob && !quotes(p.Exp.Word) {
			text, ok = removed(v.text, pattern[0].text, p.Exp.Op)
		}
		inside := v.inside && !v.cut || v.known && v.glob && stays(v.text)
		switch {
		case ok:
			v.text = text
		case inside && (p.Exp.Op == syntax.RemSmallSuffix || p.Exp.Op == syntax.RemLargeSuffix):
			v = value{inside: true, cut: true, many: v.many, from: v.from.anyName()}
		case inside && p.Exp.Op == syntax.RemLargePrefix && p.Exp.Word.Lit() == "*/": // the last element
			v = value{inside: true, many: v.many}
		default:
			return nil
		}
		all = append(all, v)
	}
	return all
}

// quotes reports whether a word has parts that look like patterns but are not.
func quotes(w *syntax.Word) bool {
	return w != nil && slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, lit := p.(*syntax.Lit); return !lit })
}

// removed returns text without the prefix or suffix that a pattern matches.
func removed(text, glob string, op syntax.ParExpOperator) (string, bool) {
	expr, err := pattern.Regexp(glob, pattern.EntireString)
	if err != nil {
		return "", false
	}
	match, err := regexp.Compile(expr)
	if err != nil || strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return "", false
	}
	for i := range len(text) + 1 {
		n := i
		if op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix {
			n = len(text) - i
		}
		switch op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix:
			if match.MatchString(text[:n]) {
				return text[n:], true
			}
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			if match.MatchString(text[len(text)-n:]) {
				return text[:len(text)-n], true
			}
		default:
			return "", false
		}
	}
	return text, true
}

// expansion handles the operator of ${x:-word} and the like. It returns the value if the operator changes the
// variable's, and the word's values if it is an alternative.
func (a *analyzer) expansion(p *syntax.ParamExp, st *state) (changed, alternatives []value) {
	word := a.eval(p.Exp.Word, st)
	switch p.Exp.Op {
	case syntax.DefaultUnset,
		syntax.DefaultUnsetOrNull,
		syntax.AlternateUnset,
		syntax.AlternateUnsetOrNull,
		syntax.ErrorUnset,
		syntax.ErrorUnsetOrNull:
		return nil, word
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		a.assignable(p.Param.Value)
		return nil, word
	case syntax.OtherParamOps:
		if op := p.Exp.Word.Lit(); op != "Q" && op != "U" && op != "u" && op != "L" {
			a.unsafe("${%s@%s} may run commands", p.Param.Value, op)
		}
	}
	return []value{{many: true}}, nil
}

// variable returns the values that the line gives to a variable.
func (a *analyzer) variable(name string, st *state, quoted bool) []value {
	set := a.assigns(name)
	switch {
	case a.anything || a.opaque[name] || name == "_" || slices.Contains(a.resolving, name):
		return a.unknownVariable(name, quoted)
	case !set && slices.Contains(numeric, name):
		return []value{{number: true}}
	case !set && name == "PWD" && len(st.dirs) > 0 && !(a.cds && len(a.resolving) > 0): // an assignment may have been elsewhere
		var v []value
		for _, d := range st.dirs {
			v = append(v, exact(d))
		}
		return v
	case !set && name == "HOME" && a.Home != "":
		return []value{exact(a.Home)}
	case !set:
		return a.unknownVariable(name, quoted)
	}
	a.resolving = append(a.resolving, name)
	defer func() { a.resolving = a.resolving[:len(a.resolving)-1] }()
	var v []value
	if a.numbers[name] {
		v = append(v, value{number: true})
	}
	if from, ok := a.sources[name]; ok {
		x := from.value()
		x.many = !quoted
		v = append(v, x)
	}
	if !st.scope.assigns(name) { // it may still have the value that it had before the line
		v = append(v, initial(name, quoted))
	}
	before := len(a.effects) // the assignment records them
	for _, w := range a.vars[name] {
		for _, x := range a.eval(w, st) {
			v = append(v, fields(x, quoted)...)
		}
	}
	a.effects = a.effects[:before]
	if len(v) > maxAlternatives {
		return []value{{many: !quoted}}
	}
	return v
}

// unknownVariable returns the value for a variable that may be anything.
func (a *analyzer) unknownVariable(name string, quoted bool) []value {
	if secretName(name) {
		a.unsafe("$%s looks like a secret", name)
	}
	return []value{{many: !quoted}}
}

// constant returns a word's text if it is the same whenever it is expanded.
func constant(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, false))
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(unescape(lit.Value, true))
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// initial returns the value that a variable has before the line. By convention only names in capitals are in
// the environment.
func initial(name string, quoted bool) value {
	if name == strings.ToUpper(name) {
		return value{many: !quoted}
	}
	return value{known: true, many: !quoted}
}

// fields returns the expansion of an unquoted variable with the given value.
func fields(v value, quoted bool) []value {
	if v.glob && quoted {
		// In an assignment a pattern stays as it is, but in a loop's words it was expanded. Both may be a name that
		// matches it.
		v.many = false
		return []value{v}
	}
	if quoted || !v.known {
		v.many = v.many && !quoted
		return []value{v}
	}
	if strings.ContainsAny(v.text, " \t\n") {
		return []value{{many: true}}
	}
	v.glob = v.glob || hasGlob(v.text)
	return []value{v}
}

// secretName reports whether a variable's name suggests that it holds a secret.
func secretName(name string) bool {
	n := strings.ToUpper(name)
	for _, s := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL", "AUTH"} {
		if strings.Contains(n, s) {
			return true
		}
	}
	return strings.HasSuffix(n, "_KEY") || strings.HasSuffix(n, "_PASS") || strings.HasSuffix(n, "_PAT") || n == "PGPASSWORD"
}
