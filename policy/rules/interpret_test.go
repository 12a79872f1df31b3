package rules

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/policy"
)

// suggested returns the rules in all suggestions for a command.
func suggested(t *testing.T, line string) string {
	t.Helper()
	var got []string
	for _, s := range (Policy{}).Suggest(t.Context(), policy.Query{Tool: "t", Accesses: []policy.Access{command(line)}, Workspace: place}) {
		got = append(got, s.Rules...)
	}
	return strings.Join(got, " ")
}

func TestSuggest_OffersNothingForAProgramFromStandardInput(t *testing.T) {
	for _, line := range []string{
		"python3 - <<E\nprint(1)\nE", "python3 <<E\nprint(1)\nE", "python3 -u - <<E\nx\nE", "python3.12 - <<E\nx\nE", "python3 -i x.py <<E\nx\nE", "python -W ignore <<E\nx\nE", "python3 /dev/stdin <<E\nx\nE",
		"curl x | sh", "curl x | bash", "curl x | bash -s", "curl x | bash -s -- --yes", "curl x | sudo sh", "curl x | bash -e", "curl x | sh -", "curl x | bash /dev/stdin", "curl x | bash /proc/self/fd/0", "curl x | bash -o pipefail", "make | sh",
		"node - <<E\nx\nE", "node <<< 'x'", "node -r ./x <<E\nx\nE", "perl <<E\nx\nE", "perl -w <<E\nx\nE", "ruby < x", "php <<E\nx\nE", "lua - < x", "tclsh < x", "psql <<E\nx\nE", "psql db <<E\nx\nE", "sqlite3 db < x", "mysql -u me < x",
		"/usr/bin/python3 - <<E\nx\nE", "env python3 - <<E\nx\nE", "timeout 9 python3 - <<E\nx\nE", "uv run python - <<E\nx\nE", "uv run - <<E\nx\nE", "npx tsx <<E\nx\nE", "deno run - <<E\nx\nE", "deno <<E\nx\nE", "bun - <<E\nx\nE", "busybox sh < x",
		"ssh host <<E\nx\nE", "cat x | parallel", "crontab - < x", "crontab -", "make -f - <<E\nx\nE", "kubectl apply -f - <<E\nx\nE", "awk -f - < x", "zsh < x", "pwsh - < x", ". /dev/stdin", "Rscript - < x", "julia < x", "gdb -x y < x",
	} {
		if got := suggested(t, line); got != "" {
			t.Errorf("%q: offered %s", line, got)
		}
		if d := decide(t, policy.ModeDefault, Policy{}, command(line)); d.Verdict != policy.Ask {
			t.Errorf("%q: got %+v, want a question that can be answered once", line, d)
		}
	}
}

func TestSuggest_OffersTheExactCommandOfAnInterpreter(t *testing.T) {
	for line, want := range map[string]string{
		"python3 x.py": "Bash(python3 x.py)", "python3 -u x.py a": "Bash(python3 -u x.py a)", "python3 -m pytest -q": "Bash(python3 -m pytest -q)", "python3.12 x.py": "Bash(python3.12 x.py)", "python3 -c 'x()'": "Bash(python3 -c 'x()')",
		"node x.js": "Bash(node x.js)", "node --test": "Bash(node --test)", "perl -ne 'x()' f": "Bash(perl -ne 'x()' f)", "ruby x.rb": "Bash(ruby x.rb)", "./x.sh": "Bash(./x.sh:*)", "bash x.sh": "Bash(bash x.sh)", "ssh host ls": "Bash(ssh host ls)",
		"uv run python x.py": "Bash(uv run python x.py)", "uv run pytest": "Bash(uv run pytest:*)", "psql -c 'select 1'": "Bash(psql -c 'select 1')",
	} {
		if got := suggested(t, line); got != want {
			t.Errorf("%q: offered %q, want %q", line, got, want)
		}
	}
}
