package main

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPrintRequests_SizesAndShare(t *testing.T) {
	marked := `{"model":"m","messages":[{"a":1,"cache_control":{"type":"ephemeral"}}]}`
	next := `{"model":"m","messages":[{"a":1},{"b":"` + strings.Repeat("x", 952) + `"}]}`
	for _, c := range []struct {
		note, want string
		share      float64
		bodies     []string
	}{
		{"", "| pi | 2 | 1 | 0.1 | 1 | 2.04 |\n", 2.04, []string{marked, next}},
		{"not installed", "| pi | not installed | | | | |\n", 0, nil},
	} {
		var bodies [][]byte
		for _, b := range c.bodies {
			bodies = append(bodies, []byte(b))
		}
		var out strings.Builder
		share := printRequests(&out, "pi", c.note, bodies)
		if out.String() != c.want || share < c.share-0.01 || share > c.share+0.01 {
			t.Errorf("got %v and\n%swant %v and\n%s", share, out.String(), c.share, c.want)
		}
	}
}

func TestServer_KeepsBodiesIfAsked(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s := &server{keeps: keeps}
		s.play(script{1, "shell", object("command")}, nil)
		body := `{"tools":[{"name":"shell"}]}`
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/messages", strings.NewReader(body)))
		if got := string(s.taken()[0].body); (got == body) != keeps || !keeps && got != "" {
			t.Errorf("keeps %v: got the body %q", keeps, got)
		}
	}
}
