package llm

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestBuiltin_FilesAreStrictAndReadable(t *testing.T) {
	entries, err := builtin.ReadDir("models")
	if err != nil || len(entries) != len(vendors) {
		t.Fatalf("%d files for %d vendors: %v", len(entries), len(vendors), err)
	}
	for _, vendor := range vendors {
		text, err := os.ReadFile("models/" + vendor + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) { // nothing after the object
			t.Errorf("%s.json is not valid JSON", vendor)
		}
		if bytes.ContainsAny(text, "\\\t\r") { // lookups search for names in the text
			t.Errorf("%s.json has an escape or a tab", vendor)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > 140 {
				t.Errorf("%s.json:%d has %d columns, more than 140", vendor, i+1, len(line))
			}
		}
		l, err := readList(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s.json: %v", vendor, err)
		}
		for _, provider := range providersIn(l) {
			if provider != vendor {
				t.Errorf("%s.json has an entry of %s", vendor, provider)
			}
		}
	}
}

func providersIn(l *list) (list []string) {
	for _, m := range l.models {
		list = append(list, m.Provider)
	}
	for _, f := range l.families {
		list = append(list, f.Provider)
	}
	for _, a := range l.aliases {
		list = append(list, a.Provider)
	}
	return list
}

// decoded returns the providers whose files a catalogue has decoded.
func decoded(c *Catalogue) (list []string) {
	for _, g := range c.groups {
		if g.text != nil && g.list != nil {
			list = append(list, g.provider)
		}
	}
	return list
}

func TestBuiltin_OnlyNeededFilesAreDecoded(t *testing.T) {
	claude := []string{"anthropic"}
	for name, tt := range map[string]struct {
		use  func(*Catalogue)
		want []string
	}{
		"nothing":          {func(*Catalogue) {}, nil},
		"a model":          {func(c *Catalogue) { c.Exact("anthropic", "claude-opus-5-5") }, claude},
		"a name alone":     {func(c *Catalogue) { c.Lookup("", "claude-opus-5-5") }, claude},
		"a dated name":     {func(c *Catalogue) { c.Lookup("", "claude-sonnet-4-5-20250929") }, claude},
		"provider/name":    {func(c *Catalogue) { c.Lookup("", "anthropic/claude-opus-5-5") }, claude},
		"an alias":         {func(c *Catalogue) { c.Resolve("", "opus") }, claude},
		"a new model":      {func(c *Catalogue) { c.Like("anthropic", "claude-opus-9") }, claude},
		"a default":        {func(c *Catalogue) { c.Default("anthropic") }, claude},
		"a provider":       {func(c *Catalogue) { c.ModelsOf("anthropic") }, claude},
		"an unknown name":  {func(c *Catalogue) { c.Lookup("local", "my-model"); c.Resolve("local", "my-model") }, nil},
		"a bedrock name":   {func(c *Catalogue) { c.Lookup("bedrock", "us.anthropic.claude-opus-4-6-v1:0") }, []string{"anthropic", "bedrock"}},
		"everything":       {func(c *Catalogue) { c.Models() }, vendors},
		"an added model":   {func(c *Catalogue) { extend(t, c, Model{ID: "claude-opus-5-5", Provider: "gateway"}) }, nil},
		"a replaced model": {func(c *Catalogue) { extend(t, c, Model{ID: "claude-opus-5-5", Provider: "anthropic"}) }, claude},
		"a merged model":   {func(c *Catalogue) { merge(t, c, Model{ID: "claude-opus-5-5", Provider: "anthropic"}) }, claude},
	} {
		c := readBuiltin()
		if tt.use(c); !slices.Equal(decoded(c), tt.want) {
			t.Errorf("%s: decoded %v, want %v", name, decoded(c), tt.want)
		}
	}
}

func extend(t *testing.T, c *Catalogue, models ...Model) *Catalogue {
	t.Helper()
	out, err := c.Extend(models...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func merge(t *testing.T, c *Catalogue, models ...Model) *Catalogue {
	t.Helper()
	over, err := NewCatalogue(models)
	if err != nil {
		t.Fatal(err)
	}
	if over, err = c.Merge(over); err != nil {
		t.Fatal(err)
	}
	return over
}

// A catalogue that decodes its files when they are needed finds the same models as one that has them all.
func TestBuiltin_LookupsDoNotDependOnWhatIsDecoded(t *testing.T) {
	all := DefaultCatalogue().Models()
	whole, err := NewCatalogue(all)
	if err != nil {
		t.Fatal(err)
	}
	changes := []Model{ // replaced, new, and the same name from another provider
		{ID: all[3].ID, Provider: all[3].Provider}, {ID: "new", Provider: "openai"}, {ID: all[5].ID, Provider: "gateway"},
	}
	for name, pair := range map[string]func(*Catalogue) *Catalogue{
		"plain":    func(c *Catalogue) *Catalogue { return c },
		"extended": func(c *Catalogue) *Catalogue { return extend(t, c, changes...) },
		"merged":   func(c *Catalogue) *Catalogue { return merge(t, c, changes...) },
	} {
		want, got := pair(whole), pair(readBuiltin())
		for _, m := range slices.Concat(changes, all) {
			for _, id := range []string{m.ID, m.Provider + "/" + m.ID, m.ID + "-latest", m.names()[len(m.Aliases)]} {
				got, ok := got.Lookup("", id)
				if same, found := want.Lookup("", id); ok != found || !reflect.DeepEqual(got, same) {
					t.Errorf("%s: %s is %s/%s, want %s/%s", name, id, got.Provider, got.ID, same.Provider, same.ID)
				}
			}
		}
		if !reflect.DeepEqual(got.Models(), want.Models()) {
			t.Errorf("%s: the models differ", name)
		}
	}
	for _, m := range all { // nothing is decoded before
		for _, provider := range []string{m.Provider, ""} {
			want, _ := whole.Lookup(provider, m.ID)
			if got, ok := readBuiltin().Lookup(provider, m.ID); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %q is %s/%s, want %s/%s", m.ID, provider, got.Provider, got.ID, want.Provider, want.ID)
			}
		}
	}
}

func TestBuiltin_ATakenNameIsRefused(t *testing.T) {
	taken := Model{ID: "gpt-5.6", Provider: "openai"} // an alias of another model
	if _, err := DefaultCatalogue().Extend(taken); err == nil || !strings.Contains(err.Error(), "lists openai/gpt-5.6 twice") {
		t.Errorf("extending: got %v", err)
	}
	over, err := NewCatalogue([]Model{taken})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DefaultCatalogue().Merge(over); err == nil || !strings.Contains(err.Error(), "lists openai/gpt-5.6 twice") {
		t.Errorf("merging: got %v", err)
	}
}

func TestBuiltin_ConcurrentUsersSeeTheSameModels(t *testing.T) {
	c := readBuiltin()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if m, ok := c.Lookup("", "gpt-6.1-sol"); !ok || m.Provider != "openai" {
				t.Errorf("got %+v, %v", m, ok)
			}
		})
	}
	wg.Wait()
}

func BenchmarkBuiltin(b *testing.B) {
	for _, bb := range []struct {
		name string
		use  func(*Catalogue)
	}{
		{"openai", func(c *Catalogue) { c.Exact("openai", "gpt-6.1-sol") }},
		{"anthropic", func(c *Catalogue) { c.Exact("anthropic", "claude-opus-5-5") }},
		{"alias", func(c *Catalogue) { c.Resolve("", "opus") }},
		{"unknown", func(c *Catalogue) { c.Lookup("local", "my-model") }},
		{"all", func(c *Catalogue) { c.Models() }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.use(readBuiltin())
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			DefaultCatalogue().Lookup("local", "my-model")
		}
	})
}
