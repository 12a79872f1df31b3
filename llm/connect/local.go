package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/llm"
)

// Server is a model server on this machine.
type Server struct {
	Name    string // such as "Ollama"
	BaseURL string // for the chat protocol
	Models  []string
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
		s.Places = []Place{{"Ollama", 11434}, {"llama.cpp", 8080}, {"LM Studio", 1234}, {"vLLM", 8000}}
	}
	if s.Timeout == 0 {
		s.Timeout = time.Second
	}
	return s
}

// Local tries all places in parallel and returns the servers that have models, in the order of the places. It
// returns an error of kind llm.ErrConfiguration if there are none.
func (s Search) Local(ctx context.Context) ([]Server, error) {
	s = s.withDefaults()
	answers := make([]Server, len(s.Places))
	var wg sync.WaitGroup
	for i, p := range s.Places {
		wg.Go(func() { answers[i] = s.ask(ctx, p) })
	}
	wg.Wait()
	var found []Server
	var tried []string
	for i, a := range answers {
		if len(a.Models) > 0 {
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

// ask returns the server at a place with its models, or one without models.
func (s Search) ask(ctx context.Context, p Place) Server {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	srv := Server{Name: p.Name, BaseURL: "http://" + p.host() + "/v1"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.BaseURL+"/models", nil)
	if err != nil {
		return Server{}
	}
	// Without proxy and redirects, nothing leaves this machine.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return Server{}
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			OwnedBy string `json:"owned_by"`
		} `json:"data"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&list) != nil {
		return Server{}
	}
	for _, m := range list.Data {
		if m.ID != "" {
			srv.Models = append(srv.Models, m.ID)
		}
		if name, known := owners[m.OwnedBy]; known {
			srv.Name = name
		}
	}
	return srv
}

// owners identifies servers at another's port, by the owner of their models.
var owners = map[string]string{"library": "Ollama", "llamacpp": "llama.cpp", "organization_owner": "LM Studio", "vllm": "vLLM"}
