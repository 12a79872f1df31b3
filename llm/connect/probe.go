package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// Names of servers.
const (
	ollama   = "Ollama"
	llamaCPP = "llama.cpp"
	lmStudio = "LM Studio"
	vLLM     = "vLLM"
)

// owners identifies servers by their models' owner.
var owners = map[string]string{"library": ollama, "llamacpp": llamaCPP, "organization_owner": lmStudio, "vllm": vLLM}

// prober asks servers about their models.
type prober struct {
	client  *http.Client
	header  http.Header
	timeout time.Duration
}

// listed is one entry in a server's model list.
type listed struct {
	ID          string   `json:"id"`
	Aliases     []string `json:"aliases"`
	OwnedBy     string   `json:"owned_by"`
	MaxModelLen int64    `json:"max_model_len"` // vLLM
	Meta        struct { // llama.cpp
		Window int64 `json:"n_ctx"`
	} `json:"meta"`
}

// list returns the server at a base URL with its models.
func (p prober) list(ctx context.Context, base string) (Server, error) {
	srv := Server{BaseURL: base}
	var list struct {
		Data []listed `json:"data"`
	}
	if err := p.ask(ctx, base+"/models", nil, &list); err != nil {
		srv.Loading = llm.KindOf(err) == llm.ErrLoading
		if srv.Loading {
			return srv, nil
		}
		return srv, err
	}
	for _, m := range list.Data {
		if m.ID == "" {
			continue
		}
		srv.Models, srv.list = append(srv.Models, m.ID), append(srv.list, m)
		if name, known := owners[m.OwnedBy]; known {
			srv.Name = name
		}
	}
	return srv, nil
}

// listAny is like list, but adds /v1 to a base URL without a path if the server needs it.
func (p prober) listAny(ctx context.Context, base string) (Server, error) {
	base = strings.TrimRight(base, "/")
	srv, err := p.list(ctx, base)
	if u, perr := url.Parse(base); err == nil || perr != nil || u.Path != "" {
		return srv, err
	}
	if with, again := p.list(ctx, base+"/v1"); again == nil {
		return with, nil
	}
	return srv, err
}

// ask sends a GET request or, with a body, a POST request, and decodes the answer.
func (p prober) ask(ctx context.Context, address string, body, answer any) error {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout)
		defer cancel()
	}
	method, sent := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		sent, _ = json.Marshal(body) // of strings and booleans
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sent))
	if err != nil {
		return llm.Errorf(llm.ErrConfiguration, "", "invalid base URL %q: use https:// or http:// and a host", wire.RedactURL(address))
	}
	maps.Copy(req.Header, p.header)
	resp, err := p.client.Do(req)
	if err != nil {
		return llm.Errorf(llm.ErrNetwork, "", "no answer from %s: %w", req.URL.Host, cause(err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return wire.HTTPError(resp.StatusCode, resp.Header, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("the answer of %s is not the expected JSON", req.URL.Host)
	}
	return nil
}

// cause returns a request's error without its URL, which may be private.
func cause(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}
