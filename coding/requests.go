package coding

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
)

// checkRequests returns an error for settings of requests that the model, or a model that may take over, is known to
// refuse. The adapters check the others before they send a request.
func (b *builder) checkRequests() error {
	s := &b.session
	for _, m := range append([]agent.Model{{Name: s.Model}}, s.Fallback...) {
		provider := s.Provider
		if m.Provider != "" {
			provider = m.Provider
		}
		known, ok := s.Catalogue.Like(provider, m.Name)
		if !ok {
			continue
		}
		if err := checkRequest(known, provider, m.Name, s.CacheTTL, s.Display); err != nil {
			return err
		}
	}
	return nil
}

func checkRequest(m llm.Model, provider, name, ttl, display string) error {
	ttls := m.Rules.CacheTTLs
	own := m.Provider == provider && provider != "chat" // a chat server may have a cache that the catalogue does not know
	switch {
	case ttl != "" && len(ttls) == 0 && own:
		return llm.Errorf(llm.ErrConfiguration, "", "%s has no cache lifetime that can be set; leave out %q", name, ttl)
	case ttl != "" && len(ttls) > 0 && !slices.Contains(ttls, ttl):
		return llm.Errorf(
			llm.ErrConfiguration, "",
			"%s does not accept the cache lifetime %q; use %s", name, ttl, strings.Join(ttls, " or "),
		)
	case display == "updates" && !m.Rules.Accepts("adaptive"):
		return llm.Errorf(llm.ErrConfiguration, "", "%s does not show its thinking as updates; use summarized or omitted", name)
	}
	return nil
}
