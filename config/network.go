package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/reins-agent/reins/internal/hostproxy"
)

// Network is the set of hosts that commands can reach: none (""), all ("true"), or a comma-separated list. In a file it
// is true, false or a list of strings.
type Network string

// everywhere is the Network that permits everything.
const everywhere Network = "true"

// All reports whether all hosts can be reached.
func (n Network) All() bool { return n == everywhere }

// Hosts returns the list of hosts, or nil.
func (n Network) Hosts() []string {
	if n == "" || n.All() {
		return nil
	}
	return strings.Split(string(n), ",")
}

// value returns the network as a bool or a list.
func (n Network) value() any {
	if hosts := n.Hosts(); len(hosts) > 0 {
		return hosts
	}
	return n.All()
}

// String returns true, false, or the hosts with commas.
func (n Network) String() string {
	if n == "" {
		return "false"
	}
	return string(n)
}

// MarshalJSON encodes the network as in a file.
func (n Network) MarshalJSON() ([]byte, error) { return json.Marshal(n.value()) }

// UnmarshalTOML decodes true, false or a list of hosts.
func (n *Network) UnmarshalTOML(data []byte) error {
	var v struct{ N any }
	if err := toml.Unmarshal(append([]byte("N = "), data...), &v); err != nil {
		return err
	}
	return n.set(v.N)
}

// set sets the network to a bool or a list.
func (n *Network) set(v any) error {
	switch v := v.(type) {
	case bool:
		if *n = ""; v {
			*n = everywhere
		}
		return nil
	case []any:
		hosts := make([]string, len(v))
		for i, e := range v {
			switch hosts[i] = fmt.Sprint(e); hosts[i] {
			case "", string(everywhere): // must not become a Network that permits more than a list
				hosts[i] = strconv.Quote(hosts[i]) // quoted, it is not a valid host
			}
		}
		*n = Network(strings.Join(hosts, ","))
		return nil
	}
	return errors.New("sandbox.network must be " + networkForm)
}

const networkForm = "true, false or a list of hosts such as [\"github.com\", \"*.npmjs.org\"]"

// check returns an error for an invalid host list.
func (n Network) check() error {
	for _, host := range n.Hosts() {
		if err := hostproxy.Check(host); err != nil {
			return fmt.Errorf("sandbox.network: %w", err)
		}
	}
	return nil
}

var networkType = reflect.TypeFor[Network]()

// fitsNetwork reports whether a TOML value can be a network.
func fitsNetwork(kind unstable.Kind) bool { return kind == unstable.Bool || kind == unstable.Array }

// networkLiteral returns true, false or a list such as github.com,*.npmjs.org as TOML.
func networkLiteral(value string) string {
	if value == "true" || value == "false" || strings.HasPrefix(value, "[") {
		return value
	}
	hosts := strings.Split(value, ",")
	for i, h := range hosts {
		hosts[i] = quote(strings.TrimSpace(h))
	}
	return "[" + strings.Join(hosts, ", ") + "]"
}

// networkSchema describes the values of a network.
func networkSchema(about string) *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: about,
		AnyOf:       []*jsonschema.Schema{{Type: "boolean"}, {Type: "array", Items: &jsonschema.Schema{Type: "string"}}},
	}
}
