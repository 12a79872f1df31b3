package config_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"

	"github.com/reins-agent/reins/config"
)

func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	b, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// asJSON returns a TOML document as a JSON value.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var document map[string]any
	if err := toml.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	b, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

func TestSchema_AcceptsTheExamplesOfTheDocumentation(t *testing.T) {
	s := schema(t)
	examples := tomlBlock.FindAllStringSubmatch(page(t), -1)
	if len(examples) < 3 {
		t.Fatalf("docs/configuration.md has %d examples, want 3 or more", len(examples))
	}
	for _, e := range examples {
		if err := s.Validate(asJSON(t, e[1])); err != nil {
			t.Errorf("%v in\n%s", err, e[1])
		}
		w := newWorld(t)
		w.write(config.LayerUser, e[1])
		if _, err := config.Load(w.sources); err != nil {
			t.Errorf("%v in\n%s", err, e[1])
		}
	}
}

func TestSchema_RejectsWhatLoadRejects(t *testing.T) {
	s := schema(t)
	for _, text := range []string{
		"modle = \"x\"", "model = 1", "response_timeout = 5", "providers.x = {}", "providers = [1]", "providers.x = {base_url = \"http://y\", protocol = \"soap\"}",
		"providers.x = {base_url = \"http://y\", key = \"secret\"}", "providers.x = {base_url = \"http://y\", models = [{id = \"m\", input_price = -1}]}", "permissions.mode = \"yolo\"", "permissions.alow = []", "permissions.deny = \"x\"",
		"run.budget = -1", "run.compact_at = 2", "run.max_turns = 1.5", "run.max_rounds = -1", "hooks = [{event = \"x\"}]",
		"[[permissions.rule]]\ntool = \"x\"", "base_url = \"http://127.0.0.1:1\"",
	} {
		if s.Validate(asJSON(t, text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
		w := newWorld(t)
		w.write(config.LayerUser, text)
		if _, err := config.Load(w.sources); err == nil {
			t.Errorf("Load accepts %s", text)
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestDocs_TableOfKeysIsComplete compares the table in docs/configuration.md with the keys.
func TestDocs_TableOfKeysIsComplete(t *testing.T) {
	var want strings.Builder
	for _, k := range config.KeyTags() {
		who := map[string]string{"": "no", "any": "yes", "trusted": "if trusted", "stricter": "if trusted and stricter"}[k[2]]
		want.WriteString("| `" + k[0] + "` | " + k[1] + " | " + who + " |\n")
	}
	if !strings.Contains(page(t), want.String()) {
		t.Errorf("the table in docs/configuration.md must be:\n%s", want.String())
	}
}
