package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/reins-agent/reins/llm"
)

// checkModelFile compares the built-in models with a file of models.dev and prints the differences.
func (o models) checkModelFile(ctx context.Context, h Host) error {
	list, err := h.readDev(ctx, o.check)
	if err != nil {
		return err
	}
	found := false
	for _, m := range llm.DefaultCatalogue().Models() {
		at := slices.IndexFunc(list.models, func(n llm.Model) bool { return n.Provider == m.Provider && n.ID == m.ID })
		switch {
		case m.Ended(h.time()) || !slices.Contains(list.providers, m.Provider) || o.provider != "" && m.Provider != o.provider:
		case at < 0:
			found = true
			fmt.Fprintf(h.Stdout, "%s/%s: not in the file\n", m.Provider, m.ID)
		default:
			m.Price = m.Price.At(h.time())
			for _, diff := range modelDiffs(m, list.models[at], list.deprecated[m.Provider+"/"+m.ID]) {
				found = true
				fmt.Fprintf(h.Stdout, "%s/%s: %s\n", m.Provider, m.ID, diff)
			}
		}
	}
	for _, m := range list.models {
		_, listed := llm.DefaultCatalogue().Exact(m.Provider, m.ID)
		if !listed && list.wanted(m) && (o.provider == "" || m.Provider == o.provider) {
			found = true
			fmt.Fprintf(h.Stdout, "%s/%s: not in the catalogue\n", m.Provider, m.ID)
		}
	}
	return failIf(found)
}

// modelDiffs describes how a model in a file differs from one in the catalogue.
func modelDiffs(m, file llm.Model, deprecated bool) (list []string) {
	for _, n := range []struct {
		name     string
		old, new int64
	}{
		{"context window", m.ContextWindow, file.ContextWindow},
		{"maximum output", m.MaxOutput, file.MaxOutput},
	} {
		if n.new != 0 && n.new != n.old {
			list = append(list, fmt.Sprintf("%s %d, in the file %d", n.name, n.old, n.new))
		}
	}
	list = append(list, priceDiffs(m.Price, file.Price)...)
	if deprecated {
		list = append(list, "deprecated in the file")
	}
	return list
}

// priceDiffs describes the prices in a file that differ. A price that the file does not have is not a difference.
func priceDiffs(old, file *llm.Price) (list []string) {
	if file == nil {
		return nil
	}
	if old == nil {
		old = &llm.Price{}
	}
	for _, p := range []struct {
		name     string
		old, new *float64
	}{
		{"input", old.Input, file.Input}, {"output", old.Output, file.Output},
		{"cache read", old.CacheRead, file.CacheRead}, {"cache write", old.CacheWrite, file.CacheWrite},
	} {
		if p.new != nil && (p.old == nil || *p.old != *p.new) {
			list = append(list, fmt.Sprintf("%s price %s, in the file %s", p.name, dollars(p.old), dollars(p.new)))
		}
	}
	if file.Long == nil {
		return list
	}
	if old.LongFrom != file.LongFrom {
		return append(list, fmt.Sprintf("long calls from %d tokens, in the file from %d", old.LongFrom, file.LongFrom))
	}
	for _, diff := range priceDiffs(old.Long, file.Long) {
		list = append(list, "long calls: "+diff)
	}
	return list
}

// mergedPrice returns a price with the values of a file, and the old values where the file has none.
func mergedPrice(old, file *llm.Price) *llm.Price {
	if old == nil {
		return file
	}
	p := *old
	p.NextFrom, p.Next = "", nil
	for _, v := range []struct{ to, from **float64 }{
		{&p.Input, &file.Input}, {&p.Output, &file.Output}, {&p.CacheRead, &file.CacheRead},
		{&p.CacheWrite, &file.CacheWrite}, {&p.CacheWriteLong, &file.CacheWriteLong},
	} {
		if *v.from != nil {
			*v.to = *v.from
		}
	}
	switch {
	case file.Long != nil && p.Long != nil && p.LongFrom == file.LongFrom:
		p.Long = mergedPrice(p.Long, file.Long)
	case file.Long != nil:
		p.LongFrom, p.Long = file.LongFrom, file.Long
	case p.Long != nil && *p.Long.Input < *p.Input:
		p.LongFrom, p.Long = 0, nil
	}
	return &p
}
