package panel

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/tui/pager"
)

// cost shows the session's spending, and follows it.
type cost struct {
	Pages
	spent event.Spending
	calls []float64 // dollars, or tokens while no price is known
	price bool      // a price is known
}

// NewCost returns the cost panel: in total, per call, by model and by agent.
func NewCost(o Options) Panel {
	p := &cost{Pages: Pages{reader: reader{base: newBase("Cost", o)}}}
	p.show()
	if last := p.o.State().Last(); last > 0 {
		p.loading++
		go p.follow(last)
	}
	return p
}

// follow adds up the model calls, from the first on, and then as they happen.
func (p *cost) follow(last event.Seq) {
	var batch []event.Record
	post := func(read bool, err error) {
		records := batch
		batch = nil
		p.o.Post(func() Outcome {
			if p.ctx.Err() != nil {
				return Outcome{}
			}
			if read {
				p.loading--
			}
			if err != nil {
				p.fail(err)
			}
			for _, r := range records {
				p.add(r)
			}
			p.show()
			return handled
		})
	}
	read := false
	for r, err := range p.o.Handle.Events(p.ctx, 0) {
		if p.ctx.Err() != nil {
			return
		}
		if err != nil {
			post(!read, err)
			return
		}
		switch r.Data.(type) {
		case event.ModelCallEnd, event.SubagentStart:
			batch = append(batch, r)
		}
		_, call := r.Data.(event.ModelCallEnd)
		if !read && r.Seq >= last || read && call {
			post(!read, nil)
			read = true
		}
	}
	if !read {
		post(true, nil)
	}
}

// add adds a record.
func (p *cost) add(r event.Record) {
	p.spent.Add(r)
	d, ok := r.Data.(event.ModelCallEnd)
	if !ok {
		return
	}
	if d.Cost != nil && *d.Cost > 0 && !p.price {
		p.price, p.calls = true, make([]float64, len(p.calls)) // the calls before had no price
	}
	value := float64(d.Usage.Input + d.Usage.Output)
	if p.price {
		value = 0
		if d.Cost != nil {
			value = *d.Cost
		}
	}
	p.calls = append(p.calls, value)
}

func (p *cost) show() {
	if p.spent.Total.Calls == 0 {
		p.set([]pager.Section{pager.Text("", "The session has not called a model yet.")})
		return
	}
	p.set(pager.Cost(p.spent.Clone(), p.calls))
}
