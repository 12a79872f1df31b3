//go:build unix

package agent_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// asks configures a session in a directory whose only tool appends a line to a file, after approval.
func asks(t *testing.T, dir string, approve func(context.Context, tool.Request) (tool.Approval, error)) agent.Config {
	t.Helper()
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	store, err := filestore.New(filestore.Config{Dir: filepath.Join(dir, "sessions")})
	if err != nil {
		t.Fatal(err)
	}
	type in struct {
		Text string `json:"text"`
	}
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(_ context.Context, _ *tool.Call, _ in) []policy.Access {
		return []policy.Access{{Kind: policy.Write, Target: "/effects"}}
	}, func(_ context.Context, _ *tool.Call, v in) (tool.Result, error) {
		f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, v.Text)
		}
		return tool.Success("written"), err
	})
	c := agent.Config{
		ID: "asked", Client: llmtest.Play(llmtest.Call("write", `{"text":"once"}`), llmtest.Say("Done.")), Model: "m", Env: e,
		Tools: &tool.Registry{}, Store: store, Approve: approve, Owned: nil,
	}
	if err := c.Tools.Register(write); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestProcess_Asks is not a test: it is the process that asks, and waits until it is killed.
func TestProcess_Asks(t *testing.T) {
	dir := os.Getenv("REINS_TEST_ASKS")
	if dir == "" {
		return
	}
	s, err := agent.New(asks(t, dir, func(ctx context.Context, _ tool.Request) (tool.Approval, error) {
		fmt.Println("asked")
		<-ctx.Done()
		return tool.Approval{}, ctx.Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Submit(context.Background(), llm.Text{Text: "go"})
}

func TestProcess_ApprovalIsAnsweredInAnotherProcessAfterAKill(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestProcess_Asks$", "-test.v")
	cmd.Env = append(os.Environ(), "REINS_TEST_ASKS="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "asked"); {
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	c := asks(t, dir, agent.ApproveLater)
	c.Model = ""
	s, err := agent.Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pending := s.Pending()
	if len(pending) != 1 || pending[0].Name != "write" || string(pending[0].Arguments) != `{"text":"once"}` || s.State() != agent.AwaitingApproval {
		t.Fatalf("got %+v in state %s, want 1, [0].Name \"write\", [0].Arguments `{\"text\":\"once\"}`, state agent.AwaitingApproval", pending, s.State())
	}
	if err := s.Resolve(t.Context(), pending[0].ID, tool.Approval{Allow: true}); err != nil {
		t.Fatal(err)
	}
	s.Close() // and a third process acts on it
	c = asks(t, dir, nil)
	c.Client, c.Model = llmtest.Play(llmtest.Say("Done.")), ""
	if s, err = agent.Resume(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if out, err := s.Continue(t.Context()); err != nil || out.Text != "Done." {
		t.Errorf(`got %+v, %v, want no error, Text "Done."`, out, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "effects")); err != nil || string(b) != "once\n" {
		t.Errorf("the effect is %q, %v", b, err)
	}
}
