package cli

import (
	"net/http"

	"github.com/reins-agent/reins/config"
)

// parseHeaders parses the values of --header.
func parseHeaders(list []string) (http.Header, error) {
	if len(list) == 0 {
		return nil, nil
	}
	h := http.Header{}
	for _, text := range list {
		name, value, err := config.ParseHeader(text)
		if err != nil {
			return nil, usagef("--header: %w", err)
		}
		h.Add(name, value)
	}
	return h, nil
}

// announces reports whether to show a retry. While a server is loading, about one line a minute is enough.
func announces(loading bool, attempt int) bool { return !loading || attempt == 2 || attempt%12 == 0 }
