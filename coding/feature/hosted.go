package feature

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/internal/lazy"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// hostedSearch maps providers to their web search tools. The provider runs them itself, so their calls do not go
// through the pipeline.
var hostedSearch = map[string]llm.State{
	"openai":    {Dialect: "openai-responses", Data: json.RawMessage(`{"type":"web_search"}`)},
	"anthropic": {Dialect: "anthropic", Data: json.RawMessage(`{"type":"web_search_20250305","name":"web_search","max_uses":8}`)},
	"gemini":    {Dialect: "gemini", Data: json.RawMessage(`{"googleSearch":{}}`)},
}

// combines matches Gemini models that can use Google Search together with other tools.
var combines = lazy.Regexp(`gemini-(?:[3-9]|\d\d)`)

// HostedSearch adds the web search of the model's provider, if it has one. The provider runs it without asking. It is not
// added if a policy rule forbids searches or asks about them.
func HostedSearch() coding.Extension {
	return func(_ context.Context, h *coding.Host) (coding.Feature, error) {
		return coding.Feature{
			ToolsFor: func(ctx context.Context, p *coding.Profile) ([]tool.Tool, []tool.Alias) {
				return searchFor(ctx, h, p), nil
			},
			Policy: func(ctx context.Context, p policy.Policy) (policy.Policy, []string) {
				if forbidsSearch(ctx, h, p) != "" {
					return p, []string{"web_search"}
				}
				return p, nil
			},
		}, nil
	}
}

// searchFor returns the provider's web search, if there is one and the policy does not forbid it.
func searchFor(ctx context.Context, h *coding.Host, p *coding.Profile) []tool.Tool {
	hosted, ok := hostedSearch[p.Provider]
	if !ok || p.Provider == "gemini" && !combines().MatchString(p.Model) {
		h.Warn(fmt.Errorf("%s (%s) has no web search that works with other tools; the agent cannot search the web", p.Model, p.Provider))
		return nil
	}
	if why := forbidsSearch(ctx, h, h.Policy()); why != "" {
		h.Warn(errors.New("the provider's web search is not used: " + why))
		return nil
	}
	if p.Provider == "gemini" {
		p.Options = withBody(p.Options, "gemini", "toolConfig", `{"includeServerSideToolInvocations":true}`)
	}
	return []tool.Tool{tool.New(tool.Spec{
		Name:        "web_search",
		Version:     "1.0.0",
		Description: "Search the web. The provider of the model runs it.",
		Permissions: []tool.Permission{tool.NetConnect},
		ReadOnly:    true,
		OpenWorld:   true,
		Hosted:      hosted,
	}, tool.Nothing[struct{}], func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Failure(tool.ValidationError, "The provider runs web_search itself. It cannot be called as a function."), nil
	})}
}

// forbidsSearch returns why a policy forbids searches, or "". The user cannot be asked about each search, so a rule
// that asks forbids all of them.
func forbidsSearch(ctx context.Context, h *coding.Host, p policy.Policy) string {
	if p == nil {
		return ""
	}
	d := p.Decide(ctx, policy.Query{
		Tool:        "web_search",
		Permissions: []string{string(tool.NetConnect)},
		ReadOnly:    true,
		OpenWorld:   true,
		Accesses:    []policy.Access{{Kind: policy.Connect, Target: "search"}},
		Mode:        h.Mode,
		Workspace:   h.Workspace,
	})
	if d.Verdict == policy.Deny || d.Code == "asked_by_rule" {
		return d.Reason
	}
	return ""
}

// withBody returns options with a member added to the request body.
func withBody(all map[string]llm.Options, dialect, name, value string) map[string]llm.Options {
	all = maps.Clone(all)
	if all == nil {
		all = make(map[string]llm.Options)
	}
	o := all[dialect]
	if o.Body = maps.Clone(o.Body); o.Body == nil {
		o.Body = make(map[string]json.RawMessage)
	}
	o.Body[name] = json.RawMessage(value)
	all[dialect] = o
	return all
}
