package anthropic

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Vertex returns the Endpoint.Rewrite for Claude on Google's Vertex AI. The base URL is
// "https://LOCATION-aiplatform.googleapis.com/v1". Config.AuthToken or Endpoint.Sign must supply a Google
// access token.
func Vertex(project, location string) func(*llm.Request, *llm.Call) error {
	return func(r *llm.Request, c *llm.Call) error {
		method := ":rawPredict"
		if c.Stream {
			method = ":streamRawPredict"
		}
		c.Path = "/projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(location) +
			"/publishers/anthropic/models/" + url.PathEscape(r.Model) + method
		c.Header.Del("Anthropic-Version")
		return rehead(c, []string{"model", "anthropic_version"}, func(e *wire.Encoder) {
			e.Field("anthropic_version", "vertex-2023-10-16")
		})
	}
}

// Bedrock returns the Endpoint.Rewrite for Claude on Amazon Bedrock's InvokeModel and
// InvokeModelWithResponseStream. The base URL is "https://bedrock-runtime.REGION.amazonaws.com".
// Config.AuthToken must be a Bedrock API key, or Endpoint.Sign must sign the requests.
func Bedrock() func(*llm.Request, *llm.Call) error {
	return func(r *llm.Request, c *llm.Call) error {
		c.Path = "/model/" + url.QueryEscape(r.Model) + "/invoke"
		if c.Stream {
			c.Path += "-with-response-stream"
			c.Header.Set("Accept", "application/vnd.amazon.eventstream")
		}
		betas := c.Header.Get("Anthropic-Beta")
		c.Header.Del("Anthropic-Beta")
		c.Header.Del("Anthropic-Version")
		return rehead(c, []string{"model", "stream", "anthropic_version", "anthropic_beta"}, func(e *wire.Encoder) {
			e.Field("anthropic_version", "bedrock-2023-05-31")
			if betas != "" {
				e.Key("anthropic_beta")
				e.Open('[')
				for b := range strings.SplitSeq(betas, ",") {
					e.Str(strings.TrimSpace(b))
				}
				e.Close(']')
			}
		})
	}
}

// BedrockMessages returns the Endpoint.Rewrite for Claude on Amazon Bedrock's own Messages API, which streams as
// Anthropic's does. The base URL is "https://bedrock-runtime.REGION.amazonaws.com", or
// "https://bedrock-mantle.REGION.api.aws", whose signatures are for the service bedrock-mantle. Models are named
// "anthropic.claude-…"; the prefix is added if it is missing. Config.AuthToken must be a Bedrock API key, or
// Endpoint.Sign must sign the requests.
func BedrockMessages() func(*llm.Request, *llm.Call) error {
	return func(r *llm.Request, c *llm.Call) error {
		c.Path = "/anthropic" + c.Path
		if !strings.HasPrefix(r.Model, "claude") {
			return nil
		}
		return rehead(c, []string{"model"}, func(e *wire.Encoder) { e.Field("model", "anthropic."+r.Model) })
	}
}

// rehead rewrites the first piece in a body: new members first, without the named members.
func rehead(c *llm.Call, without []string, add func(*wire.Encoder)) error {
	first := c.Body[0]
	open := bytes.HasSuffix(first, []byte(`"messages":[`))
	whole := first
	if open {
		whole = append(first[:len(first):len(first)], closing...)
	}
	v, err := wire.ParseJSON(whole)
	if err != nil {
		return err
	}
	var e wire.Encoder
	e.Open('{')
	add(&e)
	for m := v.Members(); m.Next(); {
		if !slices.Contains(without, string(m.Key)) {
			e.Member(m.Key, m.Value)
		}
	}
	e.Close('}')
	if open {
		e.Buf = e.Buf[:len(e.Buf)-len(closing)]
	}
	c.Body[0] = e.Buf
	return nil
}
