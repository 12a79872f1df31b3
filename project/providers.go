package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// entries returns the providers from the configuration, by name. Keys and headers are looked up when one is used.
func (p *Project) entries(known *llm.Catalogue) (list []connect.Entry) {
	for _, name := range slices.Sorted(maps.Keys(p.Settings.Providers)) {
		c := p.Settings.Providers[name]
		e := connect.Entry{
			Name:     name,
			BaseURL:  c.BaseURL,
			Protocol: c.Protocol,
			KeyFrom:  c.KeyEnv,
			Load:     p.credentials(c),
		}
		if c.KeyCommand != "" {
			e.KeyFrom = "key_command"
		}
		for _, m := range c.Models {
			e.Models = append(e.Models, catalogued(m, known))
		}
		list = append(list, e)
	}
	return list
}

// catalogued converts a model from the configuration to a catalogue entry. Values that the configuration omits, except
// prices, are taken from a known model with the same name.
func catalogued(m config.Model, known *llm.Catalogue) llm.Model {
	out, listed := known.Lookup("", m.ID)
	if !listed {
		out.Tools = true
	}
	out.ID, out.Aliases = m.ID, nil
	out.Freeform, out.Retired = false, false
	out.Ends, out.Price = "", nil
	out.Name = cmp.Or(m.Name, out.Name, m.ID)
	out.ContextWindow, out.MaxOutput = cmp.Or(int64(m.ContextWindow), out.ContextWindow), cmp.Or(int64(m.MaxOutput), out.MaxOutput)
	for _, b := range []struct {
		given *bool
		to    *bool
	}{{m.Vision, &out.Vision}, {m.Tools, &out.Tools}, {m.Reasoning, &out.Reasoning}} {
		if b.given != nil {
			*b.to = *b.given
		}
	}
	if !out.Reasoning {
		out.Thinking, out.Efforts = "", nil
	}
	if m.InputPrice != nil || m.OutputPrice != nil {
		out.Price = &llm.Price{Input: m.InputPrice, Output: m.OutputPrice, CacheRead: m.CacheReadPrice, CacheWrite: m.CacheWritePrice}
		if out.Price.CacheRead == nil {
			out.Price.CacheRead = m.InputPrice
		}
		if out.Price.CacheWrite == nil {
			out.Price.CacheWrite = m.InputPrice
		}
	}
	return out
}

// credentials returns a function that looks up the key and the headers of a provider, once.
func (m Machine) credentials(p config.Provider) func(context.Context) (string, http.Header, error) {
	var mu sync.Mutex
	var key string
	return func(ctx context.Context) (_ string, header http.Header, err error) {
		mu.Lock()
		defer mu.Unlock()
		if key == "" {
			if key, err = m.providerKey(ctx, p); err != nil {
				return "", nil, err
			}
		}
		header = http.Header{}
		for name, value := range p.Headers {
			if value, err = config.Expand(value, m.getenv); err != nil {
				return "", nil, fmt.Errorf("header %s: %w", name, err)
			}
			header.Set(name, value)
		}
		return key, header, nil
	}
}

func (m Machine) providerKey(ctx context.Context, p config.Provider) (string, error) {
	switch {
	case p.KeyEnv != "":
		key := strings.TrimSpace(m.getenv(p.KeyEnv))
		if key == "" {
			return "", fmt.Errorf("no key: set the environment variable %s", p.KeyEnv)
		}
		return key, nil
	case p.KeyCommand != "":
		return m.runKeyCommand(ctx, p.KeyCommand)
	}
	return "", nil
}

// runKeyCommand returns the key that a command from the user's configuration prints. The command may prompt the user.
func (m Machine) runKeyCommand(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], command)...)
	cmd.Stderr = m.Stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	key := strings.TrimSpace(string(out))
	switch {
	case err != nil:
		return "", fmt.Errorf("key_command failed: %w", err)
	case key == "" || strings.ContainsAny(key, "\r\n"):
		return "", errors.New("key_command must print the key, on one line")
	}
	return key, nil
}
