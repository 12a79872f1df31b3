package mcp

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

func TestToolName_KeepsNamesThatFit(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp__github__create_issue"},
		{"my-server", "a__b", "mcp__my-server__a__b"},
		{"a_b", "c-d", "mcp__a_b__c-d"},
		{"a", "same-deadbee", "mcp__a__same-deadbee"},
	} {
		if got := ToolName(c.server, c.tool); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.server, c.tool, got, c.want)
		}
	}
}

// The names must stay the same between versions: rules and saved sessions contain them.
func TestToolName_OthersGetAHash(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"a__b", "c", "mcp__a_b-"}, {"a_", "c", "mcp__a-"}, {"my server", "c", "mcp__my_server-"}, {"a", "x.y", "mcp__a__x_y-"},
		{"a", "_x", "mcp__a__x-"}, {"", "x", "mcp__-"}, {"ä", "x", "mcp__-"}, {"a", "", "mcp__a__-"},
		{"a", "x-deadbeef", "mcp__a__x-deadbeef-"}, {strings.Repeat("s", 33), "x", "mcp__" + strings.Repeat("s", 23) + "-"},
		{"a", strings.Repeat("x", 57), "mcp__a__" + strings.Repeat("x", 47) + "-"},
	} {
		got := ToolName(c.server, c.tool)
		if !strings.HasPrefix(got, c.want) || len(got) > 64 {
			t.Errorf("%q, %q: got %s, want the prefix %s", c.server, c.tool, got, c.want)
		}
	}
	if got, want := ToolName("my server", "read file"), "mcp__my_server-b129874b__read_file-1214148e"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// anyName draws names in which the parts of tool names are likely.
func anyName(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "_", "__", "-", "mcp", ".", "é", "deadbeef", "-deadbeef", strings.Repeat("x", 30)}), 0, 6).Draw(t, label), "")
}

func TestToolName_DifferentToolsHaveDifferentNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s1, t1, s2, t2 := anyName(t, "server 1"), anyName(t, "tool 1"), anyName(t, "server 2"), anyName(t, "tool 2")
		one, two := ToolName(s1, t1), ToolName(s2, t2)
		if !validName.MatchString(one) {
			t.Fatalf("%q, %q: invalid name %s", s1, t1, one)
		}
		if (one == two) != (s1 == s2 && t1 == t2) {
			t.Fatalf("%q, %q and %q, %q have the names %s and %s", s1, t1, s2, t2, one, two)
		}
	})
}

// A server must not get another server's permissions through its own name or its tools' names.
func TestToolName_RulesMatchOneServerOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trusted, other, name := anyName(t, "trusted"), anyName(t, "other"), anyName(t, "tool")
		if trusted == other {
			return
		}
		rule, err := rules.Parse("mcp__" + serverKey(trusted))
		if err != nil {
			t.Fatal(err)
		}
		p := rules.Policy{Allow: []rules.Rule{rule}}
		if d := p.Decide(t.Context(), policy.Query{Tool: ToolName(trusted, name)}); d.Verdict != policy.Allow {
			t.Fatalf("rule %s does not allow %s", rule, ToolName(trusted, name))
		}
		if d := p.Decide(t.Context(), policy.Query{Tool: ToolName(other, name)}); d.Verdict == policy.Allow {
			t.Fatalf("rule %s for server %q allows %s of server %q", rule, trusted, ToolName(other, name), other)
		}
	})
}

// Nor through a rule for a server that literally has that name, whatever its tools are called.
func TestToolName_LiteralRulesDoNotMatchOtherServers(t *testing.T) {
	for _, c := range []struct{ rule, server, tool string }{
		{"mcp__a", "a__b", "c"}, {"mcp__a", "a_", "c"}, {"mcp__a_", "a", "_c"}, {"mcp__a__c", "a__c", "d"}, {"mcp__a__b__c", "a__b", "c"},
	} {
		rule, err := rules.Parse(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		d := rules.Policy{Allow: []rules.Rule{rule}}.Decide(t.Context(), policy.Query{Tool: ToolName(c.server, c.tool)})
		if d.Verdict == policy.Allow {
			t.Errorf("rule %s allows tool %q of server %q, %s", c.rule, c.tool, c.server, ToolName(c.server, c.tool))
		}
	}
}
