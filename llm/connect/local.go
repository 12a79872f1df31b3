package connect

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
)

// Server is a model server, usually on this machine.
type Server struct {
	Name    string // such as "Ollama"; "" if it is unknown
	BaseURL string // for the chat protocol
	Models  []string
	Loading bool // it is loading its model, and does not list it yet

	list    []listed
	several bool // models of which the user must choose one
}

func (s Server) String() string {
	if s.Name == "" {
		return s.BaseURL
	}
	return s.Name + " at " + s.BaseURL
}

// has returns a model's name if the server has it. The tag "latest" may be omitted.
func (s Server) has(model string) bool {
	return slices.ContainsFunc(s.list, func(l listed) bool {
		return l.ID == model || l.ID == model+":latest" || slices.Contains(l.Aliases, model)
	})
}

// Search looks for model servers on this machine only. The zero value tries the default ports of known servers,
// with a timeout of one second.
type Search struct {
	Places  []Place
	Timeout time.Duration
}

// Place is a port where a server may listen.
type Place struct {
	Name string
	Port int
}

func (s Search) withDefaults() Search {
	if s.Places == nil {
		s.Places = []Place{{ollama, 11434}, {llamaCPP, 8080}, {lmStudio, 1234}, {vLLM, 8000}}
	}
	if s.Timeout == 0 {
		s.Timeout = time.Second
	}
	return s
}

// Local tries all places in parallel and returns the servers that have models or are loading one, in the same order. If
// it finds none, it returns an error of kind llm.ErrConfiguration.
func (s Search) Local(ctx context.Context) ([]Server, error) {
	s = s.withDefaults()
	// Without proxy and redirects, nothing leaves this machine.
	p := prober{timeout: s.Timeout, client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	answers := make([]Server, len(s.Places))
	var wg sync.WaitGroup
	for i, place := range s.Places {
		wg.Go(func() {
			if found, err := p.list(ctx, "http://"+place.host()+"/v1"); err == nil {
				answers[i] = found
				if found.Name == "" {
					answers[i].Name = place.Name
				}
			}
		})
	}
	wg.Wait()
	var found []Server
	var tried []string
	for i, a := range answers {
		if len(a.Models) > 0 || a.Loading {
			found = append(found, a)
		}
		tried = append(tried, s.Places[i].Name+" at "+s.Places[i].host())
	}
	if len(found) == 0 {
		if err := ctx.Err(); err != nil {
			return nil, llm.Errorf(llm.ErrCancelled, "local", "the search for a local server was cancelled: %w", context.Cause(ctx))
		}
		return nil, llm.Errorf(llm.ErrConfiguration, "local", "no model server found (tried %s); start one, or set its address with --base-url",
			strings.Join(tried, ", "))
	}
	return found, nil
}

func (p Place) host() string { return fmt.Sprintf("127.0.0.1:%d", p.Port) }
