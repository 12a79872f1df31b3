package connect

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/wire"
)

// Variables for Vertex AI.
const (
	googleToken = "GOOGLE_OAUTH_ACCESS_TOKEN"
	gcloudToken = "CLOUDSDK_AUTH_ACCESS_TOKEN"
	googleFile  = "GOOGLE_APPLICATION_CREDENTIALS"
	vertexURL   = "GOOGLE_VERTEX_BASE_URL"
)

// googleAccount is an identity at Google Cloud. Without one, token is nil.
type googleAccount struct {
	token   func(context.Context) (string, error)
	from    string // where the token comes from
	project string // the account's own project, or ""
	quota   string // the project to charge, or ""
}

// googleAccount looks for an access token in the environment, application default credentials and, if allowed, the
// gcloud command.
func (c Config) googleAccount(command bool) (a googleAccount, err error) {
	if token, from := c.key(googleToken, gcloudToken); token != "" {
		return googleAccount{token: func(context.Context) (string, error) { return token, nil }, from: from}, nil
	}
	path := c.env(googleFile)
	explicit := path != ""
	if !explicit {
		path = c.gcloudDir() + "/application_default_credentials.json"
	}
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		return c.googleFile(path, data)
	case explicit || !errors.Is(err, fs.ErrNotExist):
		return a, notConfigured("vertex", "%w", err)
	}
	if _, err := exec.LookPath("gcloud"); err == nil && command {
		a.token, a.from = fromGcloud("auth", "print-access-token"), "gcloud"
	}
	return a, nil
}

// gcloudDir returns the gcloud command's directory.
func (c Config) gcloudDir() string {
	if dir := c.env("CLOUDSDK_CONFIG"); dir != "" {
		return dir
	}
	if dir := c.env("APPDATA"); dir != "" {
		return dir + "/gcloud"
	}
	return c.home() + "/.config/gcloud"
}

// googleCredentials is a file with application default credentials.
type googleCredentials struct {
	Type           string `json:"type"`
	TokenURI       string `json:"token_uri"`
	ProjectID      string `json:"project_id"`
	QuotaProjectID string `json:"quota_project_id"`
	// service account
	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	// user
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

// googleFile returns the account in a file. Kinds of accounts that are not implemented here are left to gcloud.
func (c Config) googleFile(path string, data []byte) (a googleAccount, err error) {
	var f googleCredentials
	if err := json.Unmarshal(data, &f); err != nil {
		return a, notConfigured("vertex", "%s is not a credentials file: %w", path, err)
	}
	a = googleAccount{from: path, project: f.ProjectID}
	f.TokenURI = cmp.Or(f.TokenURI, "https://oauth2.googleapis.com/token")
	if !confidential(f.TokenURI) {
		return a, notConfigured("vertex", "the token_uri in %s is not an https URL", path)
	}
	var form func() (url.Values, error)
	switch f.Type {
	case "service_account":
		key, err := privateKey(f.PrivateKey)
		if err != nil {
			return a, notConfigured("vertex", "the private_key in %s cannot be used: %w", path, err)
		}
		form = func() (url.Values, error) { return f.assertion(key, time.Now()) }
	case "authorized_user":
		a.quota = f.QuotaProjectID
		form = func() (url.Values, error) {
			return url.Values{
				"grant_type":    {"refresh_token"},
				"client_id":     {f.ClientID},
				"client_secret": {f.ClientSecret},
				"refresh_token": {f.RefreshToken},
			}, nil
		}
	default:
		a.token = fromGcloud("auth", "application-default", "print-access-token")
		return a, nil
	}
	source := &cached[string]{fetch: func(ctx context.Context) (string, time.Time, error) {
		values, err := form()
		if err != nil {
			return "", time.Time{}, err
		}
		token, expires, err := c.exchange(ctx, f.TokenURI, values)
		if err != nil {
			err = fmt.Errorf("cannot get an access token with %s: %w", path, err)
		}
		return token, expires, err
	}}
	a.token = source.get
	return a, nil
}

// confidential reports whether a URL uses TLS or stays on this machine.
func confidential(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && ip != nil && ip.IsLoopback()
}

func privateKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not in PEM format")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, errors.New("it is not an RSA key")
}

// assertion returns a service account's token request: a JWT signed with its key.
func (f googleCredentials) assertion(key *rsa.PrivateKey, now time.Time) (url.Values, error) {
	part := func(v any) (string, error) {
		b, err := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b), err
	}
	header, err := part(map[string]string{"alg": "RS256", "typ": "JWT", "kid": f.PrivateKeyID})
	if err != nil {
		return nil, err
	}
	claims, err := part(map[string]any{
		"iss": f.ClientEmail, "scope": "https://www.googleapis.com/auth/cloud-platform", "aud": f.TokenURI,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(header + "." + claims))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	jwt := header + "." + claims + "." + base64.RawURLEncoding.EncodeToString(signature)
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {jwt}}, err
}

// exchange requests an access token. The request is not in the debug log.
func (c Config) exchange(ctx context.Context, address string, form url.Values) (token string, expires time.Time, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return "", expires, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.quiet.Do(req)
	if err != nil {
		return "", expires, err
	}
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
	if err != nil || resp.StatusCode != http.StatusOK || answer.AccessToken == "" {
		return "", expires, fmt.Errorf("HTTP %d: %s", resp.StatusCode, wire.Redact(strings.TrimSpace(answer.Error+" "+answer.Description)))
	}
	return answer.AccessToken, time.Now().Add(time.Duration(answer.ExpiresIn) * time.Second), nil
}

// fromGcloud returns the token that gcloud prints. gcloud renews it, so it is asked again after some minutes.
func fromGcloud(args ...string) func(context.Context) (string, error) {
	source := &cached[string]{fetch: func(ctx context.Context) (string, time.Time, error) {
		out, err := output(ctx, "gcloud", args...)
		if err != nil {
			return "", time.Time{}, fmt.Errorf("cannot get an access token: %w", err)
		}
		token := string(bytes.TrimSpace(out))
		if token == "" {
			return "", time.Time{}, errors.New("cannot get an access token: gcloud printed none")
		}
		return token, time.Now().Add(2 * early), nil
	}}
	return source.get
}
