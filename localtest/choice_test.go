package localtest

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm/connect"
)

func (s *server) place(t testing.TB, name string) connect.Place {
	t.Helper()
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return connect.Place{Name: name, Port: n}
}

func TestLocal_ChoosesTheServerThatHasTheModel(t *testing.T) {
	other, err := start(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.stop()
	if err := other.create(model{name: "elsewhere", script: editing, template: full}); err != nil {
		t.Fatal(err)
	}
	search := connect.Search{Places: []connect.Place{other.place(t, "First"), shared.place(t, "Second")}}
	k, err := coding.Connect(t.Context(), "local", "edit", connect.Config{Search: search})
	if err != nil {
		t.Fatal(err)
	}
	if k.Server == nil || k.Server.BaseURL != shared.url("/v1") {
		t.Errorf("chose %+v, want the server at %s, which has the model", k.Server, shared.address)
	}
	_, err = coding.Connect(t.Context(), "local", "edot", connect.Config{Search: search})
	if err == nil {
		t.Fatal("got no error for a model that no server has")
	}
	for _, want := range []string{"edot", "edit", other.address, shared.address} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestLocal_ChoosesAModelWithTools(t *testing.T) {
	dir, _ := project(t)
	out := runReins(t, dir, "run", "--provider", "local", "--base-url", shared.url("/v1"), task)
	if strings.TrimSpace(out.stdout) != greeting || !strings.Contains(out.stderr, "text:latest") {
		t.Errorf("got %q, want the answer of text, the newest model with tools, and its name:\n%s", out.stdout, out.stderr)
	}
}
