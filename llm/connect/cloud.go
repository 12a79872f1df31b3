package connect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/openai"
)

// cloud is a provider on a cloud platform.
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
	return c.openPlan(name)
}

// notConfigured returns the error for a setting that a cloud platform needs.
func notConfigured(name, format string, args ...any) error {
	return llm.Errorf(llm.ErrConfiguration, "", "provider %s is not configured: %w", name, fmt.Errorf(format, args...))
}

// ofClaude reports whether a model is one of Claude.
func ofClaude(model string) bool {
	return strings.Contains(model, "claude") || strings.Contains(model, "anthropic")
}

// claudeAnd returns a provider that serves Claude in Anthropic's protocol and other models in another one.
func claudeAnd(claude, others llm.Provider) llm.Provider {
	return byModel{claude.Name(), func(model string) llm.Provider {
		if ofClaude(model) {
			return claude
		}
		return others
	}}
}

// The ways to reach Claude on Bedrock, as the values of bedrockAPI. The default depends on the model.
const (
	apiMessages = "messages"
	apiInvoke   = "invoke"
	apiMantle   = "mantle"
)

// openBedrock returns Claude through the Messages API or InvokeModel, and other models through Converse.
func openBedrock(c Config) (llm.Provider, error) {
	api := c.env(bedrockAPI)
	if !slices.Contains([]string{"", apiMessages, apiInvoke, apiMantle}, api) {
		return nil, notConfigured("bedrock", "%s is %q; use %s, %s or %s, or do not set it", bedrockAPI, api, apiMessages, apiInvoke, apiMantle)
	}
	service := "bedrock"
	if api == apiMantle {
		service = "bedrock-mantle"
	}
	e, native, err := c.bedrockEndpoints(service)
	if err != nil {
		return nil, err
	}
	invoke := e
	native.Rewrite, invoke.Rewrite = anthropic.BedrockMessages(), anthropic.Bedrock()
	return c.onBedrock(api,
		anthropic.New(anthropic.Config{Endpoint: native, AuthToken: e.APIKey, Catalogue: c.Catalogue, Cloud: true}),
		anthropic.New(anthropic.Config{Endpoint: invoke, AuthToken: e.APIKey, Catalogue: c.Catalogue, Cloud: true}),
		bedrock.New(bedrock.Config{Endpoint: e, Catalogue: c.Catalogue})), nil
}

// bedrockEndpoints returns the runtime and the endpoint for a service with the Messages API: the runtime itself, or
// bedrock-mantle.
func (c Config) bedrockEndpoints(service string) (e, native llm.Endpoint, err error) {
	e = c.endpoint()
	e.Name = "bedrock"
	e.BaseURL = c.baseURL(bedrockURL)
	profile, err := c.awsProfile()
	if err != nil {
		return e, native, err
	}
	region := cmp.Or(c.env("AWS_REGION"), c.env("AWS_DEFAULT_REGION"), profile.values["region"])
	e.APIKey, e.KeyFrom = c.key(bedrockToken)
	native = e
	if e.APIKey == "" {
		credentials, source, err := c.awsCredentials(profile)
		switch {
		case err != nil:
			return e, native, err
		case credentials != nil:
			e.KeyFrom, native.KeyFrom = source, source
			e.Sign, native.Sign = bedrock.Sign(region, credentials), bedrock.SignFor(service, region, credentials)
		case e.BaseURL == "":
			return e, native, notConfigured(e.Name, "set %s, or %s and %s, or AWS_PROFILE", bedrockToken, awsKeyID, awsSecret)
		}
	}
	switch {
	case region == "" && (e.BaseURL == "" || e.Sign != nil):
		return e, native, notConfigured(e.Name, "set AWS_REGION, such as us-east-1")
	case !isLabel(region) && region != "":
		return e, native, notConfigured(e.Name, "AWS_REGION is %q, which is not a region", region)
	case e.BaseURL == "":
		e.BaseURL = "https://bedrock-runtime." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			e.BaseURL += ".cn"
		}
	}
	native.BaseURL = e.BaseURL
	if service == "bedrock-mantle" {
		native.BaseURL = strings.TrimSuffix(cmp.Or(c.baseURL(mantleURL), "https://"+service+"."+region+".api.aws"), "/anthropic")
	}
	return e, native, nil
}

// onBedrock returns the provider that chooses by the model. Without a setting for the API, inference profiles and ARNs
// of Claude use InvokeModel, which accepts them all, and models use it if the catalogue says that they must.
func (c Config) onBedrock(api string, native, invoke, others llm.Provider) llm.Provider {
	catalogue := c.Catalogue
	if catalogue == nil {
		catalogue = llm.DefaultCatalogue()
	}
	return byModel{native.Name(), func(model string) llm.Provider {
		switch {
		case !ofClaude(model):
			return others
		case api == apiInvoke:
			return invoke
		case api != "":
			return native
		}
		plain := strings.TrimPrefix(model, "anthropic.")
		if m, ok := catalogue.Like("anthropic", plainClaude(plain)); !ok || m.Rules.Invoke {
			return invoke
		}
		return native
	}}
}

// plainClaude returns Anthropic's name for a model, without the version that Bedrock adds to it.
func plainClaude(name string) string {
	if i := strings.LastIndex(name, "-v"); i > 0 && strings.Trim(name[i+2:], "0123456789:") == "" {
		return name[:i]
	}
	return name
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
		return nil, notConfigured(
			name,
			"run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file or %s to an access token",
			googleToken,
		)
	case project == "" && base == "":
		return nil, notConfigured(name, "set GOOGLE_CLOUD_PROJECT to the ID of your project")
	case !isLabel(location):
		return nil, notConfigured(name, "GOOGLE_CLOUD_LOCATION is %q, which is not a location", location)
	}
	e, standard := c.endpoint(), gemini.Vertex(project, location, nil)
	e.Name = name
	e.BaseURL = cmp.Or(base, standard.BaseURL)
	e.Rewrite = standard.Rewrite
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
	return claudeAnd(
		anthropic.New(anthropic.Config{Endpoint: claude, Catalogue: c.Catalogue, Cloud: true}),
		gemini.New(gemini.Config{Endpoint: e, Catalogue: c.Catalogue})), nil
}

// Variables for Azure OpenAI.
const (
	azureURL    = "AZURE_OPENAI_ENDPOINT"
	azureKey    = "AZURE_OPENAI_API_KEY"
	azureToken  = "AZURE_OPENAI_AD_TOKEN"
	azureKeyToo = "AZURE_API_KEY" // of other tools, with AZURE_RESOURCE_NAME
)

// azureResource is where an Azure OpenAI resource is, and how to use it.
type azureResource struct {
	url, version string
	dated        bool // the version selects the older API with deployments in the path
	endpoint     llm.Endpoint
	bearer       bool
}

func (c Config) azureResource(name string) (r azureResource, err error) {
	r.url = strings.TrimRight(cmp.Or(c.baseURL(azureURL), c.env("AZURE_RESOURCE_NAME")), "/")
	r.endpoint = c.endpoint()
	r.endpoint.APIKey, r.endpoint.KeyFrom = c.key(azureKey, azureToken, azureKeyToo)
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
	if key := r.endpoint.APIKey; r.bearer && key != "" {
		r.endpoint.Sign = signHeader("Authorization", key)
	}
	conf := chat.Config{Endpoint: r.endpoint, Catalogue: c.Catalogue}
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

// isLabel reports whether s can be a host name label.
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

// output runs a command and returns its output.
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
