package local

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
)

func TestInherit_PassesWhatProgramsNeed(t *testing.T) {
	pass := []string{"MY_*", "GH_TOKEN"}
	for _, tt := range []struct {
		variable       string
		listed, passed bool
	}{
		{"PATH=/bin", true, true},
		{"HOME=/root", true, true},
		{"GOPATH=/go", true, true},
		{"CGO_ENABLED=0", true, true},
		{"LC_ALL=C", true, true},
		{"Path=C:", true, true},
		{"SSH_AUTH_SOCK=/tmp/a", true, true},
		{"HTTPS_PROXY=http://proxy:8080", true, true},
		{"HTTPS_PROXY=http://me:pw@proxy:8080", false, false},
		{"GOPROXY=https://a.example,https://tok@b.example", false, false},
		{"MY_SETTING=1", false, true},
		{"gh_token=x", false, true},
		{"GH_TOKENS=x", false, false},
	} {
		name, value, _ := strings.Cut(tt.variable, "=")
		for i, want := range []bool{tt.listed, tt.passed} {
			c := Config{}
			if i == 1 {
				c.Pass = pass
			}
			vars, withheld := baseVars(c, []string{tt.variable})
			if _, got := vars[name]; got != want || slices.Contains(withheld, name) == want || got && vars[name] != value {
				t.Errorf("%s with pass %v: passed %v, withheld %v, want %v", tt.variable, c.Pass, got, withheld, want)
			}
		}
	}
}

func TestInherit_WithholdsSecretsOfAnyName(t *testing.T) {
	for _, name := range strings.Fields(`
		OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY openai_api_key Client_Secret GITHUB_TOKEN GH_TOKEN GITLAB_PAT
		DB_PASSWORD DATABASE_URL REDIS_URL SENTRY_DSN AWS_CREDENTIAL AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
		AWS_SESSION_TOKEN GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET PGPASSWORD MYSQL_PWD NPM_TOKEN NODE_AUTH_TOKEN
		PASSWORD TOKEN SSHPASS SLACK_WEBHOOK STRIPE_KEY JWT HEROKU_AUTH DOCKER_AUTH_CONFIG KUBECONFIG VAULT_ADDR
		TWILIO_SID npm_config__authToken MY_PASSPHRASE COOKIE SESSION GIT_ASKPASS CARGO_REGISTRY_TOKEN`) {
		if vars, _ := baseVars(Config{}, []string{name + "=canary"}); vars[name] != "" && vars[name] != quiet[name] {
			t.Errorf("%s is passed to commands", name)
		}
	}
	if vars, withheld := baseVars(Config{Inherit: InheritAll}, []string{"TOKEN=x"}); vars["TOKEN"] != "x" || withheld != nil {
		t.Errorf("InheritAll withholds %v", withheld)
	}
}

func TestVars_ExplicitWinsOverQuietOverInherited(t *testing.T) {
	host := []string{"PAGER=less", "GIT_EDITOR=vi", "LANG=host", "X_TOKEN=secret", "Y_TOKEN=secret", markerName + "=outer.1;", "=C:=hidden"}
	vars, withheld := baseVars(Config{Vars: map[string]string{"GIT_EDITOR": "mine", "X_TOKEN": "given"}}, host)
	for name, want := range map[string]string{"PAGER": "cat", "GIT_EDITOR": "mine", "LANG": "host", "X_TOKEN": "given", "GIT_SEQUENCE_EDITOR": "false"} {
		if vars[name] != want {
			t.Errorf("%s is %q, want %q", name, vars[name], want)
		}
	}
	if !slices.Equal(withheld, []string{"Y_TOKEN"}) {
		t.Errorf("withheld: %v, want only Y_TOKEN", withheld)
	}
	if _, ok := vars[markerName]; ok {
		t.Error("the marker was passed on unchanged")
	}
	if vars, _ = baseVars(Config{Inherit: InheritNone}, host); !maps.Equal(vars, quiet) {
		t.Errorf("with InheritNone: %v", vars)
	}
}

func TestEnvironment_MarksNestAndCommandWins(t *testing.T) {
	e := &Env{state: &state{outerMark: "outer.1;", vars: []string{"A=1", "B=2"}}}
	got := e.environment(env.Command{Env: map[string]string{"B": "3", markerName: "forged"}}, "me.7;")
	if want := []string{markerName + "=outer.1;me.7;", "A=1", "B=3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
