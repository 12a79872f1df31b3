package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/internal/webhook"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// Trigger is a webhook that the agent can call. The URL and the secret come from the user, never from the model.
type Trigger struct {
	URL    string
	Secret webhook.Secret
}

// maxReply is the maximum size of a webhook's response.
const maxReply = 16 << 10

type triggerIn struct {
	Name    string          `json:"name" jsonschema:"name of the webhook"`
	Payload json.RawMessage `json:"payload,omitempty" jsonschema:"JSON to send"`
}

// triggerTool returns the tool that calls webhooks. It connects only to public addresses, unless AllowPrivate is set,
// and does not follow redirects.
func (c Config) triggerTool() (tool.Tool, error) {
	for name, t := range c.Triggers {
		if _, err := parse(t.URL); err != nil {
			return nil, fmt.Errorf("trigger %s: the URL is invalid", name)
		}
	}
	names := slices.Sorted(maps.Keys(c.Triggers))
	return tool.New(tool.Spec{
		Name:        "remote_trigger",
		Version:     "1.0.0",
		OpenWorld:   true,
		Permissions: []tool.Permission{tool.NetConnect},

		Description: "Call a webhook of the user with a JSON payload. Webhooks: " + strings.Join(names, ", ") + ".",

		SideEffects: "what the called service does",

		Input: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string"},"payload":{"description":"JSON to send"}},` +
				`"required":["name"],"additionalProperties":false}`,
		),
	}, func(_ context.Context, _ *tool.Call, in triggerIn) []policy.Access {
		if u, err := parse(c.Triggers[in.Name].URL); err == nil {
			return connects(u)
		}
		return []policy.Access{} // the call fails before it connects
	}, c.trigger), nil
}

func (c Config) trigger(ctx context.Context, _ *tool.Call, in triggerIn) (tool.Result, error) {
	t, ok := c.Triggers[in.Name]
	if !ok {
		return tool.Failure(
			tool.ValidationError,
			"Unknown webhook %q: use %s.", in.Name, strings.Join(slices.Sorted(maps.Keys(c.Triggers)), ", "),
		), nil
	}
	body := []byte(in.Payload)
	if len(body) == 0 {
		body = []byte("{}")
	}
	if len(body) > webhook.MaxBody {
		return tool.Failure(tool.TooLarge, "The payload is larger than %d KiB.", webhook.MaxBody>>10), nil
	}
	timed, cancel := context.WithDeadline(ctx, time.Now().Add(c.timeout))
	defer cancel()
	r, err := http.NewRequestWithContext(timed, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return tool.Result{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	t.Secret.Sign(r.Header, "msg_"+rand.Text(), time.Now(), body)
	client := c.client()
	client.CheckRedirect = stay
	resp, err := client.Do(r)
	if err != nil {
		return tool.Result{}, failed(err, r.URL.Host)
	}
	defer resp.Body.Close()
	answer, err := read(resp, maxReply, "The webhook was called.")
	if err != nil {
		return tool.Result{}, failed(err, r.URL.Host)
	}
	res := tool.Success("%s answered %s.\n%s", in.Name, resp.Status, strings.ToValidUTF8(string(answer), "�"))
	res.Fields = map[string]any{"status": resp.StatusCode}
	res.Notes = []string{note}
	if resp.StatusCode >= 300 {
		res.Error = tool.Errorf(tool.IOError, "The webhook %s was not accepted: %s.", in.Name, resp.Status)
	}
	return res, nil
}

// stay does not follow redirects.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
