package connect_test

import (
	"context"
	"iter"
	"testing"

	"github.com/reins-agent/reins/internal/conformance"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/connect"
)

// opened is a client as a provider.
type opened struct {
	*llm.Client
	name string
}

func (o opened) Name() string { return o.name }

func (o opened) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return o.Client.Stream(ctx, r)
}

// TestConformance_CloudPlatforms runs the suite through Open, with the variables that users set. The variable key has
// the server's key. Platforms that are missing here use other packages' protocols unchanged.
func TestConformance_CloudPlatforms(t *testing.T) {
	for _, tt := range []struct {
		name, provider, dialect, model string
		env                            env
		key                            string
	}{
		{"Claude on Bedrock, signed", "bedrock", anthropic.Name, "us.anthropic.claude-test-v1:0",
			env{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SESSION_TOKEN": "session"}, "AWS_SECRET_ACCESS_KEY"},
		{"Claude on Bedrock's Messages API, signed", "bedrock", anthropic.Name, "anthropic.claude-test-1",
			env{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SESSION_TOKEN": "session"}, "AWS_SECRET_ACCESS_KEY"},
		{"Converse, signed", "bedrock", bedrock.Name, "amazon.nova-test-v1:0",
			env{"AWS_DEFAULT_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE"}, "AWS_SECRET_ACCESS_KEY"},
		{"Claude on Vertex", "vertex", anthropic.Name, "claude-test@20260101", env{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}, "CLOUDSDK_AUTH_ACCESS_TOKEN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conformance.Run(t, conformance.Subject{Dialect: tt.dialect, Model: tt.model, Open: func(e llm.Endpoint) llm.Provider {
				get := func(name string) string {
					if name == tt.key {
						return e.APIKey
					}
					return tt.env[name]
				}
				client, err := connect.Open(context.Background(), tt.provider, connect.Config{
					Getenv: get, BaseURL: e.BaseURL, HTTPClient: e.HTTPClient, Limits: e.Limits, Retry: llm.RetryPolicy{Retries: -1},
				})
				if err != nil {
					t.Fatal(err)
				}
				return opened{client, tt.provider}
			}})
		})
	}
}
