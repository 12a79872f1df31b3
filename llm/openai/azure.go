package openai

import (
	"net/url"
	"strings"

	"github.com/reins-agent/reins/llm/wire"
)

// Azure is the configuration for Azure OpenAI. The endpoint is the resource's, such as
// "https://my-resource.openai.azure.com"; a bare resource name will do. Models are then named by
// their deployments. The API version may be empty, which is the current one. For a token of
// Microsoft Entra instead of a key, set KeyHeader of the result to "".
func Azure(endpoint, apiKey, apiVersion string) Config {
	base := strings.TrimRight(endpoint, "/")
	if !strings.Contains(base, "://") {
		if !strings.Contains(base, ".") {
			base += ".openai.azure.com"
		}
		base = "https://" + base
	}
	if !strings.Contains(base, "/openai") {
		base += "/openai/v1"
	}
	query := ""
	if apiVersion != "" {
		query = url.Values{"api-version": {apiVersion}}.Encode()
	}
	return Config{
		Endpoint:  wire.Endpoint{Name: "azure", BaseURL: base, APIKey: apiKey, Query: query},
		KeyHeader: "api-key",
	}
}
