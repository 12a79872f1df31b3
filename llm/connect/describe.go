package connect

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// describe adds the server's description of a model: its window, and whether it supports tools, images and thinking.
// With load set, an Ollama server loads the model, because only then its window is known.
func (c Config) describe(ctx context.Context, p prober, srv Server, m *llm.Model, load bool) {
	for _, l := range srv.list {
		if l.ID == m.ID || l.ID == m.ID+":latest" {
			m.ContextWindow = max(l.MaxModelLen, l.Meta.Window, m.ContextWindow)
		}
	}
	root := strings.TrimSuffix(srv.BaseURL, "/v1")
	switch srv.Name {
	case ollama:
		c.describeOllama(ctx, p, root, m, load)
	case llamaCPP:
		describeLlama(ctx, p, root, m)
	case lmStudio:
		describeStudio(ctx, p, root, m)
	}
	if m.ContextWindow > 0 && m.MaxOutput == 0 && srv.Name != vLLM { // vLLM refuses a limit that may exceed the window
		m.MaxOutput = min(m.ContextWindow/2, 32_768)
	}
}

// describeOllama asks Ollama. Its window depends on server variables and machine memory, so that it is known only while
// the model is loaded.
func (c Config) describeOllama(ctx context.Context, p prober, root string, m *llm.Model, load bool) {
	var show struct {
		Capabilities []string
		Parameters   string
		RemoteHost   string         `json:"remote_host"`
		Info         map[string]any `json:"model_info"`
	}
	if p.ask(ctx, root+"/api/show", map[string]any{"model": m.ID}, &show) != nil {
		return
	}
	*m = llm.Model{ID: m.ID, Provider: m.Provider, Name: m.Name}
	for _, capability := range show.Capabilities {
		switch capability {
		case "tools":
			m.Tools = true
		case "vision":
			m.Vision = true
		case "thinking":
			m.Reasoning = true
		}
	}
	if show.RemoteHost != "" {
		architecture, _ := show.Info["general.architecture"].(string)
		window, _ := show.Info[architecture+".context_length"].(float64)
		m.ContextWindow = int64(window)
		return
	}
	if !load {
		return
	}
	if m.ContextWindow = loadedWindow(ctx, p, root, m.ID); m.ContextWindow == 0 {
		c.progress("loading " + m.ID)
		slow := p
		slow.timeout = c.localLimits().FirstByte
		if slow.ask(ctx, root+"/api/generate", map[string]any{"model": m.ID, "stream": false}, &struct{}{}) == nil {
			m.ContextWindow = loadedWindow(ctx, p, root, m.ID)
		}
	}
	if m.ContextWindow == 0 {
		m.ContextWindow = parameter(show.Parameters, "num_ctx")
	}
}

// loadedWindow returns the window Ollama has loaded a model with, or 0.
func loadedWindow(ctx context.Context, p prober, root, model string) int64 {
	var running struct {
		Models []struct {
			Name   string
			Window int64 `json:"context_length"`
		}
	}
	if p.ask(ctx, root+"/api/ps", nil, &running) != nil {
		return 0
	}
	for _, r := range running.Models {
		if r.Name == model || r.Name == model+":latest" {
			return r.Window
		}
	}
	return 0
}

// parameter returns a number from a Modelfile's parameters, one per line.
func parameter(text, name string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return max(n, 0)
		}
	}
	return 0
}

func describeLlama(ctx context.Context, p prober, root string, m *llm.Model) {
	var props struct {
		Settings struct {
			Window int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct{ Vision, Audio bool }
	}
	if p.ask(ctx, root+"/props?model="+url.QueryEscape(m.ID), nil, &props) == nil {
		m.Vision, m.Audio = props.Modalities.Vision, props.Modalities.Audio
		if props.Settings.Window > 0 {
			m.ContextWindow = props.Settings.Window
		}
	}
}

func describeStudio(ctx context.Context, p prober, root string, m *llm.Model) {
	var info struct {
		Type         string
		Window       int64 `json:"max_context_length"`
		Loaded       int64 `json:"loaded_context_length"`
		Capabilities []string
	}
	if p.ask(ctx, root+"/api/v0/models/"+m.ID, nil, &info) != nil {
		return
	}
	m.Vision, m.ContextWindow = info.Type == "vlm", info.Window
	if info.Loaded > 0 {
		m.ContextWindow = info.Loaded
	}
	m.Tools = info.Type != "embeddings"
	if info.Capabilities != nil {
		m.Tools = strings.Contains(strings.Join(info.Capabilities, " "), "tool_use")
	}
}
