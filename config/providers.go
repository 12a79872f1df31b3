package config

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/llm/connect"
)

// Provider is a service that uses a known vendor's protocol. Its key is never stored in a file.
type Provider struct {
	BaseURL    string            `toml:"base_url" json:"base_url" jsonschema:"URL of the API, with the version for chat and responses, such as https://example.com/v1"`
	Protocol   string            `toml:"protocol" json:"protocol,omitempty" enum:"chat responses messages gemini" jsonschema:"chat (OpenAI Chat Completions), responses (OpenAI Responses), messages (Anthropic) or gemini (default: chat)"`
	KeyEnv     string            `toml:"key_env" json:"key_env,omitempty" jsonschema:"environment variable with the API key"`
	KeyCommand string            `toml:"key_command" json:"key_command,omitempty" jsonschema:"shell command that prints the API key"`
	Headers    map[string]string `toml:"headers" json:"headers,omitempty" jsonschema:"HTTP headers of every request; ${NAME} stands for an environment variable"`
	Models     []Model           `toml:"models" json:"models,omitempty" jsonschema:"models of the provider; the first one is the default"`
}

// Model describes a Provider's model. Unset fields, except prices, are taken from a known model with the same name.
// Prices are in US dollars per million tokens.
type Model struct {
	ID              string   `toml:"id" json:"id" jsonschema:"model ID to send in requests"`
	Name            string   `toml:"name" json:"name,omitempty" jsonschema:"display name (default: the id)"`
	ContextWindow   int      `toml:"context_window" json:"context_window,omitempty" min:"0" jsonschema:"context window in tokens"`
	MaxOutput       int      `toml:"max_output" json:"max_output,omitempty" min:"0" jsonschema:"maximum length of an answer in tokens"`
	Vision          *bool    `toml:"vision" json:"vision,omitempty" jsonschema:"whether it accepts images"`
	Tools           *bool    `toml:"tools" json:"tools,omitempty" jsonschema:"whether it can call tools"`
	Reasoning       *bool    `toml:"reasoning" json:"reasoning,omitempty" jsonschema:"whether a reasoning effort can be set"`
	InputPrice      *float64 `toml:"input_price" json:"input_price,omitempty" min:"0" jsonschema:"price of input"`
	OutputPrice     *float64 `toml:"output_price" json:"output_price,omitempty" min:"0" jsonschema:"price of output"`
	CacheReadPrice  *float64 `toml:"cache_read_price" json:"cache_read_price,omitempty" min:"0" jsonschema:"price of input read from the cache"`
	CacheWritePrice *float64 `toml:"cache_write_price" json:"cache_write_price,omitempty" min:"0" jsonschema:"price of input written to the cache"`
}

var providerName = lazy.Regexp(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// check returns an error for an invalid entry.
func (p Provider) check(name string) error {
	u, err := url.Parse(p.BaseURL)
	switch {
	case !providerName().MatchString(name):
		return fmt.Errorf("%q cannot name a provider; use lower-case letters, digits, - and _", brief(name))
	case slices.Contains(builtIn(), name):
		return fmt.Errorf("%s is a built-in provider; use another name", name)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("base_url must begin with https:// or http:// and have a host")
	case u.User != nil || u.RawQuery != "" && !strings.HasPrefix(u.RawQuery, "api-version="):
		return errors.New("base_url must not contain credentials; use key_env, key_command or headers")
	case p.KeyEnv != "" && p.KeyCommand != "":
		return errors.New("set only one of key_env and key_command")
	}
	for header, value := range p.Headers {
		if err := checkHeader(header, value); err != nil {
			return err
		}
	}
	var ids []string
	for _, m := range p.Models {
		if slices.Contains(ids, m.ID) {
			return fmt.Errorf("models lists %q twice", brief(m.ID))
		}
		ids = append(ids, m.ID)
	}
	return nil
}

func checkHeader(name, value string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
	}) {
		return fmt.Errorf("%q is not the name of an HTTP header", brief(name))
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return fmt.Errorf("the value of the header %s has more than one line", name)
	}
	return nil
}

// ParseHeader returns the name and the value of a header such as "X-Team: blue".
func ParseHeader(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !found {
		return "", "", errors.New("write a header as NAME: VALUE")
	}
	return http.CanonicalHeaderKey(name), value, checkHeader(name, value)
}

// Expand replaces ${NAME} with the value of an environment variable, and ${NAME:-DEFAULT} with its value or the default.
// A variable that is not set and has no default is an error.
func Expand(text string, getenv func(string) string) (string, error) {
	var missing error
	out := variableIn().ReplaceAllStringFunc(text, func(ref string) string {
		name, value, given := strings.Cut(ref[2:len(ref)-1], ":-")
		if set := strings.TrimSpace(getenv(name)); set != "" {
			return set
		}
		if !given {
			missing = fmt.Errorf("the environment variable %s is not set", name)
		}
		return value
	})
	return out, missing
}

var variableIn = lazy.Regexp(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`)

// builtIn returns the providers that need no entry.
func builtIn() []string {
	f, _ := reflect.TypeFor[Config]().FieldByName("Provider")
	return strings.Fields(f.Tag.Get("enum"))
}

// checkProvider returns an error for a provider that is not built in and has no entry. Entries may be in another layer,
// so this can be checked only after all layers are read.
func (s *Settings) checkProvider() error {
	err := known(s.Provider, s.Providers)
	if err == nil {
		return nil
	}
	at := s.origins["provider"][0]
	return &Error{Name: at.Name, Line: at.Line, Column: min(at.Line, 1), Message: err.Error()}
}

// known returns an error for an unknown provider.
func known(name string, entries map[string]Provider) error {
	names := append(builtIn(), slices.Sorted(maps.Keys(entries))...)
	if name == "" || slices.Contains(names, name) || connect.Known(name) {
		return nil
	}
	hint := "use " + suggest.Or(names) + ", or one that \"reins providers list\" shows"
	if near := connect.Near(name); len(near) > 0 {
		hint = "did you mean " + suggest.Or(near) + "?"
	}
	return fmt.Errorf("unknown provider %q; %s", brief(name), hint)
}
