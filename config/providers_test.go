package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/config"
)

const gateway = `provider = "gateway"

[providers.gateway]
base_url = "https://gateway.example/v1"
protocol = "responses"
key_env = "GATEWAY_KEY"
headers = {X-Team = "blue", X-Org = "${ORG}"}

[[providers.gateway.models]]
id = "large"
context_window = 200_000
max_output = 32_000
vision = true
reasoning = true
input_price = 3
output_price = 15.5

[[providers.gateway.models]]
id = "free"
tools = false
input_price = 0.0
output_price = 0.0
`

func TestProviders_AreReadFromTheUsersFile(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerUser, gateway)
	s := w.load()
	three, fifteen, zero, yes, no := 3.0, 15.5, 0.0, true, false
	want := map[string]config.Provider{"gateway": {
		BaseURL: "https://gateway.example/v1", Protocol: "responses", KeyEnv: "GATEWAY_KEY", Headers: map[string]string{"X-Team": "blue", "X-Org": "${ORG}"},
		Models: []config.Model{
			{ID: "large", ContextWindow: 200_000, MaxOutput: 32_000, Vision: &yes, Reasoning: &yes, InputPrice: &three, OutputPrice: &fifteen},
			{ID: "free", Tools: &no, InputPrice: &zero, OutputPrice: &zero},
		},
	}}
	if diff := cmp.Diff(want, s.Providers); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if s.Provider != "gateway" {
		t.Errorf("provider %q", s.Provider)
	}
	if o := entry(s, "providers").Origins; len(o) != 1 || o[0].Layer != config.LayerUser || o[0].Line != 3 {
		t.Errorf("origins of providers: %v", o)
	}
}

// A provider's key must not be sent to another address.
func TestProviders_AHigherLayerReplacesTheWholeEntry(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerSystem, "[providers.a]\nbase_url = \"https://a.example\"\n[providers.b]\nbase_url = \"https://b.example\"\nkey_env = \"B_KEY\"\nheaders = {X = \"1\"}\n")
	w.write(config.LayerUser, "[providers.b]\nbase_url = \"https://elsewhere.example\"\n")
	s := w.load()
	want := map[string]config.Provider{"a": {BaseURL: "https://a.example"}, "b": {BaseURL: "https://elsewhere.example"}}
	if diff := cmp.Diff(want, s.Providers); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
	if o := entry(s, "providers").Origins; len(o) != 2 || o[0].Layer != config.LayerSystem || o[1].Layer != config.LayerUser {
		t.Errorf("origins of providers: %v", o)
	}
}

func TestProviders_MistakesAreErrorsWithAPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[providers.x]\nkey_env = \"K\"":                                                       "1:2: providers.x.base_url is missing",
		"[providers.x]\nbase_url = \"gateway\"":                                                "1:2: providers.x: base_url must begin with https://",
		"[providers.x]\nbase_url = \"https://me:secret@y\"":                                    "must not contain credentials",
		"[providers.x]\nbase_url = \"https://y?key=secret\"":                                   "must not contain credentials",
		"[providers.x]\nbase_url = \"http://y\"\nprotocol = \"soap\"":                          `unknown providers.x.protocol "soap"; use chat, responses, messages or gemini`,
		"[providers.x]\nbase_url = \"http://y\"\nkey = \"secret\"":                             `3:1: unknown key "providers.x.key"`,
		"[providers.x]\nbase_url = \"http://y\"\nkey_env = \"K\"\nkey_command = \"c\"":         "set only one of key_env and key_command",
		"[providers.X]\nbase_url = \"http://y\"":                                               `"X" cannot name a provider`,
		"[providers.\"a.b\"]\nbase_url = \"http://y\"":                                         `"a.b" cannot name a provider`,
		"[providers.openai]\nbase_url = \"http://y\"":                                          "openai is a built-in provider",
		"[providers.x]\nbase_url = \"http://y\"\nheaders = {\"a b\" = \"c\"}":                  `"a b" is not the name of an HTTP header`,
		"[providers.x]\nbase_url = \"http://y\"\nheaders = {a = \"b\\nc: d\"}":                 "has more than one line",
		"[providers.x]\nbase_url = \"http://y\"\nheaders = {a = 1}":                            "providers.x.headers.a must be a string",
		"[providers.x]\nbase_url = \"http://y\"\n[[providers.x.models]]\nvision = true":        "providers.x.models.id is missing",
		"[providers.x]\nbase_url = \"http://y\"\nmodels = [{id = \"m\", input_price = -1}]":    "providers.x.models.input_price must be at least 0",
		"[providers.x]\nbase_url = \"http://y\"\nmodels = [{id = \"m\", input_price = \"1\"}]": "providers.x.models.input_price must be a number",
		"[providers.x]\nbase_url = \"http://y\"\nmodels = [{id = \"m\"}, {id = \"m\"}]":        `models lists "m" twice`,
		"provider = \"x\"":            `:1:1: unknown provider "x"; use openai, anthropic, gemini, chat`,
		"providers = 1":               "1:1: providers must be a table",
		"[[providers]]":               "1:3: providers must be a table",
		"response_timeout = \"soon\"": "response_timeout must be a time such as 90s or 20m",
		"response_timeout = \"-1s\"":  "response_timeout must be a time such as 90s or 20m",
	} {
		w := newWorld(t)
		w.write(config.LayerUser, text)
		if _, err := config.Load(w.sources); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestProviders_AFlagCanNameAnEntryOfAFile(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerUser, "[providers.x]\nbase_url = \"http://y\"")
	w.sources.Flags = []config.Override{{Key: "provider", Value: "x", Name: "--provider"}}
	if s := w.load(); s.Provider != "x" {
		t.Errorf("provider %q", s.Provider)
	}
	w.sources.Flags[0].Value = "y"
	if _, err := config.Load(w.sources); err == nil || !strings.Contains(err.Error(), `--provider: unknown provider "y"; use openai, anthropic`) || !strings.Contains(err.Error(), " or x") {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestExpand_ReplacesVariablesAndReportsMissingOnes(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"A": " one\n"}[name] }
	if got, err := config.Expand("Bearer ${A} $A ${} ${a b} ${A:-x} ${B:-y z} ${B:-}", getenv); err != nil || got != "Bearer one $A ${} ${a b} one y z " {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := config.Expand("${A}${MISSING}", getenv); err == nil || !strings.Contains(err.Error(), "MISSING is not set") {
		t.Errorf("a missing variable: %v", err)
	}
}

func TestParseHeader(t *testing.T) {
	if name, value, err := config.ParseHeader("x-team:  blue: green "); name != "X-Team" || value != "blue: green" || err != nil {
		t.Errorf("%q, %q, %v", name, value, err)
	}
	for _, text := range []string{"x-team", ": x", "a b: c", "a: b\nc: d"} {
		if _, _, err := config.ParseHeader(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestProviders_SetAcceptsOnlyKnownOnes(t *testing.T) {
	w := newWorld(t)
	w.write(config.LayerUser, "[providers.x]\nbase_url = \"http://y\"\n")
	f := w.file(config.LayerUser)
	if err := f.Set("provider", "y"); err == nil || !strings.Contains(err.Error(), `unknown provider "y"; use openai,`) {
		t.Errorf("an unknown provider: %v", err)
	}
	if err := f.Set("provider", "x"); err != nil {
		t.Error(err)
	}
	if err := w.file(config.LayerLocal).Set("provider", "x"); err != nil {
		t.Errorf("in a project: %v", err)
	}
	if err := f.Set("providers.x.base_url", "http://z"); err == nil || !strings.Contains(err.Error(), "edit the file") {
		t.Errorf("a part of an entry: %v", err)
	}
	if err := f.Set("providers", "{}"); err == nil {
		t.Error("the whole map can be replaced")
	}
	if s := w.load(); s.Provider != "x" || s.Providers["x"].BaseURL != "http://y" {
		t.Errorf("%+v", s.Config)
	}
}
