// Package chatgpt signs in with a ChatGPT plan, and calls OpenAI's models with it.
//
// # Sign-in
//
// [Account.Login] registers the program with the user's ChatGPT account, as OpenAI documents it for open-source
// programs on the user's own machine: OAuth with PKCE in the browser, and a redirect to a listener on 127.0.0.1. It
// verifies the ID token before it saves anything.
//
// # Tokens
//
// The tokens are in one file that only the user can read. They are never in an error. An access token is valid for an
// hour; [Account.Token] refreshes it shortly before it expires. OpenAI accepts a refresh token only once, and only
// shortly before the access token expires. Therefore one process at a time refreshes it, the others use the result, and
// the new tokens are saved before they are used.
//
// # Requests
//
// [New] returns a provider for the Responses API. It changes what llm/openai encodes where plans have other rules:
// answers are always streamed, functions and custom tools are in an additional_tools item, and members that are refused
// are omitted, or reported if the caller asked for them.
package chatgpt

import (
	"cmp"
	"net/http"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Name is the provider name.
const Name = "chatgpt"

const (
	newClient = "dynamic_agent_client" // the client ID in a first sign-in
	planScope = "chatgpt.tokens.use.direct"
	scopes    = "openid profile email offline_access resource.invoke " + planScope
)

// UsageURL is the page where users see and change how much of their plan each program may use.
const UsageURL = "https://chatgpt.com/settings/usage"

// Service is where to sign in and to send requests. Empty fields mean OpenAI's.
type Service struct {
	Issuer       string // of ID tokens; its discovery document names the keys
	AuthorizeURL string
	TokenURL     string
	API          string // Responses API base URL
	Resource     string // what the tokens are for
}

func (s Service) withDefaults() Service {
	s.Issuer = cmp.Or(s.Issuer, "https://auth.openai.com")
	s.AuthorizeURL = cmp.Or(s.AuthorizeURL, "https://auth.openai.com/api/accounts/authorize")
	s.TokenURL = cmp.Or(s.TokenURL, "https://auth.openai.com/api/accounts/oauth/token")
	s.API = cmp.Or(s.API, "https://api.openai.com/v1")
	s.Resource = cmp.Or(s.Resource, "https://api.openai.com/v1")
	return s
}

// Account is the user's ChatGPT account on this machine. Any number of processes can use one directory.
type Account struct {
	Dir     string // only for this account; created if needed
	Service Service
	// HTTPClient sends the token requests. It must not log them. The default does not follow redirects to other hosts.
	HTTPClient *http.Client

	now func() time.Time // nil means time.Now
}

func (a *Account) time() time.Time {
	if a.now != nil {
		return a.now()
	}
	return time.Now()
}

func (a *Account) client() *http.Client {
	if a.HTTPClient != nil {
		return a.HTTPClient
	}
	return wire.NewHTTPClient(llm.Limits{})
}

// again ends the errors that a new sign-in resolves.
const again = "run `reins login chatgpt`"
