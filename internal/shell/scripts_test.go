package shell

import (
	"fmt"
	"math/rand"
	"strings"
)

// scripts makes random scripts that contain what shells understand in surprising ways. They write only below
// the directory in which they run.
type scripts struct {
	*rand.Rand
	depth int
}

func (g *scripts) pick(list ...string) string { return list[g.Intn(len(list))] }

// choose calls a random function.
func (g *scripts) choose(list ...func() string) string { return list[g.Intn(len(list))]() }

func (g *scripts) script() string {
	g.depth = 0
	var lines []string
	for range 1 + g.Intn(4) {
		lines = append(lines, g.list())
	}
	return strings.Join(lines, g.pick("\n", "; ", "\n"))
}

func (g *scripts) list() string {
	if g.depth++; g.depth > 4 {
		g.depth--
		return g.simple()
	}
	defer func() { g.depth-- }()
	switch g.Intn(20) {
	case 0:
		return g.list() + " && " + g.list()
	case 1:
		return g.list() + " || " + g.list()
	case 2:
		return g.command() + " | " + g.command()
	case 3:
		return "( " + g.list() + " )"
	case 4:
		return "{ " + g.list() + "; }" + g.redirect()
	case 5:
		return "if " + g.list() + "; then " + g.list() + "; else " + g.list() + "; fi"
	case 6:
		return "for " + g.name() + " in " + g.words(3) + "; do " + g.list() + "; done"
	case 7:
		return "case " + g.word() + " in " + g.word() + ") " + g.list() + ";; *) " + g.list() + ";; esac"
	case 8:
		f := g.pick("f1", "f2", "c2", "rm")
		return g.pick(f+"() { "+g.list()+"; }", "function "+f+" { "+g.list()+"; }")
	case 9:
		return g.pick("f1", "f2", "c2", "rm") + " " + g.words(2)
	case 10:
		return "cd " + g.pick("d1", "d1/d2", ".", "nowhere", "$"+g.name(), `"$`+g.name()+`"`)
	case 11:
		return fmt.Sprintf("cat <<%s\n%s %s\nEOF\n", g.pick("EOF", "'EOF'", `"EOF"`), g.word(), g.word())
	case 12:
		return g.list() + " & wait"
	}
	return g.command()
}

func (g *scripts) command() string {
	return g.choose(g.simple, g.simple, g.simple, g.assignment, g.wrapped, g.builtin)
}

func (g *scripts) simple() string {
	s := ""
	if g.Intn(8) == 0 {
		s = g.name() + "=" + g.word() + " "
	}
	return s + g.program() + " " + g.words(3) + g.redirect()
}

// program returns a word in command position.
func (g *scripts) program() string {
	c := g.pick("c1", "c2", "c3", "rm", "cat", "git", "sort")
	switch g.Intn(14) {
	case 0:
		return c[:1] + `\` + c[1:]
	case 1:
		return c[:1] + `"` + c[1:] + `"`
	case 2:
		return "$" + g.name()
	case 3:
		return "{" + c + "," + g.plain() + "}"
	case 4:
		return "$(echo " + c + ")"
	case 5:
		return "$'" + c + "'"
	case 6:
		return "${" + g.name() + ":-" + c + "}"
	}
	return c
}

func (g *scripts) wrapped() string {
	inner := g.simple()
	call := g.pick("c1", "c2", "c3", "rm") + " " + g.plain()
	quoted := "'" + strings.ReplaceAll(inner, "'", `'\''`) + "'"
	return g.pick(
		"env "+call, "env A=1 B=2 "+call, "env -u A "+call, "env -i "+call, "nice -n 5 "+call, "nice "+call, "timeout 3 "+call,
		"timeout -k 1 3 "+call, "command "+call, "command -p "+call,
		"( exec "+call+" )", "( exec -a x "+call+" )", "eval "+quoted, "eval "+inner, "sh -c "+quoted, "bash -c "+quoted,
		"bash -ec "+quoted, "sh -c "+quoted+" c1 c2", "bash -c "+quoted+" x rm",
		`bash -c '"$@"' x `+call, `bash -c '$0' c1`, "echo "+g.words(2)+" | xargs "+call,
		"echo "+g.words(2)+" | xargs -I{} "+call+" {}", "echo "+call+" | sh", "echo "+call+" | xargs env", "xargs "+call+" < a",
		"find . -maxdepth 1 -name a -exec "+call+` {} \;`, "find d1 -exec "+call+" {} +", "time "+call, "! "+call, "time -p "+call,
		"builtin eval "+quoted, "command eval "+quoted, "trap "+quoted+" EXIT", "coproc "+call,
		"bash <<< "+quoted, "source <(echo "+call+")", ". ./a", "bash a", "seq 2 | xargs "+call,
		"seq 2 | while read x; do "+g.simple()+"; done", "mapfile -C "+quoted+" -c 1 m < a", "$BASH -c "+quoted,
		"unset -f rm c2; rm "+g.plain(),
	)
}

func (g *scripts) builtin() string {
	x := g.name()
	return g.pick(
		"echo "+g.words(3)+g.redirect(), "printf '%s' "+g.words(2)+g.redirect(), "printf -v "+x+" %s "+g.word(),
		"read "+x+" <<< "+g.word(), "read "+x+" < a", "test -v "+g.word(), "[ "+g.word()+" -eq 1 ]", "[[ "+g.word()+" -eq 1 ]]",
		"[[ -v "+g.word()+" ]]", "[[ "+g.word()+" == "+g.word()+" ]]", "(( "+x+" = "+g.arithmetic()+" ))",
		"let "+x+"="+g.arithmetic(), "(( "+g.arithmetic()+" ))", "for (( "+x+"=0; "+x+"<2; "+x+"++ )); do "+g.simple()+"; done",
		"unset "+x, "set -- "+g.words(2), "\"$@\"", "$1",
		"declare "+x+"="+g.word(), "declare -i "+x+"="+g.word(), "declare -n "+x+"="+g.name(), "export "+x+"="+g.word(),
		"local "+x+"="+g.word(), "alias "+g.pick("c1", "rm")+"='c3 alias'",
		"printf -v"+x+" %s c1", `printf -v "`+x+`" %s `+g.word(), "printf %n "+x, `read "`+x+`" <<< c2`, `readarray "`+x+`" < a`,
		"read -a "+x+" < a", "getopts ab: "+x+" -b c3", "eval '"+x+"=c1'", "eval "+x+"="+g.plain(),
		"trap '"+x+"=c2' DEBUG", "trap 'cd d1' DEBUG", `unset -f 'rm'`, `unset "`+x+`"`, "unset $"+x, "eval 'cd d1'",
		"command cd d1", "builtin cd d1/d2", "pushd d1", "popd", x+"=$PWD", "cat ${"+x+"#b}", "env -u $"+x+" c1 b", "exec < a",
		"timeout $"+x+" c1", "nice -n $"+x+" c2", "declare -i "+x, "declare -u "+x, "declare "+x, `declare "`+x+`=c1"`,
		"select "+x+" in c1; do $"+x+"; break; done <<< 1", "set -o "+g.pick("noglob", "keyword", "posix", "nounset"),
		"shopt -s "+g.pick("nullglob", "lastpipe", "extglob"),
		"export "+x, "declare -x "+x+"=c1", "mapfile -t "+x+" < a", "wait -n -p "+x, "exec {"+x+"}< a", "unset -f f1",
		"f1() { $"+x+"; }", "f2() { cd d1; }", "declare -n "+x+"=y", "(( $"+x+" = 5 ))", "(( "+x+"[0] = 5 ))",
		"shopt -s expand_aliases", "exec 3> "+g.file(), ": "+g.words(2), "wait", "true", "hash -p /bin/true c1", "shift",
	)
}

func (g *scripts) assignment() string {
	x := g.name()
	return g.pick(x+"="+g.word(), x+"="+g.word(), x+"+="+g.word(), x+"=("+g.words(3)+")", x+"["+g.arithmetic()+"]="+g.word(),
		x+"='c1 var'", x+"=rm", x+"='y[$(c2 index)]'", x+"='$(c3 prompt)'", x+"=({c1,c2} "+g.word()+")", x+"=d1/c1", x+"=-vy",
		x+"='c1 EXIT'", "_="+g.word(), "RANDOM='y[$(c1 random)]'", x+"=y", x+"='> f9'", x+"='a;c1 semicolon'")
}

func (g *scripts) name() string { return g.pick("x", "y", "z") }

func (g *scripts) plain() string {
	return g.pick("a", "b", "-v", "d1", "--long=1", "7", "e.f", "rm", "c1")
}

func (g *scripts) file() string {
	return g.pick("f1", "f2", "d1/f3", `"f 4"`, "f{5,6}", "$"+g.name(), `"$`+g.name()+`"`, "f$((1+6))", `f\8`, "$(echo f9)")
}

func (g *scripts) redirect() string {
	if g.Intn(5) > 0 {
		return ""
	}
	return g.pick(" > ", " >> ", " >| ", " 2> ", " &> ", " >& ", " 2>&1 > ", " <> ", " {fd}> ") + g.file()
}

func (g *scripts) words(max int) string {
	var list []string
	for range g.Intn(max + 1) {
		list = append(list, g.word())
	}
	return strings.Join(list, " ")
}

func (g *scripts) arithmetic() string {
	return g.pick("1", "2+3", g.name(), "$"+g.name(), g.name()+"[0]", g.name()+"["+g.name()+"]", "$(c2 arithmetic)",
		"y[$(c3 inside)]", "1 ? "+g.name()+" : 2")
}

func (g *scripts) word() string {
	if g.depth++; g.depth > 7 {
		g.depth--
		return g.plain()
	}
	defer func() { g.depth-- }()
	x := g.name()
	switch g.Intn(26) {
	case 0:
		return `"` + g.pick("a b", "$"+x, "x${"+x+"}y", "$(c1 quoted)", "a;b", "`c2 ticks`") + `"`
	case 1:
		return "'" + g.pick("a b", "$(c1 never)", ";", "", "c1") + "'"
	case 2:
		return "$" + x
	case 3:
		return "$(" + g.simple() + ")"
	case 4:
		return "`c1 " + g.plain() + "`"
	case 5:
		return "$((" + g.arithmetic() + "))"
	case 6:
		return "${" + x + g.pick(":-", ":=", ":+", "-", "%", "##") + g.word() + "}"
	case 7:
		return "{" + g.plain() + "," + g.plain() + "}"
	case 8:
		return g.pick("*", "d*", "[a-z]", "./*")
	case 9:
		return "<(" + g.simple() + ")"
	case 10:
		return "${" + x + g.pick("@P", "@Q", "@U", "@E", "@A", "[0]", "[@]", "^^", "/a/b") + "}"
	case 11:
		return "${!" + x + "}"
	case 12:
		return "${" + x + ":" + g.arithmetic() + "}"
	case 13:
		return "${" + x + "[" + g.arithmetic() + "]}"
	case 14:
		return g.plain() + g.word()
	case 15:
		return "${#" + x + "}"
	case 16:
		return `"${` + x + `[@]}"`
	case 17:
		return "$'a\\x62'"
	case 18:
		return ">(" + g.simple() + ")"
	}
	return g.plain()
}
