package prefix

import "testing"

func TestShared_CountsRepeatedBytes(t *testing.T) {
	const head = `{"model":"m","tools":[{"name":"a"}],`
	for _, c := range []struct {
		name, body, next string
		same, all        int
	}{
		{"a message more", head + `"messages":[{"a":1}]}`, head + `"messages":[{"a":1},{"b":2}]}`, 43, 43},
		{"the last message continued", head + `"messages":[{"a":[1]}]}`, head + `"messages":[{"a":[1,2]}]}`, 43, 43},
		{"not continued in input", head + `"input":[{"a":[1]}]}`, head + `"input":[{"a":[1,2]}]}`, 43, 45},
		{"a message changed", head + `"messages":[{"a":1},{"b":2}]}`, head + `"messages":[{"a":1},{"c":2}]}`, 46, 51},
		{"a tool more", head + `"messages":[{"a":1}]}`, `{"model":"m","tools":[{"name":"a"},{"name":"b"}],"messages":[{"a":1}]}`, 0, 43},
		{
			"marks that move", head + `"messages":[{"a":1,"cache_control":{"type":"ephemeral","ttl":"1h"}}]}`,
			head + `"messages":[{"a":1},{"cache_control":{"type":"ephemeral"},"b":2}]}`, 43, 43,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if same, all := Of([]byte(c.body)).Shared(Of([]byte(c.next))); same != c.same || all != c.all {
				t.Errorf("got %d of %d bytes, want %d of %d", same, all, c.same, c.all)
			}
		})
	}
}

func TestShare_CountsAllRequestsButTheFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		bodies []string
		want   float64
	}{
		{"one request", []string{`{"messages":[1]}`}, 0},
		{"half is new", []string{`{"messages":[1]}`, `{"messages":[1,]}`}, 50}, // [1 of [1,]
		{"then all is new", []string{`{"messages":[1]}`, `{"messages":[1,]}`, `{"m":0,"messages":[1,22]}`}, 12.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bodies [][]byte
			for _, b := range c.bodies {
				bodies = append(bodies, []byte(b))
			}
			if got := Share(bodies); got != c.want {
				t.Errorf("got %v %%, want %v", got, c.want)
			}
		})
	}
}
