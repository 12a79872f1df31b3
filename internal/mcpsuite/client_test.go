package mcpsuite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// TestClient_PassesTheScenarios runs the core suite's client scenarios, including those for older servers and the next
// version. The remaining scenarios are about grants for machines, which the client does not have.
func TestClient_PassesTheScenarios(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	known, err := filepath.Abs("testdata/baseline.yml")
	if err != nil {
		t.Fatal(err)
	}
	baseline, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	for _, suite := range []string{"core", "backcompat", "draft"} {
		t.Run(suite, func(t *testing.T) {
			dir := t.TempDir()
			cmd := node(t, "conformance", "client", "--command", self, "--suite", suite, "--expected-failures", known, "--output-dir", dir)
			cmd.Env = append(cmd.Env, asClient+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("conformance: %v\n%s", err, out)
			}
			got, wanted := results(t, dir, ""), listed(string(out))
			for _, m := range regexp.MustCompile(`(?m)^  - (\S+)`).FindAllStringSubmatch(string(baseline), -1) {
				delete(got, m[1]) // the suite checks that it fails
				wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == m[1] })
			}
			judge(t, wanted, got, out)
		})
	}
}

// listed returns the scenarios in a run's summary.
func listed(out string) (names []string) {
	for line := range strings.Lines(out) {
		if mark, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && (mark == "✓" || mark == "✗") {
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
	}
	return names
}

// called are the tools that a scenario wants to be called, with their arguments. Scenarios about authorization have one
// tool for all.
var called = map[string]struct{ tool, args string }{
	"initialize": {}, "tools_call": {"add_numbers", `{"a":5,"b":3}`}, "sse-retry": {"test_reconnection", `{}`},
	"elicitation-sep1034-client-defaults": {"test_client_elicitation_defaults", `{}`},
}

// runClient is the suite's client. It returns the exit code.
func runClient(server string) int {
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	want, ok := called[scenario]
	if !ok {
		want.tool, want.args = "test-tool", `{}`
	}
	cfg := mcp.Config{Version: "1.0.0", Servers: map[string]mcp.Server{"suite": {URL: server, Timeout: 20 * time.Second}}}
	if strings.HasPrefix(scenario, "elicitation") {
		cfg.Elicit = func(context.Context, string, mcp.ElicitRequest) (mcp.ElicitAnswer, error) {
			return mcp.ElicitAnswer{Action: mcp.Accept, Content: map[string]any{}}, nil
		}
	}
	if strings.HasPrefix(scenario, "auth/") {
		h, err := authorizer()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		cfg.HTTPClient = &http.Client{Transport: authorized{h}}
	}
	if err := callTool(cfg, want.tool, want.args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// callTool connects and calls a tool through a pipeline.
func callTool(cfg mcp.Config, name, args string) error {
	ctx := context.Background()
	c := mcp.Open(ctx, cfg)
	defer c.Close()
	c.Wait(ctx, 20*time.Second)
	if s := c.Status()[0]; s.State != mcp.Connected {
		return fmt.Errorf("the server is %s: %w", s.State, s.Err)
	}
	if name == "" {
		return nil
	}
	reg := &tool.Registry{}
	if err := reg.Register(c.Tools()...); err != nil {
		return err
	}
	for _, full := range reg.Names() {
		if _, own, _ := c.Origin(full); own == name {
			out := (&tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}).Run(ctx, tool.Call{ID: "1", Name: full, Args: json.RawMessage(args)})
			if !out.OK() {
				return errors.New(out.Model)
			}
			return nil
		}
	}
	return fmt.Errorf("the server has no tool %s, only %v", name, reg.Names())
}

// authorizer returns the SDK's handler for OAuth. Its user approves at once.
func authorizer() (auth.OAuthHandler, error) {
	const redirect = "http://localhost:3000/callback"
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:                     redirect,
		ClientIDMetadataDocumentConfig:  &auth.ClientIDMetadataDocumentConfig{URL: "https://conformance-test.local/client-metadata.json"},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{redirect}}},
		AuthorizationCodeFetcher: func(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			req, err := http.NewRequestWithContext(ctx, "GET", a.URL, nil)
			if err != nil {
				return nil, err
			}
			res, err := http.DefaultTransport.RoundTrip(req) // without following the redirect
			if err != nil {
				return nil, err
			}
			defer res.Body.Close()
			at, err := url.Parse(res.Header.Get("Location"))
			if err != nil {
				return nil, err
			}
			return &auth.AuthorizationResult{Code: at.Query().Get("code"), State: at.Query().Get("state"), Iss: at.Query().Get("iss")}, nil
		},
	}
	var registered struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &registered); err != nil {
			return nil, err
		}
	}
	if registered.ID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: registered.ID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: registered.Secret}}
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// authorized sends requests with a token, and asks for another one when the server refuses it.
type authorized struct{ handler auth.OAuthHandler }

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.send(r)
	if err != nil || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
		return res, err
	}
	if err := a.handler.Authorize(r.Context(), r, res); err != nil {
		return nil, err
	}
	return a.send(r)
}

func (a authorized) send(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		own.Body = body
	}
	source, err := a.handler.TokenSource(r.Context())
	if err != nil {
		return nil, err
	}
	if source != nil {
		token, err := source.Token()
		if err != nil {
			return nil, err
		}
		token.SetAuthHeader(own)
	}
	return http.DefaultTransport.RoundTrip(own)
}
