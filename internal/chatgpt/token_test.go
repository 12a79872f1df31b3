package chatgpt

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
)

// childVar makes the test binary get a token as another process would. Its value is a child in JSON.
const childVar = "TEST_CHATGPT_CHILD"

type child struct {
	Dir     string
	Service Service
	Now     time.Time
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVar); text != "" {
		var c child
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		a := &Account{Dir: c.Dir, Service: c.Service, now: func() time.Time { return c.Now }}
		fmt.Println("started")
		_, _ = io.ReadAll(os.Stdin)
		fmt.Println(a.Token(context.Background(), ""))
		return
	}
	os.Exit(m.Run())
}

// process starts a child. It gets a token when its input is closed.
func process(t *testing.T, a *Account) (cmd *exec.Cmd, in io.Closer, out *bufio.Scanner) {
	t.Helper()
	text, err := json.Marshal(child{a.Dir, a.Service, a.time()})
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(text), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewScanner(stdout)
	if !out.Scan() || out.Text() != "started" {
		t.Fatalf("the child says %q", out.Text())
	}
	return cmd, stdin, out
}

func TestToken_IsRefreshedShortlyBeforeItExpires(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	first := s.access
	for _, c := range []struct {
		wait     time.Duration
		refused  bool
		refreshs int
	}{
		{0, false, 0},
		{53 * time.Minute, false, 0},
		{90 * time.Second, false, 0},    // from 54:00 on OpenAI would allow it
		{45 * time.Second, false, 1},    // 55:15
		{10 * time.Second, false, 1},    // the new one
		{54 * time.Minute, true, 2},     // refused, and a refresh is allowed
		{90 * time.Minute, false, 3},    // expired
		{29 * 24 * time.Hour, false, 4}, // each refresh begins new 30 days
		{29 * 24 * time.Hour, false, 5},
	} {
		s.advance(c.wait)
		refused := ""
		if c.refused {
			refused = s.access
		}
		token, err := a.Token(t.Context(), refused)
		if err != nil || token != s.access || s.refreshs != c.refreshs {
			t.Fatalf("after %v: got %q, %v and %d refreshes, want %q and %d", c.wait, token, err, s.refreshs, s.access, c.refreshs)
		}
	}
	if s.access == first || content(t, a).RefreshToken != s.refresh {
		t.Errorf("saved %+v", content(t, a))
	}
	s.advance(31 * 24 * time.Hour)
	if _, err := a.Token(t.Context(), ""); llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), "has expired; run `reins login chatgpt` again") || s.refreshs != 5 {
		t.Errorf("got %v and %d refreshes", err, s.refreshs)
	}
}

// TestToken_IsNotRefreshedTooEarly: OpenAI answers invalid_grant and spends the refresh token.
func TestToken_IsNotRefreshedTooEarly(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	s.advance(30 * time.Minute)
	_, err := a.Token(t.Context(), s.access)
	if llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), "try again, or run `reins login chatgpt`") || s.refreshs != 0 {
		t.Errorf("got %v and %d refreshes", err, s.refreshs)
	}
	if token, err := a.Token(t.Context(), "older"); token != s.access || err != nil {
		t.Errorf("got %q, %v", token, err)
	}
}

func TestToken_ARefusedRefreshAsksToSignInAndRemovesNothingElse(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	before := content(t, a)
	s.spent = append(s.spent, s.refresh)
	s.advance(57 * time.Minute)
	if token, err := a.Token(t.Context(), ""); token != s.access || err != nil { // it is valid for three more minutes
		t.Errorf("got %q, %v", token, err)
	}
	s.advance(10 * time.Minute)
	for range 2 {
		_, err := a.Token(t.Context(), "")
		if llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), "run `reins login chatgpt` again") || s.refreshs != 1 {
			t.Errorf("got %v and %d refreshes", err, s.refreshs)
		}
		noSecrets(t, err.Error())
	}
	want := before
	want.RefreshToken = ""
	got := content(t, a)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("saved %+v, want %+v", got, want)
	}
	signIn(t, a)
	if got := s.seen[1].Get("client_id"); got != "oaiapp_1" {
		t.Errorf("signs in again as %s", got)
	}
}

func TestToken_AnUnavailableServerLosesNothing(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	before := content(t, a)
	s.advance(2 * time.Hour)
	s.onRefresh = func(w http.ResponseWriter) bool {
		s.spent = nil
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, `{"error":"temporarily_unavailable","echo":%q}`, s.refresh)
		return true
	}
	_, err := a.Token(t.Context(), "")
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrServer || !e.Retryable() {
		t.Errorf("got %v, want a retryable error", err)
	}
	noSecrets(t, err.Error())
	if got := content(t, a); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("saved %+v, want %+v", got, before)
	}
	s.onRefresh = nil
	if token, err := a.Token(t.Context(), ""); token != s.access || err != nil {
		t.Errorf("got %q, %v", token, err)
	}
	s.advance(2 * time.Hour)
	s.Close()
	if _, err = a.Token(t.Context(), ""); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("got %v, want a network error", err)
	}
	noSecrets(t, err.Error())
}

// TestToken_IsNotSpentIfItCannotBeSaved: the refresh token would be lost.
func TestToken_IsNotSpentIfItCannotBeSaved(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	s.advance(2 * time.Hour)
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	chmod(t, a.Dir, 0o500)
	if _, err := a.Token(t.Context(), ""); llm.KindOf(err) != llm.ErrConfiguration || s.refreshs != 0 {
		t.Errorf("got %v and %d refreshes", err, s.refreshs)
	}
}

func TestToken_OneOfManyProcessesRefreshes(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	s.advance(2 * time.Hour)
	const n = 5
	var ins []io.Closer
	var outs []*bufio.Scanner
	var cmds []*exec.Cmd
	for range n {
		cmd, in, out := process(t, a)
		cmds, ins, outs = append(cmds, cmd), append(ins, in), append(outs, out)
	}
	for _, in := range ins {
		in.Close()
	}
	for i, out := range outs {
		out.Scan()
		if err := cmds[i].Wait(); err != nil || out.Text() != s.access+" <nil>" {
			t.Errorf("process %d: got %q, %v, want %q", i, out.Text(), err, s.access)
		}
	}
	if s.refreshs != 1 {
		t.Errorf("%d processes sent %d refresh requests, want 1", n, s.refreshs)
	}
}

func TestToken_AProcessKilledBetweenRefreshAndSaveLeavesAUsableFile(t *testing.T) {
	s := startServer(t)
	a := s.account()
	signIn(t, a)
	before := content(t, a)
	s.advance(2 * time.Hour)
	cmd, in, _ := process(t, a)
	killed := make(chan struct{})
	s.mu.Lock()
	s.onRefresh = func(http.ResponseWriter) bool { // the token is spent, and no client gets the new one
		s.onRefresh = nil
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		close(killed)
		return true
	}
	s.mu.Unlock()
	in.Close()
	<-killed
	if got := content(t, a); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("saved %+v, want %+v", got, before)
	}
	_, err := a.Token(t.Context(), "")
	if llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), "(refresh_token_reused); run `reins login chatgpt` again") {
		t.Errorf("got %v", err)
	}
	signIn(t, a)
	if token, err := a.Token(t.Context(), ""); err != nil || token != s.access || s.seen[1].Get("client_id") != "oaiapp_1" {
		t.Errorf("after the new sign-in: %q, %v", token, err)
	}
}
