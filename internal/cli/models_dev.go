package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// devNames maps names of providers in files of models.dev to names in the catalogue, where they differ.
var devNames = map[string]string{"google": "gemini", "amazon-bedrock": "bedrock", "alibaba": "qwen", "moonshotai": "moonshot"}

// devProvider is a provider in a file of models.dev. The file maps names to providers.
type devProvider struct {
	Models map[string]devModel `json:"models"`
}

type devModel struct {
	Name             string      `json:"name"`
	Reasoning        bool        `json:"reasoning"`
	ReasoningOptions []devOption `json:"reasoning_options"`
	ToolCall         bool        `json:"tool_call"`
	StructuredOutput bool        `json:"structured_output"`
	Knowledge        string      `json:"knowledge"` // YYYY-MM or YYYY-MM-DD
	Modalities       struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
	Limit struct {
		Context float64 `json:"context"`
		Input   float64 `json:"input"`
		Output  float64 `json:"output"`
	} `json:"limit"`
	Status string  `json:"status"` // "alpha", "beta", "deprecated" or ""
	Cost   devCost `json:"cost"`
}

// devOption is a way to control thinking: "toggle", "effort" with words, or "budget_tokens".
type devOption struct {
	Type   string    `json:"type"`
	Values []*string `json:"values"`
}

// devCost is in US dollars per million tokens. 0 also stands for an unknown price.
type devCost struct {
	Input      float64   `json:"input"`
	Output     float64   `json:"output"`
	CacheRead  float64   `json:"cache_read"`
	CacheWrite float64   `json:"cache_write"`
	Over200k   *devCost  `json:"context_over_200k"`
	Tiers      []devTier `json:"tiers"`
}

// devTier is the cost of calls with more input than a size.
type devTier struct {
	devCost
	Tier struct {
		Size float64 `json:"size"`
	} `json:"tier"`
}

// devList is the part of a file that Reins can use.
type devList struct {
	providers  []string // in the catalogue
	models     []llm.Model
	deprecated map[string]bool // by provider/id
	skipped    int             // models with invalid names
}

// parseDev reads a file of models.dev. It converts the text models of these providers, sorted by provider and ID.
func parseDev(data []byte, known *llm.Catalogue, providers []string) (*devList, error) {
	var file map[string]devProvider
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a file in the format of models.dev: %w", err)
	}
	list := &devList{deprecated: map[string]bool{}}
	for _, id := range slices.Sorted(maps.Keys(file)) {
		name := id
		if n, ok := devNames[id]; ok {
			name = n
		}
		if !slices.Contains(providers, name) || slices.Contains(list.providers, name) || file[id].Models == nil {
			continue
		}
		list.providers = append(list.providers, name)
		if err := list.add(known, name, file[id].Models); err != nil {
			return nil, err
		}
	}
	if len(list.providers) == 0 {
		return nil, errors.New("no known provider; the format of models.dev is {\"openai\": {\"models\": {…}}, …}")
	}
	slices.Sort(list.providers)
	slices.SortStableFunc(list.models, func(a, b llm.Model) int {
		return strings.Compare(a.Provider+"/"+a.ID, b.Provider+"/"+b.ID)
	})
	return list, nil
}

// wanted reports whether to add a model that the catalogue does not have. Without tools, it is of no use to an agent.
func (l *devList) wanted(m llm.Model) bool { return m.Tools && !l.deprecated[m.Provider+"/"+m.ID] }

func (l *devList) add(known *llm.Catalogue, provider string, models map[string]devModel) error {
	for _, id := range slices.Sorted(maps.Keys(models)) {
		d := models[id]
		switch {
		case !validModelID(id):
			l.skipped++
			continue
		case !slices.Contains(d.Modalities.Output, "text"):
			continue
		}
		m, err := d.model(known, provider, id)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", provider, id, err)
		}
		l.models = append(l.models, m)
		l.deprecated[provider+"/"+id] = d.Status == "deprecated"
	}
	return nil
}

var modelID = regexp.MustCompile(`^[A-Za-z0-9@~][A-Za-z0-9@~._:/+-]{0,199}$`)

// validModelID reports whether a name from a file is safe to show and to send.
func validModelID(id string) bool {
	return modelID.MatchString(id) && !strings.Contains(id, "..") && !strings.Contains(id, "//")
}

// model converts a model. It has the rules of its family.
func (d devModel) model(known *llm.Catalogue, provider, id string) (llm.Model, error) {
	like, _ := known.Like(provider, id)
	accepts := func(kind string) bool { return slices.Contains(d.Modalities.Input, kind) }
	m := llm.Model{
		ID:        id,
		Provider:  provider,
		Name:      id,
		Tools:     d.ToolCall,
		Schema:    d.StructuredOutput,
		Reasoning: d.Reasoning,
		Rules:     like.Rules,
		Vision:    accepts("image"),
		Documents: accepts("pdf"),
		Audio:     accepts("audio"),
		Freeform:  like.Freeform && like.Provider == provider && d.ToolCall,
	}
	if name := show.OneLine(d.Name); name == d.Name && name != "" && len(name) <= 100 {
		m.Name = name
	}
	if len(d.Knowledge) >= len("YYYY-MM") && cutoff.MatchString(d.Knowledge) {
		m.Cutoff = d.Knowledge[:len("YYYY-MM")]
	}
	m.Thinking, m.Efforts = d.thinking(like)
	if m.Thinking == "" {
		m.Rules.Thinks, m.Rules.DefaultEffort = m.Reasoning, ""
	} else if !slices.Contains(m.Efforts, m.Rules.DefaultEffort) {
		m.Rules.DefaultEffort = ""
	}
	var err error
	for _, n := range []struct {
		from float64
		to   *int64
	}{{d.Limit.Context, &m.ContextWindow}, {d.Limit.Output, &m.MaxOutput}, {d.Limit.Input, &m.Rules.MaxInput}} {
		*n.to, err = tokens(n.from, err)
	}
	if m.Rules.MaxInput >= m.ContextWindow {
		m.Rules.MaxInput = 0
	}
	if err == nil {
		m.Price, err = d.Cost.price(provider)
	}
	return m, err
}

var cutoff = regexp.MustCompile(`^20\d\d-(0[1-9]|1[0-2])(-\d\d)?$`)

// tokens converts a number of tokens.
func tokens(n float64, err error) (int64, error) {
	const most = 1e9
	if n < 0 || n > most || n != math.Trunc(n) {
		return 0, fmt.Errorf("%v is not a number of tokens", n)
	}
	return int64(n), err
}

// thinking returns how the effort is set, and the efforts. The way is that of a similar model.
func (d devModel) thinking(like llm.Model) (mode string, efforts []string) {
	for _, o := range d.ReasoningOptions {
		if o.Type != "effort" {
			continue
		}
		for _, e := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
			if slices.ContainsFunc(o.Values, func(v *string) bool { return v != nil && *v == e }) {
				efforts = append(efforts, e)
			}
		}
	}
	switch {
	case !d.Reasoning || len(efforts) == 0:
		return "", nil
	case like.Thinking != "" && like.Thinking != "budget":
		return like.Thinking, efforts
	}
	return "effort", efforts
}

// price converts a cost, or returns nil if it is unknown.
func (c devCost) price(provider string) (*llm.Price, error) {
	const most = 1e5
	for _, v := range []float64{c.Input, c.Output, c.CacheRead, c.CacheWrite} {
		if v < 0 || v > most {
			return nil, fmt.Errorf("%v is not a price in dollars per million tokens", v)
		}
	}
	if c.Input == 0 || c.Output == 0 {
		return nil, nil
	}
	p := &llm.Price{Input: &c.Input, Output: &c.Output, CacheRead: known(c.CacheRead), CacheWrite: known(c.CacheWrite)}
	if provider == "anthropic" { // a long cache write costs twice as much as input
		p.CacheWriteLong = known(2 * c.Input)
	}
	return p, c.addLong(p, provider)
}

// known returns a price, or nil if it is 0.
func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// addLong adds the prices of long calls.
func (c devCost) addLong(p *llm.Price, provider string) error {
	if len(c.Tiers) == 0 && c.Over200k != nil {
		over := *c.Over200k
		over.Tiers, over.Over200k = nil, nil
		long, err := over.price(provider)
		if long != nil {
			p.LongFrom, p.Long = 200_000, long
		}
		return err
	}
	tiers := slices.Clone(c.Tiers)
	slices.SortFunc(tiers, func(a, b devTier) int { return cmp.Compare(a.Tier.Size, b.Tier.Size) })
	last := int64(0)
	for _, t := range tiers {
		from, err := tokens(t.Tier.Size, nil)
		if err != nil {
			return err
		}
		t.Tiers, t.Over200k = nil, nil
		long, err := t.price(provider)
		if err != nil {
			return err
		}
		if long != nil && from > last {
			p.LongFrom, p.Long = from, long
			p, last = long, from
		}
	}
	return nil
}
