package gemini

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Vertex returns the Vertex AI endpoint for a Google Cloud project:
//
//	gemini.New(gemini.Config{Endpoint: gemini.Vertex("my-project", "global", gemini.Bearer(token))})
//
// Location is a region such as "europe-west4", a multi-region ("us", "eu") or "global". Sign authorizes each
// request. In express mode, sign is nil and project empty, and the endpoint needs an APIKey.
func Vertex(project, location string, sign func(r *http.Request, body []byte) error) llm.Endpoint {
	parent := ""
	if project != "" {
		parent = "projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(location) + "/"
	}
	return llm.Endpoint{
		BaseURL: vertexHost(location),
		Sign:    sign,
		Rewrite: func(_ *llm.Request, c *llm.Call) error {
			name := strings.TrimPrefix(c.Path, "/v1beta/")
			switch {
			case strings.HasPrefix(name, "projects/"):
			case strings.HasPrefix(name, "publishers/"):
				name = parent + name
			default:
				name = parent + "publishers/google/" + name
			}
			c.Path = "/v1beta1/" + name
			return nil
		},
	}
}

func vertexHost(location string) string {
	switch location {
	case "", "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}

// Bearer returns a signer that calls token for an OAuth access token before every request.
func Bearer(token func(ctx context.Context) (string, error)) func(r *http.Request, body []byte) error {
	return func(r *http.Request, _ []byte) error {
		t, err := token(r.Context())
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+t)
		return nil
	}
}
