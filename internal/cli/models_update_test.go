package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/modelfile"
	"github.com/reins-agent/reins/llm"
)

// devExample has a new model, a changed price, and entries that are not imported.
const devExample = `{
 "openai": {"id": "openai", "name": "OpenAI", "env": ["OPENAI_API_KEY"], "npm": "@ai-sdk/openai", "models": {
  "gpt-7": {"id": "gpt-7", "name": "GPT-7", "family": "gpt", "attachment": true, "reasoning": true,
   "reasoning_options": [{"type": "effort", "values": [null, "max", "low", "default"]}], "tool_call": true, "structured_output": true,
   "temperature": false, "knowledge": "2026-09-30", "release_date": "2026-12-01", "last_updated": "2026-12-01",
   "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]}, "open_weights": false,
   "limit": {"context": 2000000, "input": 1800000, "output": 200000},
   "cost": {"input": 3, "output": 12, "cache_read": 0.3, "cache_write": 3.75,
    "tiers": [{"input": 9, "output": 36, "tier": {"type": "context", "size": 800000}}, {"input": 6, "output": 24, "tier": {"size": 272000}}],
    "context_over_200k": {"input": 6, "output": 24}}},
  "gpt-6.1-sol": {"name": "GPT-6.1 Sol", "reasoning": true, "tool_call": true, "modalities": {"input": ["text"], "output": ["text"]},
   "limit": {"context": 1050000, "output": 128000}, "cost": {"input": 2.5, "output": 10}},
  "gpt-old": {"name": "Old", "tool_call": true, "status": "deprecated", "modalities": {"input": ["text"], "output": ["text"]}, "limit": {"context": 8000, "output": 4000}},
  "chat-9": {"name": "Without tools", "modalities": {"output": ["text"]}, "limit": {"context": 8000, "output": 4000}},
  "image-9": {"name": "Image", "tool_call": true, "modalities": {"input": ["text"], "output": ["image"]}, "limit": {"context": 8000, "output": 4000}}}},
 "google": {"models": {
  "gemini-9-flash": {"name": "Gemini\u001b[31m 9", "tool_call": true, "modalities": {"input": ["text"], "output": ["text"]}, "limit": {"context": 1000, "output": 100},
   "cost": {"input": 0, "output": 0}}}},
 "gate": {"models": {"house": {"name": "House", "tool_call": true, "modalities": {"output": ["text"]}, "limit": {"context": 64000, "output": 100},
   "cost": {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}}}},
 "unheard-of": {"models": {"x": {"modalities": {"output": ["text"]}}}}
}`

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serveFile returns the URL of a file on a server.
func serveFile(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api.json" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/api.json"
}

// listed returns a model as commands see it.
func (m *machine) listed(provider, id string) (llm.Model, bool) {
	m.t.Helper()
	c, err := m.host.machine().Models("")
	if err != nil {
		m.t.Fatal(err)
	}
	return c.Exact(provider, id)
}

func TestModelsUpdate_AddsModelsFromFilesAndServers(t *testing.T) {
	for name, source := range map[string]string{"file": writeFile(t, devExample), "server": serveFile(t, devExample)} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.host.now = func() time.Time { return time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC) }
			out, side := m.reins(0, "models", "update", source)
			if want := "added gemini/gemini-9-flash\nadded openai/gpt-7\n"; out != want {
				t.Errorf("got %q, want %q", out, want)
			}
			m.says(side, "1 prices differ from the built-in prices", "imported 2 models and 0 prices of gemini, openai")
			got, ok := m.listed("openai", "gpt-7")
			text, err := json.Marshal(got)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			const want = `{"id":"gpt-7","provider":"openai","name":"GPT-7","context_window":2000000,"max_output":200000,"tools":true,"freeform":true,` +
				`"vision":true,"documents":true,"schema":true,"reasoning":true,"thinking":"effort","efforts":["low","max"],"cutoff":"2026-09",` +
				`"price":{"input":3,"output":12,"cache_read":0.3,"cache_write":3.75,"long_from":272000,"long":{"input":6,"output":24,` +
				`"long_from":800000,"long":{"input":9,"output":36}}},` +
				`"rules":{"thinks":true,"sampling":"always","chat_tools":"always","max_input":1800000,"cache":"prompt_cache_options","cache_ttls":["30m","12h"]}}`
			if string(text) != want {
				t.Errorf("got  %s\nwant %s", text, want)
			}
			if g, _ := m.listed("gemini", "gemini-9-flash"); g.Name != "gemini-9-flash" || g.Price != nil {
				t.Errorf("got name %q and price %+v, want the ID and no price", g.Name, g.Price)
			}
			if sol, _ := m.listed("openai", "gpt-6.1-sol"); *sol.Price.Input != 2 {
				t.Errorf("without --prices, a known price became %v", *sol.Price.Input)
			}
			out, _ = m.reins(0, "models", "gpt-7")
			m.says(out, "openai", "gpt-7", "2M", "200k", "low max")
		})
	}
}

func TestModelsUpdate_ReplacesOnlyThePricesOfKnownModels(t *testing.T) {
	m := newMachine(t)
	out, _ := m.reins(0, "models", "update", "--prices", writeFile(t, devExample))
	m.says(out, "changed openai/gpt-6.1-sol: input price 2, in the file 2.5\n")
	want, _ := llm.DefaultCatalogue().Exact("openai", "gpt-6.1-sol")
	got, _ := m.listed("openai", "gpt-6.1-sol")
	if *got.Price.Input != 2.5 || *got.Price.CacheRead != 0.1 || got.Price.Long == nil || got.Price.Tiers["flex"] != 0.5 || *got.Price.Search != 10 {
		t.Errorf("got %+v, want the new input price and the old others", got.Price)
	}
	got.Price, want.Price = nil, nil
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("more than the price changed:\ngot  %s\nwant %s", a, b)
	}
	if p, _ := llm.DefaultCatalogue().Exact("openai", "gpt-6.1-sol"); *p.Price.Input != 2 {
		t.Error("the built-in catalogue has changed")
	}
	m.reins(0, "models", "update", writeFile(t, devExample)) // replaces what was imported
	if got, _ := m.listed("openai", "gpt-6.1-sol"); *got.Price.Input != 2 {
		t.Errorf("the price is still %v", *got.Price.Input)
	}
}

func TestModelsUpdate_AcceptsProvidersOfTheConfiguration(t *testing.T) {
	m := newMachine(t)
	m.configure("[providers.gate]\nbase_url = \"http://127.0.0.1:9/v1\"\n")
	out, _ := m.reins(0, "models", "update", writeFile(t, devExample))
	m.says(out, "added gate/house\n")
	if h, _ := m.listed("gate", "house"); h.Price.LongFrom != 200_000 || *h.Price.Long.Output != 4 {
		t.Errorf("got %+v, want the price above 200,000 tokens", h.Price)
	}
}

func TestModelsUpdate_RefusesBadSources(t *testing.T) {
	away := httptest.NewServer(http.RedirectHandler("http://models.invalid/api.json", http.StatusFound))
	t.Cleanup(away.Close)
	model := func(fields string) string {
		return `{"openai":{"models":{"gpt-7":{"modalities":{"output":["text"]},` + fields + `}}}}`
	}
	for name, tt := range map[string]struct {
		source string
		code   int
		want   string
	}{
		"no file":            {filepath.Join(t.TempDir(), "missing.json"), 2, "missing.json"},
		"not JSON":           {writeFile(t, `{"openai":`), 2, "not a file in the format of models.dev"},
		"a list":             {writeFile(t, `[]`), 2, "not a file in the format of models.dev"},
		"wrong type":         {writeFile(t, `{"openai":{"models":{"a":{"limit":"big"}}}}`), 2, "not a file in the format of models.dev"},
		"own format":         {writeFile(t, `{"models":[{"id":"a","provider":"openai"}]}`), 2, "not a file in the format of models.dev"},
		"unknown providers":  {writeFile(t, `{"unheard-of":{"models":{}}}`), 2, "no known provider"},
		"empty":              {writeFile(t, `{}`), 2, "no known provider"},
		"negative price":     {writeFile(t, model(`"cost":{"input":-1,"output":1}`)), 2, "openai/gpt-7: -1 is not a price"},
		"absurd price":       {writeFile(t, model(`"cost":{"input":1e9,"output":1}`)), 2, "is not a price"},
		"negative long":      {writeFile(t, model(`"cost":{"input":1,"output":1,"context_over_200k":{"input":1,"output":-2}}`)), 2, "-2 is not a price"},
		"negative tier":      {writeFile(t, model(`"cost":{"input":1,"output":1,"tiers":[{"input":1,"output":1,"tier":{"size":-5}}]}`)), 2, "-5 is not a number of tokens"},
		"negative window":    {writeFile(t, model(`"limit":{"context":-1}`)), 2, "-1 is not a number of tokens"},
		"fractional window":  {writeFile(t, model(`"limit":{"context":1.5}`)), 2, "1.5 is not a number of tokens"},
		"huge file":          {writeFile(t, strings.Repeat(" ", 16<<20+1)), 2, "is larger than 16 MiB"},
		"huge answer":        {serveFile(t, strings.Repeat(" ", 16<<20+1)), 2, "is larger than 16 MiB"},
		"missing page":       {strings.Replace(serveFile(t, ""), "/api.json", "/other", 1), 1, "the server answered 404 Not Found"},
		"http":               {"http://models.invalid/api.json", 2, "use an https URL"},
		"another protocol":   {"ftp://127.0.0.1/api.json", 2, "use an https URL"},
		"no host":            {"https:///api.json", 2, "use an https URL"},
		"redirect to http":   {away.URL, 1, "a redirect to models.invalid is not permitted"},
		"credentials hidden": {"http://user:" + canary + "@models.invalid/api.json?key=" + canary, 2, "http://models.invalid/api.json: use an https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"models", "update", tt.source}, {"models", "--check", tt.source}} {
				m := newMachine(t)
				out, side := m.reins(tt.code, args...)
				m.says(side, tt.want)
				if out != "" || strings.Contains(side, canary) || strings.Count(side, "\n") != 1 {
					t.Errorf("got %q and %q, want one line without credentials", out, side)
				}
				if _, err := os.Stat(filepath.Join(m.env["REINS_HOME"], "models.json")); err == nil {
					t.Error("something was imported")
				}
			}
		})
	}
	m := newMachine(t)
	_, side := m.reins(2, "models", "update")
	m.says(side, "takes one FILE or URL")
}

func TestModelsUpdate_SkipsHostileNames(t *testing.T) {
	models := map[string]any{}
	for _, id := range []string{
		"good/model:1.5-x", "", "a\x1b[2Jb", "line\nbreak", "../../etc/passwd", "/etc/passwd", "a//b", "-rf", "with space", "rtl\u202eabc",
		"bell\a", strings.Repeat("x", 300), "caf\u00e9",
	} {
		models[id] = map[string]any{"tool_call": true, "modalities": map[string]any{"output": []string{"text"}}}
	}
	text, err := json.Marshal(map[string]any{"openrouter": map[string]any{"models": models}})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	out, side := m.reins(0, "models", "update", writeFile(t, string(text)))
	if want := "added openrouter/good/model:1.5-x\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	m.says(side, "skipped 12 models with invalid names")
}

func TestModelsUpdate_ABrokenImportIsExplained(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join(m.env["REINS_HOME"], "models.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"models":`, `{"models":[{"provider":"openai"}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, side := m.reins(2, "models")
		m.says(side, path, `run "reins models update" again, or delete the file`)
	}
	m.reins(0, "models", "update", writeFile(t, devExample)) // repairs it
	m.reins(0, "models")
}

// A newer Reins may have the imported models itself.
func TestModelsUpdate_BuiltInModelsWinOverImportedOnes(t *testing.T) {
	i := modelfile.File{
		Models: []llm.Model{{ID: "gpt-5", Provider: "openai", Name: "imported"}, {ID: "gpt-5-2025-08-07", Provider: "openai"}, {ID: "gpt-7", Provider: "openai"}},
		Prices: []modelfile.Price{
			{Provider: "openai", ID: "gpt-0", Price: &llm.Price{}},
			{Provider: "openai", ID: "gpt-5-2025-08-07", Price: &llm.Price{}},
		},
	}
	c, err := i.Extend(llm.DefaultCatalogue())
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := c.Exact("openai", "gpt-5"); m.Name != "GPT-5" || *m.Price.Input != 1.25 {
		t.Errorf("got %+v, want the built-in model", m)
	}
	if n := len(c.Models()) - len(llm.DefaultCatalogue().Models()); n != 1 {
		t.Errorf("%d models were added, want 1", n)
	}
	if _, ok := c.Resolve("", "opus"); !ok {
		t.Error("the aliases are lost")
	}
}

func TestModelsCheck_PrintsDifferencesAndChangesNothing(t *testing.T) {
	const file = `{"anthropic":{"models":{
		"claude-opus-5-5": {"status":"deprecated","modalities":{"output":["text"]},"limit":{"context":500000,"output":128000},
			"cost":{"input":4,"output":20,"cache_read":0.2,"cache_write":6}},
		"claude-haiku-5-5": {"modalities":{"output":["text"]},"limit":{"context":1000000,"output":128000},
			"cost":{"input":0.1,"output":0.5,"tiers":[{"input":0.5,"output":3,"tier":{"size":100000}}]}},
		"claude-sonnet-5-5": {"modalities":{"output":["text"]},"limit":{"context":1000000,"output":128000},
			"cost":{"input":2,"output":10,"cache_read":0.1,"cache_write":2.5}},
		"claude-haiku-4-5-20251001": {"modalities":{"output":["text"]}},
		"claude-saga-1": {"tool_call":true,"modalities":{"output":["text"]}}}}}`
	m := newMachine(t)
	m.host.now = func() time.Time { return time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC) }
	out, _ := m.reins(1, "models", "--check", writeFile(t, file))
	var got []string
	for l := range strings.Lines(out) {
		if !strings.HasSuffix(l, ": not in the file\n") {
			got = append(got, strings.TrimSuffix(l, "\n"))
		}
	}
	want := []string{
		"anthropic/claude-haiku-5-5: long calls: output price 2.5, in the file 3",
		"anthropic/claude-opus-5-5: context window 1000000, in the file 500000",
		"anthropic/claude-opus-5-5: cache write price 5, in the file 6",
		"anthropic/claude-opus-5-5: deprecated in the file",
		"anthropic/claude-saga-1: not in the catalogue",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	m.says(out, "anthropic/claude-fable-5-2: not in the file\n")
	if strings.Contains(out, "claude-3") || strings.Contains(out, "openai/") {
		t.Errorf("retired models or other providers are compared:\n%s", out)
	}
	if entries, err := os.ReadDir(m.env["REINS_HOME"]); err == nil && len(entries) > 0 {
		t.Errorf("the state directory has %v", entries)
	}
}

func TestModelsCheck_TheBuiltInModelsDoNotDifferFromThemselves(t *testing.T) {
	m := newMachine(t)
	file := map[string]map[string]map[string]any{"anthropic": {"models": {}}}
	for _, b := range llm.DefaultCatalogue().Models() {
		if b.Provider == "anthropic" {
			p := b.Price.At(time.Now())
			file["anthropic"]["models"][b.ID] = map[string]any{
				"modalities": map[string]any{"output": []string{"text"}}, "limit": map[string]any{"context": b.ContextWindow, "output": b.MaxOutput},
				"cost": map[string]any{"input": p.Input, "output": p.Output, "cache_read": p.CacheRead, "cache_write": p.CacheWrite},
			}
		}
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := m.reins(0, "models", "--check", writeFile(t, string(text))); out != "" {
		t.Errorf("got %s, want no differences", out)
	}
}

func FuzzParseDev(f *testing.F) {
	f.Add([]byte(devExample))
	f.Add([]byte(`{"openai":{"models":{"a":{"cost":{"tiers":[{}]}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseDev(data, llm.DefaultCatalogue(), []string{"openai", "anthropic", "gemini"})
		if err != nil {
			return
		}
		for _, m := range list.models {
			if !validModelID(m.ID) || m.ContextWindow < 0 || m.MaxOutput < 0 || strings.ContainsAny(m.Name, "\x1b\n") {
				t.Errorf("accepted %+v", m)
			}
		}
		if _, err := (modelfile.File{Models: list.models}).Extend(llm.DefaultCatalogue()); err != nil {
			t.Errorf("the imported models cannot be used: %v", err)
		}
	})
}

func TestModelsUpdate_DoesNotChangeWhatAnAliasMeans(t *testing.T) {
	g := newRequestRig(t)
	g.configure("")
	const model = `{"tool_call": true, "modalities": {"output": ["text"]}, "limit": {"context": 64000, "output": 100}}`
	file := writeFile(t, `{"openai": {"models": {"opus": `+model+`, "gpt": `+model+`}}, "anthropic": {"models": {"haiku": `+model+`, "claude-new": `+model+`}}}`)
	code, out, side := g.run("models", "update", file)
	if code != 0 || out != "added anthropic/claude-new\n" || !strings.Contains(side, "skipped 3 models with the names of aliases") {
		t.Errorf("exit code %d, %q and %q; want only claude-new", code, out, side)
	}
}
