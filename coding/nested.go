package coding

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/prompt"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// fieldDocs is the field of a result with the keys of the documents in its note.
const fieldDocs = "instructions"

// finder returns the finder of documents for a profile. It refuses files that rules deny to read.
func (b *builder) finder(ctx context.Context, p *Profile) prompt.Finder {
	c, s := b.config.Prompt, &b.session
	w := s.Workspace
	w.Dir, _ = s.Env.RealPath(ctx, s.Env.Info().Dir)
	w.Paths = s.Env.Info().Paths()
	denied := func(real string) bool {
		f := policy.DeniesRead(b.policy(), w)
		return f != nil && f(real)
	}
	return prompt.Finder{Names: p.DocFiles, User: c.UserFiles, Home: c.Home, Denied: denied}
}

// nestedDocs gives each agent the documents below its working directory when it works there: as a note after the result
// of a call that reads or changes a file, once. What an agent has is computed from the records, so that it is the same
// after a crash. After a compaction, documents are given again.
type nestedDocs struct {
	docs    *prompt.Nested // nil gives none
	trusted bool
	warn    func(problems []string)
	session atomic.Pointer[agent.Session]

	mu    sync.Mutex
	last  event.Seq // the last record that was applied
	given map[string][]string
}

// nestDocs sets up the nested documents. There are none if the prompt has no documents.
func (b *builder) nestDocs(ctx context.Context, p *Profile) {
	if b.config.Session.System != "" || b.config.Prompt.Docs != nil {
		return
	}
	b.nested.docs = &prompt.Nested{Finder: b.finder(ctx, p), Env: b.session.Env}
	b.nested.trusted, b.nested.warn = b.config.Prompt.Trusted, b.warnEach
}

// follow is middleware.
func (n *nestedDocs) follow(ctx context.Context, c tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	res, err := next(ctx)
	if err != nil || res.Error != nil || n.docs == nil || c.Env == nil {
		return res, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.update(ctx) != nil {
		return res, err // the next call tries again
	}
	dir, unknown := c.Env.RealPath(ctx, c.Env.Info().Dir)
	if unknown != nil {
		return res, err
	}
	for _, a := range c.Accesses {
		if a.Kind != policy.Read && a.Kind != policy.Write {
			continue
		}
		part := n.docs.For(ctx, dir, a.Target, func(key string) bool { return slices.Contains(n.given[c.Agent], key) })
		n.warn(part.Warnings())
		note := part.Note(n.trusted)
		if note == "" {
			continue
		}
		n.add(c.Agent, part.Keys)
		res.Notes = append(res.Notes, note)
		if res.Fields == nil {
			res.Fields = map[string]any{}
		}
		res.Fields[fieldDocs] = append(tools.Texts(res.Fields[fieldDocs]), part.Keys...)
	}
	return res, err
}

func (n *nestedDocs) add(agent string, keys []string) {
	if n.given == nil {
		n.given = map[string][]string{}
	}
	n.given[agent] = append(n.given[agent], keys...)
}

// update applies new records.
func (n *nestedDocs) update(ctx context.Context) error {
	s := n.session.Load()
	if s == nil {
		return errors.New("the session is not open")
	}
	for r, err := range s.Records(ctx, n.last) {
		if err != nil {
			return err
		}
		n.last = r.Seq
		switch d := r.Data.(type) {
		case event.ToolCallEnd:
			for _, key := range tools.Texts(d.Fields[fieldDocs]) {
				if !slices.Contains(n.given[r.Agent], key) {
					n.add(r.Agent, []string{key})
				}
			}
		case event.Compaction:
			delete(n.given, r.Agent)
		case event.Rewind:
			if d.Chat {
				n.given = nil
			}
		}
	}
	return nil
}
