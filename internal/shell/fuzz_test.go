package shell

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
)

func FuzzAnalyze(f *testing.F) {
	g := &scripts{Rand: rand.New(rand.NewSource(2))}
	for range 100 {
		f.Add(g.script())
	}
	for _, line := range []string{
		"", "ls", "ls;;", "$(", "${x", "((", "[[", "<<", "<<EOF", "a=(", "f()", "case", "{", "\\", "'", "\"", "`", "!", "&", "|", ">", "cd; cd -; cd x y z", "sed", "awk", "find -exec", "find . -exec {} +", "xargs -I", "xargs -I {} {}{}{}", "git -C", "git -c", "jq", "sort -o", "env -S", "sh -c", "timeout",
		strings.Repeat("ls;", 10_000) + "rm x", strings.Repeat("(", 2000), strings.Repeat("$(", 2000), strings.Repeat("{ ", 2000), strings.Repeat("if ", 2000), strings.Repeat("! ", 2000), strings.Repeat("x=$x$x;", 2000) + "rm $x", strings.Repeat("{a,b}", 100), "{1..999999999}", strings.Repeat("[", 2000), strings.Repeat("sh -c ", 2000),
		strings.Repeat("eval ", 2000) + "ls", strings.Repeat("for x in a b; do ", 500) + "cd $x; " + strings.Repeat("done;", 500), strings.Repeat("f() { cd x; ", 500) + strings.Repeat("}; ", 500), "echo " + strings.Repeat("x", 256<<10), strings.Repeat("a[", 2000), "echo $((" + strings.Repeat("(", 2000), strings.Repeat("nice ", 2000) + "ls",
		"x=" + strings.Repeat("${x:-", 1000) + strings.Repeat("}", 1000), "for x in " + strings.Repeat("a ", 5000) + "; do for y in " + strings.Repeat("b ", 5000) + "; do rm $x$y; done; done",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		effects, err := Analyze(line, Options{Dir: "/repo", Home: "/home", Paths: env.PathsOf("linux")})
		if err != nil {
			return
		}
		for _, e := range effects {
			for _, a := range e.Accesses {
				if !strings.HasPrefix(a.Path, "/") {
					t.Errorf("%q: %s is not absolute", line, a.Path)
				}
			}
		}
	})
}
