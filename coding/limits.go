package coding

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// denials are fragments of program messages after a sandbox denial.
var denials = []string{
	"read-only file system", "permission denied", "operation not permitted", "device or resource busy", "eperm", "eacces", "erofs",
	"connection refused",
}

// offline are fragments of program messages without a network.
var offline = []string{
	"network is unreachable", "could not resolve", "temporary failure in name resolution", "name or service not known",
	"getaddrinfo", "enetunreach", "eai_again", "no such host",
}

// explainTail is how many characters at the end of an output are searched for denials.
const explainTail = 16 << 10

// ExplainLimits is middleware that adds a note to a failed command's result if the sandbox or a withheld
// environment variable may be the reason. The field "denied" tells the user about a hidden file or the missing network.
func ExplainLimits(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	res, err := next(ctx)
	i := slices.IndexFunc(c.Accesses, func(a policy.Access) bool { return a.Kind == policy.Exec })
	if blocked, _ := res.Fields["blocked"].([]string); len(blocked) > 0 {
		res.Notes = append(
			res.Notes,
			fmt.Sprintf(
				"The sandbox blocked %s, which decides what runs outside of it. It was renamed to end in .reins-blocked, or "+
					"removed in .git. "+
					"Tell the user if it is needed; do not create it again.",
				strings.Join(blocked, ", "),
			),
		)
	}
	if err != nil || i < 0 || c.Env == nil || c.Env.Info().Limits == nil {
		return res, err
	}
	limits := c.Env.Info().Limits
	if hosts, _ := res.Fields["refused_hosts"].([]string); len(hosts) > 0 {
		why := unreached(*limits, hosts)
		res.Fields = maps.Clone(res.Fields)
		res.Fields["denied"] = why
		res.Notes = append(res.Notes, strings.ToUpper(why[:1])+why[1:]+". Only the user can do that.")
		return res, nil
	}
	if !failedCommand(res) {
		return res, nil
	}
	text := strings.ToLower(tail(res.Output))
	if limits.Sandbox != "" && !c.Accesses[i].Outside {
		why := denied(*limits, text)
		if why != "" {
			res.Fields = maps.Clone(res.Fields)
			if res.Fields == nil {
				res.Fields = map[string]any{}
			}
			res.Fields["denied"] = why
		}
		if why != "" || containsAny(text, denials) || containsAny(text, offline) {
			res.Notes = append(res.Notes, sandboxNote(*limits, c.Name))
		}
	}
	if names := missed(limits.Withheld, c.Accesses[i].Target, tail(res.Output)); len(names) > 0 {
		res.Notes = append(
			res.Notes,
			fmt.Sprintf(
				"Commands do not get %s from the environment. The user can change that with environment.pass in the "+
					"configuration of reins.",
				strings.Join(names, ", "),
			),
		)
	}
	return res, nil
}

// denied returns a sentence for the user about the probable sandbox denial, and how to permit the access. The
// output is in lower case.
func denied(l env.Limits, output string) string {
	for _, path := range l.Masked {
		name := path
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, home+"/") {
			name = "~" + strings.TrimPrefix(path, home)
		}
		if strings.Contains(output, strings.ToLower(path)) {
			return fmt.Sprintf(
				"a command failed because the sandbox hides %s; to let commands read it: reins config set --personal --add "+
					"sandbox.readable %s",
				name,
				name,
			)
		}
	}
	if !l.Network && len(l.Hosts) > 0 && l.Sandbox != tool.ReadSandbox && containsAny(output, offline) {
		return "a command failed because it did not use the proxy through which the sandbox permits " + strings.Join(l.Hosts, ", ") +
			"; to permit the whole network, use --network"
	}
	if !l.Network && l.Sandbox != tool.ReadSandbox && containsAny(output, offline) {
		return "a command failed because the sandbox has no network; to permit it, use --network, or run: reins config set " +
			"--personal sandbox.network true"
	}
	return ""
}

// unreached returns a sentence for the user about hosts that the sandbox did not let a command reach, and what permits them.
func unreached(l env.Limits, hosts []string) string {
	shown := make([]string, len(hosts))
	for i, h := range hosts {
		shown[i] = strings.Replace(h, ",", " at ", 1) // a name, and its address
	}
	list := strings.Join(append(slices.Clone(l.Hosts), hosts...), ",")
	return fmt.Sprintf("the sandbox did not let the command reach %s; --network %s allows it", strings.Join(shown, ", "), list)
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(text, s) })
}

// failedCommand reports whether a command ended with an error.
func failedCommand(res tool.Result) bool {
	switch code := res.Fields["exit_code"].(type) {
	case int:
		return code != 0
	case int64:
		return code != 0
	}
	return res.Error != nil
}

// tail returns an output's last characters.
func tail(o tool.Output) string {
	if o == nil {
		return ""
	}
	text, err := tool.Truncate(o, tool.Limit{Chars: explainTail, Lines: -1, Mode: tool.Tail})
	if err != nil {
		return ""
	}
	return text
}

// sandboxNote describes the sandbox and how to leave it.
func sandboxNote(l env.Limits, name string) string {
	var b strings.Builder
	if l.Sandbox == tool.ReadSandbox {
		b.WriteString(
			"This was allowed because it only reads, so it ran where it can change nothing, has no network, and can read only " +
				"the workspace, system files and tools",
		)
	} else {
		fmt.Fprintf(&b, "This ran in the sandbox (%s)", l.Sandbox)
	}
	if len(l.Writable) > 0 {
		fmt.Fprintf(&b, ": commands can write below %s", strings.Join(l.Writable, ", "))
		fmt.Fprintf(&b, ", except files that control what runs later, such as .git/hooks and .git/config")
	}
	if !l.Network && len(l.Hosts) > 0 && l.Sandbox != tool.ReadSandbox {
		fmt.Fprintf(&b, "; over the network, they reach only %s, and only through the proxy that HTTP_PROXY and HTTPS_PROXY name",
			strings.Join(l.Hosts, ", "))
	} else if !l.Network && l.Sandbox != tool.ReadSandbox {
		b.WriteString("; there is no network except loopback")
	}
	parameter := "outside_sandbox: true"
	switch name {
	case "Bash":
		parameter = "dangerouslyDisableSandbox: true"
	case "exec_command":
		parameter = `sandbox_permissions: "require_escalated"`
	}
	fmt.Fprintf(
		&b,
		". Use $TMPDIR for temporary files. If the sandbox caused the failure and the command is needed, repeat the call with "+
			"%s; the user is asked first.",
		parameter,
	)
	return b.String()
}

// variablesOf maps programs to the prefixes of variables that they use without naming them in messages.
var variablesOf = map[string][]string{
	"gh": {"GH_", "GITHUB_"}, "glab": {"GITLAB_"}, "npm": {"NPM_", "NODE_AUTH_"}, "pnpm": {"NPM_", "NODE_AUTH_"}, "yarn": {"NPM_", "YARN_"},
	"aws": {"AWS_"}, "gcloud": {"GOOGLE_", "CLOUDSDK_"}, "az": {"AZURE_", "ARM_"}, "terraform": {"TF_", "AWS_", "ARM_", "GOOGLE_"},
	"psql": {"PG", "DATABASE_URL"}, "mysql": {"MYSQL_"}, "docker": {"DOCKER_"}, "kubectl": {"KUBE"}, "cargo": {"CARGO_"},
	"twine": {"TWINE_"}, "vault": {"VAULT_"}, "heroku": {"HEROKU_"}, "git": {"GIT_ASKPASS", "SSH_ASKPASS"}, "sentry-cli": {"SENTRY_"},
}

// missed returns the withheld variables that a failed command may have needed: those that it or its output names,
// and those of its program.
func missed(withheld []string, line, output string) (names []string) {
	for _, name := range withheld {
		if containsWord(line, name) || containsWord(output, name) || slices.ContainsFunc(strings.Fields(line), func(word string) bool {
			return slices.ContainsFunc(variablesOf[word], func(p string) bool { return strings.HasPrefix(name, p) })
		}) {
			names = append(names, name)
		}
	}
	return names
}

// containsWord reports whether text contains a name that is not part of a longer name.
func containsWord(text, name string) bool {
	letter := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(name)
		if (start == 0 || !letter(text[start-1])) && (end == len(text) || !letter(text[end])) {
			return true
		}
		at = end
	}
}
