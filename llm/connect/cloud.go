package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/llm/wire"
)

// cloud is a provider of a cloud platform.
type cloud struct {
	name string
	open func(c Config) (llm.Provider, error)
}

// clouds lists the cloud platforms. They are used only if they are named, because other programs use the same
// variables.
var clouds = []cloud{
	{"bedrock", openBedrock},
	{"vertex", openVertex},
	{"azure", openAzure},
	{"azure-chat", openAzureChat},
}

// openCloud returns the provider with this name, or nil if it is not a cloud platform.
func (c Config) openCloud(name string) (llm.Provider, error) {
	for _, p := range clouds {
		if p.name == name {
			return p.open(c)
		}
	}
	return nil, nil
}

// notConfigured returns the error for a setting that a cloud platform needs.
func notConfigured(name, format string, args ...any) error {
	return llm.Errorf(llm.ErrConfiguration, "", "provider %s is not configured: %w", name, fmt.Errorf(format, args...))
}

// byModel is a provider that serves Claude in Anthropic's protocol and other models in another one.
type byModel struct{ claude, others *wire.Provider }

func (p byModel) choose(model string) *wire.Provider {
	if strings.Contains(model, "claude") || strings.Contains(model, "anthropic") {
		return p.claude
	}
	return p.others
}

func (p byModel) Name() string { return p.claude.Name() }

func (p byModel) Shape(r *llm.Request) string { return p.choose(r.Model).Shape(r) }

func (p byModel) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return p.choose(r.Model).Stream(ctx, r)
}

// openBedrock returns Claude through InvokeModel and other models through Converse.
func openBedrock(c Config) (llm.Provider, error) {
	e := c.endpoint()
	e.Name = "bedrock"
	e.BaseURL = c.baseURL(bedrockURL)
	profile, err := c.awsProfile()
	if err != nil {
		return nil, err
	}
	region := cmp.Or(c.env("AWS_REGION"), c.env("AWS_DEFAULT_REGION"), profile.values["region"])
	token, from := c.key(bedrockToken)
	if token == "" {
		credentials, source, err := c.awsCredentials(profile)
		switch {
		case err != nil:
			return nil, err
		case credentials != nil:
			e.Sign, from = bedrock.Sign(region, credentials), source
		case e.BaseURL == "":
			return nil, notConfigured(e.Name, "set %s, or %s and %s, or AWS_PROFILE", bedrockToken, awsKeyID, awsSecret)
		}
	}
	e.APIKey, e.KeyFrom = token, from
	switch {
	case region == "" && (e.BaseURL == "" || e.Sign != nil):
		return nil, notConfigured(e.Name, "set AWS_REGION, such as us-east-1")
	case !isLabel(region) && region != "":
		return nil, notConfigured(e.Name, "AWS_REGION is %q, which is not a region", region)
	case e.BaseURL == "":
		e.BaseURL = "https://bedrock-runtime." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			e.BaseURL += ".cn"
		}
	}
	claude := e
	claude.Rewrite = anthropic.Bedrock()
	return byModel{
		claude: anthropic.New(anthropic.Config{Endpoint: claude, AuthToken: token, Catalogue: c.Catalogue}),
		others: bedrock.New(bedrock.Config{Endpoint: e, Catalogue: c.Catalogue}),
	}, nil
}

// openVertex returns Gemini and Claude on Google Cloud.
func openVertex(c Config) (llm.Provider, error) {
	const name = "vertex"
	base := c.baseURL(vertexURL)
	account, err := c.googleAccount(base == "")
	if err != nil {
		return nil, err
	}
	project := cmp.Or(c.env("GOOGLE_CLOUD_PROJECT"), account.project)
	location := cmp.Or(c.env("GOOGLE_CLOUD_LOCATION"), c.env("GOOGLE_CLOUD_REGION"), "global")
	switch {
	case account.token == nil && base == "":
		return nil, notConfigured(name, "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file or %s to an access token", googleToken)
	case project == "" && base == "":
		return nil, notConfigured(name, "set GOOGLE_CLOUD_PROJECT to the ID of your project")
	case !isLabel(location):
		return nil, notConfigured(name, "GOOGLE_CLOUD_LOCATION is %q, which is not a location", location)
	}
	e, standard := c.endpoint(), gemini.Vertex(project, location, nil)
	e.Name, e.BaseURL, e.Rewrite = name, cmp.Or(base, standard.BaseURL), standard.Rewrite
	e.KeyFrom = account.from
	if account.token != nil {
		e.Sign = gemini.Bearer(account.token)
	}
	if account.quota != "" {
		header := http.Header{"X-Goog-User-Project": {account.quota}}
		maps.Copy(header, e.Header)
		e.Header = header
	}
	claude := e
	claude.BaseURL = strings.TrimRight(e.BaseURL, "/") + "/v1"
	claude.Rewrite = anthropic.Vertex(project, location)
	return byModel{
		claude: anthropic.New(anthropic.Config{Endpoint: claude, Catalogue: c.Catalogue}),
		others: gemini.New(gemini.Config{Endpoint: e, Catalogue: c.Catalogue}),
	}, nil
}

// Variables for Azure OpenAI.
const (
	azureURL   = "AZURE_OPENAI_ENDPOINT"
	azureKey   = "AZURE_OPENAI_API_KEY"
	azureToken = "AZURE_OPENAI_AD_TOKEN"
)

// azureResource is where an Azure OpenAI resource is, and how to use it.
type azureResource struct {
	url, version string
	dated        bool // the version selects the older API with deployments in the path
	endpoint     wire.Endpoint
	bearer       bool
}

func (c Config) azureResource(name string) (r azureResource, err error) {
	r.url = strings.TrimRight(c.baseURL(azureURL), "/")
	r.endpoint = c.endpoint()
	r.endpoint.APIKey, r.endpoint.KeyFrom = c.key(azureKey, azureToken)
	r.bearer = r.endpoint.KeyFrom == azureToken
	if c.BaseURL == "" && (r.url == "" || r.endpoint.APIKey == "") {
		return r, notConfigured(name, "set %s, such as https://RESOURCE.openai.azure.com, and %s or %s", azureURL, azureKey, azureToken)
	}
	r.url = strings.TrimSuffix(strings.TrimSuffix(r.url, "/v1"), "/openai")
	if !strings.Contains(r.url, "://") {
		if !strings.Contains(r.url, ".") {
			r.url += ".openai.azure.com"
		}
		r.url = "https://" + r.url
	}
	r.endpoint.Name = name
	r.version = c.env("AZURE_OPENAI_API_VERSION")
	r.dated = strings.HasPrefix(r.version, "20")
	return r, nil
}

// openAzure returns Azure OpenAI through the Responses API. Models are deployments.
func openAzure(c Config) (llm.Provider, error) {
	r, err := c.azureResource("azure")
	if err != nil {
		return nil, err
	}
	if r.dated {
		r.url += "/openai"
	}
	conf := openai.Azure(r.url, "", r.version)
	r.endpoint.BaseURL, r.endpoint.Query = conf.BaseURL, conf.Query
	conf.Endpoint, conf.Catalogue = r.endpoint, c.Catalogue
	if r.bearer {
		conf.KeyHeader = ""
	}
	return openai.New(conf), nil
}

// openAzureChat returns Azure OpenAI through Chat Completions, for deployments without the Responses API.
func openAzureChat(c Config) (llm.Provider, error) {
	r, err := c.azureResource("azure-chat")
	if err != nil {
		return nil, err
	}
	quirks := chat.QuirksFor("https://x.openai.azure.com", "")
	if r.bearer {
		quirks.KeyHeader = ""
	}
	conf := chat.Config{Endpoint: r.endpoint, Catalogue: c.Catalogue, Quirks: &quirks}
	if r.dated {
		conf = chat.Azure(r.url, r.version, conf)
	} else {
		conf = chat.Azure(r.url, "", conf)
		if r.version != "" {
			conf.Query = "api-version=" + url.QueryEscape(r.version)
		}
	}
	return chat.New(conf), nil
}

// isLabel reports whether s can be part of a host name.
func isLabel(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// home returns the user's home directory, or "".
func (c Config) home() string { return cmp.Or(c.env("HOME"), c.env("USERPROFILE")) }

// cached keeps a credential until shortly before it expires.
type cached[T any] struct {
	fetch func(context.Context) (value T, expires time.Time, err error)

	mu    sync.Mutex
	value T
	until time.Time
}

// early is how long before it expires a credential is replaced, so that a request with many retries has a valid one.
const early = 5 * time.Minute

func (c *cached[T]) get(ctx context.Context) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.value, nil
	}
	value, expires, err := c.fetch(ctx)
	if err == nil {
		c.value, c.until = value, expires.Add(-early)
	}
	return value, err
}

// output runs a command and returns what it prints.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		line, _, _ := bytes.Cut(bytes.TrimSpace(exit.Stderr), []byte("\n"))
		return nil, fmt.Errorf("%s failed: %w: %s", name, err, wire.Redact(string(line)))
	}
	return out, err
}
