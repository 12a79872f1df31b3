package connect

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// Variables with credentials.
const (
	openaiKey      = "OPENAI_API_KEY"
	anthropicKey   = "ANTHROPIC_API_KEY"
	anthropicToken = "ANTHROPIC_AUTH_TOKEN"
	geminiKey      = "GEMINI_API_KEY"
	googleKey      = "GOOGLE_API_KEY"
	chatKey        = "REINS_CHAT_API_KEY"
)

// Variables with base URLs. chatURL enables the chat provider; its server may need no key.
const (
	openaiURL    = "OPENAI_BASE_URL"
	anthropicURL = "ANTHROPIC_BASE_URL"
	geminiURL    = "GEMINI_BASE_URL"
	chatURL      = "REINS_CHAT_BASE_URL"
)

// FromEnv returns a client with all providers that the environment has credentials for:
//
//   - openai from OPENAI_API_KEY, with OPENAI_BASE_URL, OPENAI_ORG_ID and OPENAI_PROJECT_ID
//   - anthropic from ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, with ANTHROPIC_BASE_URL
//   - gemini from GEMINI_API_KEY or GOOGLE_API_KEY, with GEMINI_BASE_URL
//   - chat from REINS_CHAT_BASE_URL, with REINS_CHAT_API_KEY
//   - a cloud platform or one of [Presets], if Config.Default names it; see [Open]
//
// Base URLs have the same form as in the vendors' own libraries: OPENAI_BASE_URL and REINS_CHAT_BASE_URL include the
// version ("https://api.openai.com/v1"), the others do not. Without any provider, FromEnv returns an error of kind
// llm.ErrConfiguration.
func FromEnv(c Config) (*llm.Client, error) {
	c.BaseURL, c.Header, c.Default = "", nil, c.Canonical(c.Default)
	c = c.prepared()
	var providers []llm.Provider
	for _, v := range vendors {
		if v.present(c) && c.planToken(v.name) == nil {
			providers = append(providers, v.open(c))
		}
	}
	if p, err := c.openNamed(c.Default); err != nil {
		return nil, err
	} else if p != nil {
		providers = append(providers, p)
	}
	if len(providers) == 0 {
		return nil, c.nothing()
	}
	return c.client(c.Default, providers...)
}

// openNamed returns the cloud platform or the preset with this name, or nil.
func (c Config) openNamed(name string) (llm.Provider, error) {
	if p := c.preset(name); p != nil {
		return c.openPreset(p)
	}
	return c.openCloud(name)
}

// nothing returns the error if no provider is configured. It names a preset whose key is set.
func (c Config) nothing() error {
	if err := c.planToken("anthropic"); err != nil {
		return err
	}
	for _, p := range presets() {
		if key, from := c.key(p.keys...); key != "" && from != "GITHUB_TOKEN" {
			return llm.Errorf(
				llm.ErrConfiguration,
				"",
				"no provider is chosen: %s is set, so use --provider %s or `reins config set provider %[2]s`",
				from,
				p.name,
			)
		}
	}
	return llm.Errorf(
		llm.ErrConfiguration,
		"",
		"no provider is configured: set %s, %s, %s or %s, or choose one of `reins providers list` with --provider; "+
			"`reins demo` needs no key",
		openaiKey,
		anthropicKey,
		geminiKey,
		chatURL,
	)
}

// planToken returns an error if the key for Anthropic's own API is a Claude plan token.
func (c Config) planToken(provider string) error {
	if provider != "anthropic" || c.baseURL(anthropicURL) != "" {
		return nil
	}
	value, from := c.key(anthropicToken, anthropicKey)
	if !strings.HasPrefix(value, "sk-ant-oat") {
		return nil
	}
	return llm.Errorf(llm.ErrConfiguration, "", "%s has the token of a Claude plan: %s", from, planTokens)
}

// vendor is a provider that the environment can configure.
type vendor struct {
	name  string
	needs []string // one of these must be set
	open  func(c Config) llm.Provider
}

var vendors = []vendor{
	{"openai", []string{openaiKey}, openOpenAI},
	{"anthropic", []string{anthropicKey, anthropicToken}, openAnthropic},
	{"gemini", []string{geminiKey, googleKey}, openGemini},
	{"chat", []string{chatURL}, openChat},
}

func (v vendor) present(c Config) bool {
	value, _ := c.key(v.needs...)
	return value != ""
}

// key returns the value and name of the first variable that is set, or else the first name.
func (c Config) key(names ...string) (value, from string) {
	for _, name := range names {
		if v := c.env(name); v != "" {
			return v, name
		}
	}
	return "", names[0]
}

// secrets returns the credentials in the environment and in base URLs.
func (c Config) secrets() (list []string) {
	for _, name := range []string{openaiKey, anthropicKey, anthropicToken, geminiKey, googleKey, chatKey,
		bedrockToken, awsSecret, awsSession, googleToken, gcloudToken, azureKey, azureToken, azureKeyToo} {
		if v := c.env(name); v != "" {
			list = append(list, v)
		}
	}
	for _, p := range presets() {
		for _, name := range p.keys {
			if v := c.env(name); v != "" {
				list = append(list, v)
			}
		}
	}
	for _, base := range []string{c.BaseURL, c.env(openaiURL), c.env(anthropicURL), c.env(geminiURL), c.env(chatURL),
		c.env(bedrockURL), c.env(vertexURL), c.env(azureURL)} {
		list = append(list, urlSecrets(base)...)
	}
	for _, values := range c.Header {
		list = append(list, long(values)...)
	}
	for _, e := range c.Entries {
		list = append(list, e.secrets()...)
	}
	return list
}

// urlSecrets returns the credentials in a URL, as they are written there and decoded.
func urlSecrets(base string) (list []string) {
	u, err := url.Parse(base)
	if err != nil {
		return nil
	}
	password, _ := u.User.Password()
	list = append(list, u.User.Username(), password)
	for p := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(p, "=")
		list = append(list, value)
	}
	for _, values := range u.Query() {
		list = append(list, values...)
	}
	return long(list)
}

// long returns the texts that may be credentials. Shorter texts would garble the log.
func long(list []string) []string {
	const shortest = 8
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return len(s) < shortest })
}

// baseURL returns the configured base URL, or else the variable's.
func (c Config) baseURL(variable string) string { return cmp.Or(c.BaseURL, c.env(variable)) }

func openOpenAI(c Config) llm.Provider {
	e := c.endpoint()
	e.APIKey, e.KeyFrom = c.key(openaiKey)
	e.BaseURL = c.baseURL(openaiURL)
	if e.Header == nil {
		e.Header = http.Header{}
	}
	for header, variable := range map[string]string{"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"} {
		if v := c.env(variable); v != "" && e.Header.Get(header) == "" {
			e.Header.Set(header, v)
		}
	}
	return openai.New(openai.Config{Endpoint: e, Catalogue: c.Catalogue})
}

func openAnthropic(c Config) llm.Provider {
	e := c.endpoint()
	e.APIKey, e.KeyFrom = c.key(anthropicKey)
	e.BaseURL = c.baseURL(anthropicURL)
	token := c.env(anthropicToken) // used instead of the key
	if token != "" {
		e.KeyFrom = anthropicToken
	}
	return anthropic.New(anthropic.Config{Endpoint: e, AuthToken: token, Catalogue: c.Catalogue})
}

func openGemini(c Config) llm.Provider {
	e := c.endpoint()
	e.APIKey, e.KeyFrom = c.key(geminiKey, googleKey)
	e.BaseURL = c.baseURL(geminiURL)
	return gemini.New(gemini.Config{Endpoint: e, Catalogue: c.Catalogue})
}

func openChat(c Config) llm.Provider {
	e := c.endpoint()
	e.APIKey, e.KeyFrom = c.key(chatKey)
	e.Name, e.BaseURL = "chat", c.baseURL(chatURL)
	return chat.New(chat.Config{Endpoint: e, Catalogue: c.Catalogue})
}
