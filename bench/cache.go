package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/reins-agent/reins/internal/prefix"
)

// minShare is the limit of reins: the share of requests that must repeat the request before, in percent.
const minShare = 95

// cache measures each contestant's requests in one run. It reports whether reins is within its limit.
func (b bench) cache(ctx context.Context) (held bool, err error) {
	dir, err := os.MkdirTemp("", "reins-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	reins, err := build(ctx, dir, "reins", "github.com/reins-agent/reins/cmd/reins")
	if err != nil {
		return false, err
	}
	s, err := newServer()
	if err != nil {
		return false, err
	}
	defer s.http.Close()
	s.keeps = true
	held = true
	printRequestsHead(os.Stdout)
	for _, c := range b.selected(cacheContestants(reins)) {
		note, run := c.note, sample{}
		if note == "" {
			if run, err = measure(ctx, s, c, middle, b.verbose); err != nil {
				note = err.Error()
			}
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		share := printRequests(os.Stdout, c.name, note, run.bodies)
		held = held && (!strings.HasPrefix(c.name, "reins") || share >= minShare)
	}
	return held, nil
}

// cacheContestants returns what to measure with -cache.
func cacheContestants(reins string) []contestant {
	all := []contestant{
		reinsContestant(reins, "reins, Messages", "anthropic", "claude-sonnet-5-5"),
		reinsContestant(reins, "reins, Messages, lean", "anthropic", "claude-sonnet-5-5", "--tool-tier", "lean"),
		reinsContestant(reins, "reins, Responses", "openai", "gpt-6.1-sol"),
		reinsContestant(reins, "reins, Responses, lean", "openai", "gpt-6.1-sol", "--tool-tier", "lean"),
	}
	for _, c := range []contestant{
		pi("pi, Messages", "anthropic-messages", "claude-sonnet-5-5"),
		pi("pi, Responses", "openai-responses", "gpt-6.1-sol"),
	} {
		c.note = installed("pi")
		all = append(all, c)
	}
	return all
}

func printRequestsHead(w io.Writer) {
	fmt.Fprint(w, "| | requests | with cache_control | first request kB | sent in total kB | repeated % |\n|---|---|---|---|---|---|\n")
}

// printRequests prints a table row, and returns the share of the requests that repeats the previous request.
func printRequests(w io.Writer, name, note string, bodies [][]byte) (share float64) {
	if note != "" {
		fmt.Fprintf(w, "| %s | %s | | | | |\n", name, note)
		return 0
	}
	sent, marked := 0, 0
	for _, body := range bodies {
		sent += len(body)
		if bytes.Contains(body, []byte(`"cache_control":{"type":"ephemeral"`)) {
			marked++ // Claude models cache nothing without it
		}
	}
	share = prefix.Share(bodies)
	fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.0f | %.2f |\n",
		name, len(bodies), marked, float64(len(bodies[0]))/1000, float64(sent)/1000, share)
	return share
}
