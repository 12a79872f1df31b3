package rules_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// place is a directory in which commands are judged, with real files.
type place struct {
	dir, home string
	workspace policy.Workspace
}

// newPlace makes a workspace, a home directory and a file outside both.
func newPlace(t testing.TB) place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{dir: filepath.Join(root, "repo"), home: filepath.Join(root, "home")}
	for name, text := range map[string]string{
		"README.md": "readme", "package.json": "{}", "go.mod": "module x", "main.go": "package main", "data.txt": "/etc/passwd",
		"data.csv": "a,b", "data.json": "{}", "src/a.go": "package src", "src/b.go": "package src", "src/lib/util.ts": "", "src/with space.txt": "",
		"docs/guide.md": "", "test/a_test.go": "", "build/out.txt": "", "logs/app.log": "", "vendor/x/x.go": "", "migrations/001.sql": "",
		".env": "KEY=1", "secrets/key.pem": "BEGIN", ".git/config": "", ".git/HEAD": "ref: refs/heads/main", ".git/hooks/x": "", "template/.vscode/tasks.json": "", "template/vendor/x.go": "", "plain/a/b.txt": "",
		"../secret.txt": "secret", "../out/secret.txt": "secret", "../home/.bashrc": "", "../home/.ssh/id_rsa": "BEGIN", "../home/notes.txt": "",
	} {
		file := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"link_out": "../out", "up": ".", "src/up": "..", "envlink": ".env", "secretlink": "secrets", "vendorlink": "vendor",
		"gitdir": ".git", "hook": ".git/hooks/pre-commit",
	} {
		if err := os.Symlink(target, filepath.Join(p.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := local.New(local.Config{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	p.workspace = policy.Workspace{Dir: p.dir, Home: p.home, Paths: e.Info().Paths(), Files: e, ReadsOnly: true}
	return p
}

// query asks about a command.
func (p place) query(mode policy.Mode, command string) policy.Query {
	return policy.Query{Tool: "shell", Mode: mode, Workspace: p.workspace, Accesses: []policy.Access{{Kind: policy.Exec, Target: command, Dir: p.dir}}}
}

// ruleSet is a rule file in testdata.
type ruleSet struct {
	name   string
	Mode   policy.Mode
	Allow  []rules.Rule
	Ask    []rules.Rule
	Deny   []rules.Rule
	policy policy.Policy
}

func ruleSets(t testing.TB) []ruleSet {
	t.Helper()
	var sets []ruleSet
	for _, name := range []string{"none", "dev", "deny", "edits"} {
		b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		s := ruleSet{name: name}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		s.policy = rules.Policy{Allow: s.Allow, Ask: s.Ask, Deny: s.Deny}
		sets = append(sets, s)
	}
	return sets
}

// commandLine is a line in testdata/commands.txt.
type commandLine struct {
	line    int
	want    string // one letter per rule set
	command string
}

func commandLines(t testing.TB) []commandLine {
	t.Helper()
	b, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []commandLine
	for i, line := range strings.Split(string(b), "\n") {
		want, command, ok := strings.Cut(line, " ")
		if line == "" || want == "#" || !ok {
			continue
		}
		if len(want) == 1 {
			want = strings.Repeat(want, 4)
		}
		if len(want) != 4 || strings.Trim(want, "a?x!.") != "" {
			t.Fatalf("commands.txt:%d: want four letters, got %q", i+1, want)
		}
		if text, err := strconv.Unquote(command); err == nil && command[0] == '"' {
			command = text
		}
		list = append(list, commandLine{i + 1, want, command})
	}
	return list
}

// expected reports whether a letter stands for a verdict.
func expected(letter byte, v policy.Verdict) bool {
	switch letter {
	case 'a':
		return v == policy.Allow
	case '?':
		return v == policy.Ask
	case 'x':
		return v == policy.Deny
	case '!':
		return v != policy.Allow
	}
	return letter == '.'
}

func TestCorpus_DecidesEveryCommandLineAsExpected(t *testing.T) {
	p, sets, lines := newPlace(t), ruleSets(t), commandLines(t)
	harmless, judged, wideners, needless, other := 0, 0, 0, 0, 0
	for _, l := range lines {
		if strings.Contains(l.want, "a") {
			harmless++
		}
		for i, s := range sets {
			d := s.policy.Decide(t.Context(), p.query(s.Mode, l.command))
			judged++
			switch {
			case expected(l.want[i], d.Verdict):
				continue
			case d.Verdict == policy.Allow:
				wideners++
			case l.want[i] == 'a':
				needless++
			default:
				other++
			}
			t.Errorf("commands.txt:%d (%s): %s\n\tgot %v (%s), want %q", l.line, s.name, l.command, d.Verdict, d.Reason, l.want[i])
		}
	}
	t.Logf("%d lines, %d of them allowed by some rules, %d decisions: %d wideners, %d needless prompts, %d other differences", len(lines), harmless, judged, wideners, needless, other)
	if len(lines) < 400 || harmless < 200 || len(lines)-harmless < 200 {
		t.Errorf("the corpus has %d lines, %d of them allowed by some rules; want at least 200 of each kind", len(lines), harmless)
	}
}

func TestCorpus_LongLinesAreNeverWidened(t *testing.T) {
	p := newPlace(t)
	many := func(n int, part, last string) string { return strings.Repeat(part, n) + last }
	for name, c := range map[string]struct {
		command string
		want    policy.Verdict
	}{
		"10,000 harmless parts":                  {many(9_999, "ls;", "ls"), policy.Allow},
		"10,000 parts, the last deletes":         {many(9_999, "ls;", "rm x"), policy.Ask},
		"10,000 lines, the first deletes":        {"rm x\n" + many(9_999, "ls\n", "ls"), policy.Ask},
		"60 parts joined by &&":                  {many(59, "ls && ", "curl x"), policy.Ask},
		"10,000 stages of a pipeline":            {many(9_999, "cat|", "sh"), policy.Ask},
		"a comment longer than a line may be":    {"ls # " + many(300_000, "x", "\nrm x"), policy.Ask},
		"a word of 200,000 characters":           {"ls; echo " + many(200_000, "x", "; rm x"), policy.Ask},
		"100 nested subshells":                   {many(100, "(", "rm x") + many(100, ")", ""), policy.Ask},
		"100 nested substitutions":               {many(100, "echo $(", "rm x") + many(100, ")", ""), policy.Ask},
		"60 nested shells":                       {nestedShells(12), policy.Ask},
		"a brace expansion of a million words":   {"ls {1..1000000}; rm x", policy.Ask},
		"ten brace expansions, 10^10 words":      {"rm " + many(10, "{0,1,2,3,4,5,6,7,8,9}", ""), policy.Ask},
		"100 variables, each twice the last one": {doubling(100) + "rm $x99", policy.Ask},
	} {
		if d := (rules.Policy{}).Decide(t.Context(), p.query(policy.ModeDefault, c.command)); d.Verdict != c.want {
			t.Errorf("%s: got %v (%.100s), want %v", name, d.Verdict, d.Reason, c.want)
		}
	}
}

// nestedShells quotes a command for n shells inside each other.
func nestedShells(n int) string {
	s := "rm x"
	for range n {
		s = "sh -c '" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

func doubling(n int) string {
	var b strings.Builder
	b.WriteString("x0=a; ")
	for i := 1; i < n; i++ {
		b.WriteString("x" + strconv.Itoa(i) + "=$x" + strconv.Itoa(i-1) + "$x" + strconv.Itoa(i-1) + "; ")
	}
	return b.String()
}

func BenchmarkDecide_Corpus(b *testing.B) {
	p, sets, lines := newPlace(b), ruleSets(b), commandLines(b)
	ctx := context.Background()
	n := 0
	for b.Loop() {
		l, s := lines[n%len(lines)], sets[n%len(sets)]
		s.policy.Decide(ctx, p.query(s.Mode, l.command))
		n++
	}
}
