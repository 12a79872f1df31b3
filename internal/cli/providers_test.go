package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/connect"
)

func TestProvidersList_ShowsWhatIsSetWithoutItsValue(t *testing.T) {
	m := newMachine(t)
	m.env["GROQ_API_KEY"], m.env["MY_KEY"] = canary, canary
	m.configure("[providers.mine]\nbase_url = \"https://mine.example/v1\"\nkey_env = \"MY_KEY\"\n\n[providers.unset]\nbase_url = \"https://unset.example\"\nprotocol = \"messages\"\nkey_env = \"UNSET_KEY\"\n")
	out, _ := m.reins(0, "providers", "list")
	if strings.Contains(out, canary) {
		t.Errorf("the list shows a key:\n%s", out)
	}
	lines := strings.Split(out, "\n")
	if !strings.HasPrefix(lines[1], "mine") || !strings.HasPrefix(lines[2], "groq") {
		t.Errorf("the list begins with\n%s\nwant the providers with a key first", strings.Join(lines[:4], "\n"))
	}
	rows := map[string][]string{}
	for _, line := range lines[1:] {
		if f := strings.Fields(line); len(f) > 0 {
			rows[f[0]] = f[1:]
		}
	}
	for name, want := range map[string]string{
		"groq":                  "chat GROQ_API_KEY GROQ_API_KEY https://api.groq.com/openai/v1",
		"mine":                  "chat MY_KEY MY_KEY https://mine.example/v1",
		"unset":                 "messages UNSET_KEY - https://unset.example",
		"xai":                   "responses XAI_API_KEY - https://api.x.ai/v1",
		"minimax":               "messages MINIMAX_API_KEY - https://api.minimax.io/anthropic",
		"cloudflare-workers-ai": "chat CLOUDFLARE_API_KEY or CLOUDFLARE_API_TOKEN - https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
		"local":                 "chat - - -",
	} {
		if got := strings.Join(rows[name], " "); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	out, _ = m.reins(0, "providers", "list", "--json")
	var first connect.Status
	if err := json.Unmarshal([]byte(strings.Split(out, "\n")[0]), &first); err != nil || first.Name != "mine" || !first.Ready || first.From != "MY_KEY" {
		t.Errorf("the first object is %+v, %v", first, err)
	}
}

// providerServer answers chat requests with the key canary, and lists models.
func providerServer(t *testing.T) (*httptest.Server, *[]string) {
	t.Helper()
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.URL.Path+" "+string(body))
		switch {
		case r.Header.Get("Authorization") != "Bearer "+canary:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"invalid key"}}`)
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"data":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"}]}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s, &bodies
}

func TestProvidersTest_SendsASmallRequest(t *testing.T) {
	s, bodies := providerServer(t)
	m := newMachine(t)
	m.env["DEEPSEEK_API_KEY"] = canary
	out, _ := m.reins(0, "providers", "test", "deepseek", "--base-url", s.URL)
	m.says(out, "deepseek: ok ("+s.URL+"/chat/completions, ", ` ms): deepseek-flash answered "ok"`)
	if len(*bodies) != 1 || !strings.Contains((*bodies)[0], `"model":"deepseek-flash"`) || !strings.Contains((*bodies)[0], `"max_tokens":1024`) {
		t.Errorf("the requests are %v, want one with the cheapest model", *bodies)
	}
	out, _ = m.reins(0, "providers", "test", "deepseek", "--base-url", s.URL, "--json", "--model", "m")
	var r providerResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || !r.OK || r.Provider != "deepseek" || r.Model != "m" || r.Answer != "ok" || r.URL != s.URL+"/chat/completions" {
		t.Errorf("got %+v, %v from %s", r, err, out)
	}
}

func TestProvidersTest_ListsModelsIfItKnowsNone(t *testing.T) {
	s, _ := providerServer(t)
	m := newMachine(t)
	m.env["MY_KEY"] = canary
	m.configure("[providers.mine]\nbase_url = \"" + s.URL + "/v1\"\nkey_env = \"MY_KEY\"\n")
	out, _ := m.reins(0, "providers", "test") // all with a key
	m.says(out, "mine: ok ("+s.URL+"/v1/models, ", "4 models, such as a, b, c")
	if strings.Count(out, "\n") != 1 {
		t.Errorf("got\n%s\nwant one provider", out)
	}
}

func TestProvidersTest_FailuresExitWithOneAndSayWhatToDo(t *testing.T) {
	s, _ := providerServer(t)
	m := newMachine(t)
	out, _ := m.reins(1, "providers", "test", "groq", "cloudflare-workers-ai", "github-copilot")
	m.says(out, "groq: failed (no request was sent): provider groq is not configured: set GROQ_API_KEY",
		"cloudflare-workers-ai: failed (no request was sent): provider cloudflare-workers-ai is not configured: set CLOUDFLARE_API_KEY or CLOUDFLARE_API_TOKEN, and CLOUDFLARE_ACCOUNT_ID",
		"github-copilot: failed (no request was sent): provider github-copilot cannot be used")
	m.env["GROQ_API_KEY"] = "wrong-key-0123456789"
	out, _ = m.reins(1, "providers", "test", "groq", "--base-url", s.URL)
	m.says(out, "groq: failed ("+s.URL+"/chat/completions, ", "invalid key (the key is from GROQ_API_KEY)")
	if strings.Contains(out, "wrong-key") {
		t.Errorf("the key is shown in %s", out)
	}
	delete(m.env, "GROQ_API_KEY")
	_, side := m.reins(1, "providers", "test")
	m.says(side, `no provider has a key; "reins providers list" shows the variables to set`)
	_, side = m.reins(2, "providers", "test", "openruoter")
	m.says(side, `unknown provider "openruoter"; did you mean openrouter?`)
}

func TestRun_APresetNeedsOnlyItsKey(t *testing.T) {
	s, bodies := providerServer(t)
	m := newMachine(t)
	_, side := m.reins(2, "run", "--provider", "moonshotai", "hi")
	m.says(side, "provider moonshot is not configured: set MOONSHOT_API_KEY")
	m.env["MOONSHOT_API_KEY"] = canary
	out, _ := m.reins(0, "run", "--provider", "moonshotai", "--base-url", s.URL, "hi")
	m.says(out, "ok")
	if len(*bodies) == 0 || !strings.Contains(strings.Join(*bodies, "\n"), `"model":"kimi-k3"`) {
		t.Errorf("the requests are %.300v, want the default model of the provider", *bodies)
	}
}
