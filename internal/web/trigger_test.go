package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/webhook"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
	"github.com/reins-agent/reins/tool"
)

func TestTrigger_CallsOnlyConfiguredWebhooks(t *testing.T) {
	secret, err := webhook.ParseSecret("a secret of more than 16 bytes")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	receiver := &webhook.Receiver{Secret: secret, Deliver: func(_ string, body []byte) error {
		got = append(got, string(body))
		return nil
	}}
	hooks := httptest.NewServer(receiver)
	defer hooks.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler(hooks.URL, http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	c := Config{AllowPrivate: true, Triggers: map[string]Trigger{
		"deploy": {URL: hooks.URL, Secret: secret}, "moved": {URL: elsewhere.URL, Secret: secret}, "metadata": {URL: "http://169.254.169.254/", Secret: secret},
	}}
	out := run(t, c, "remote_trigger", map[string]any{"name": "deploy", "payload": map[string]any{"version": 2}})
	if !out.OK() || len(got) != 1 || got[0] != `{"version":2}` {
		t.Errorf("sent %q: %+v", got, out.Result.Error)
	}
	if want := []policy.Access{{Kind: policy.Connect, Target: strings.TrimPrefix(hooks.URL, "http://")}}; len(out.Accesses) != 1 || out.Accesses[0] != want[0] {
		t.Errorf("accesses %v, want %v", out.Accesses, want)
	}
	for name, args := range map[string]map[string]any{
		"unknown": {"name": "other"}, "redirect": {"name": "moved"}, "link-local": {"name": "metadata"}, "a URL": {"name": hooks.URL},
		"too large": {"name": "deploy", "payload": strings.Repeat("x", webhook.MaxBody)},
	} {
		if out := run(t, c, "remote_trigger", args); out.OK() {
			t.Errorf("%s: the call succeeded: %s", name, out.Model)
		}
	}
	c.AllowPrivate = false
	if out := run(t, c, "remote_trigger", map[string]any{"name": "deploy"}); out.OK() || out.Result.Error.Code != tool.PermissionDenied {
		t.Errorf("a private address: %+v, want it refused", out.Result.Error)
	}
	if out := runWith(t, c, rules.Policy{}, "remote_trigger", map[string]any{"name": "deploy"}); out.OK() || out.Decision.Verdict == policy.Allow {
		t.Errorf("without a rule: %+v, want it refused", out.Decision)
	}
	if len(got) != 1 {
		t.Errorf("%d webhooks were called, want one", len(got))
	}
}

func TestTrigger_ALargeResponseIsRefusedWithItsLimit(t *testing.T) {
	secret, err := webhook.ParseSecret("a secret of more than 16 bytes")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, sends("text/plain", strings.Repeat("x", maxReply+1)))
	c := Config{AllowPrivate: true, Triggers: map[string]Trigger{"deploy": {URL: s.URL, Secret: secret}}}
	has(t, run(t, c, "remote_trigger", map[string]any{"name": "deploy"}).Model, "larger than 16 KiB. The webhook was called.")
}
