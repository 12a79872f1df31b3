package webhook

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func secret(t *testing.T) Secret {
	t.Helper()
	s, err := ParseSecret("a secret of more than 16 bytes")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The example in the Standard Webhooks libraries.
func TestSign_AgreesWithTheStandard(t *testing.T) {
	s, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	h, at, body := http.Header{}, time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	s.Sign(h, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body)
	if got, want := h.Get(HeaderSignature), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if id, err := s.Verify(h, body, at.Add(5*time.Minute)); err != nil || id != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
		t.Errorf("verified as %q, %v", id, err)
	}
	valid := h.Get(HeaderSignature)
	for _, list := range []string{"v1a,xyz v1,AAAA " + valid, valid + " v1,AAAA v1a,xyz"} {
		h.Set(HeaderSignature, list)
		if _, err := s.Verify(h, body, at); err != nil {
			t.Errorf("one of several signatures, %s: %v", list, err)
		}
	}
}

func TestParseSecret_RefusesWeakSecrets(t *testing.T) {
	for _, text := range []string{"", "short", "whsec_", "whsec_!!", "whsec_c2hvcnQ=", "whsec_MTIzNDU2Nzg5MDEyMzQ1"} {
		if _, err := ParseSecret(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	h := http.Header{}
	Secret{}.Sign(h, "id", time.Now(), nil)
	if _, err := (Secret{}).Verify(h, nil, time.Now()); err == nil {
		t.Error("a signature without a secret was accepted")
	}
}

// serve starts a receiver on this machine and returns its URL.
func serve(t *testing.T, r *Receiver) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go Serve(l, r)
	return "http://" + l.Addr().String()
}

// post sends a message and returns the status.
func post(t *testing.T, url, body string, sign func(h http.Header)) int {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	sign(q.Header)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestReceiver_AcceptsOnlySignedNewMessages(t *testing.T) {
	s, got := secret(t), []string{}
	other, _ := ParseSecret("another secret, also long enough")
	r := &Receiver{Secret: s, Deliver: func(id string, body []byte) error {
		if string(body) == "full" {
			return errors.New("closed")
		}
		got = append(got, id+" "+string(body))
		return nil
	}}
	r.Remember("before", time.Now())
	url := serve(t, r)
	with := func(s Secret, id string, at time.Time, body string) func(http.Header) {
		return func(h http.Header) { s.Sign(h, id, at, []byte(body)) }
	}
	now := time.Now()
	for i, c := range []struct {
		what string
		body string
		sign func(http.Header)
		want int
	}{
		{"valid", "one", with(s, "1", now, "one"), 202},
		{"replay", "one", with(s, "1", now, "one"), 409},
		{"replay with another time", "one", with(s, "1", now.Add(time.Second), "one"), 409},
		{"replay after a restart", "one", with(s, "before", now, "one"), 409},
		{"other secret", "one", with(other, "2", now, "one"), 401},
		{"other body", "changed", with(s, "3", now, "one"), 401},
		{"other id", "one", func(h http.Header) { s.Sign(h, "4", now, []byte("one")); h.Set(HeaderID, "5") }, 401},
		{"other time", "one", func(h http.Header) {
			s.Sign(h, "4", now.Add(-time.Hour), []byte("one"))
			h.Set(HeaderTimestamp, fmt.Sprint(now.Unix()))
		}, 401},
		{"old", "one", with(s, "6", now.Add(-5*time.Minute-3*time.Second), "one"), 401},
		{"from the future", "one", with(s, "7", now.Add(6*time.Minute), "one"), 401},
		{"no signature", "one", func(h http.Header) {}, 401},
		{"version 0", "one", func(h http.Header) {
			s.Sign(h, "8", now, []byte("one"))
			h.Set(HeaderSignature, "v0"+h.Get(HeaderSignature)[2:])
		}, 401},
		{"bad id", "one", with(s, "a b", now, "one"), 401},
		{"no id", "one", with(s, "", now, "one"), 401},
		{"largest", strings.Repeat("x", 64<<10), with(s, "9", now, strings.Repeat("x", 64<<10)), 202},
		{"too large", strings.Repeat("x", 64<<10+1), with(s, "10", now, strings.Repeat("x", 64<<10+1)), 413},
		{"not delivered", "full", with(s, "11", now, "full"), 503},
		{"again", "one", with(s, "11", now, "one"), 202},
	} {
		if got := post(t, url, c.body, c.sign); got != c.want {
			t.Errorf("%d, %s: status %d, want %d", i, c.what, got, c.want)
		}
	}
	if len(got) != 3 || got[0] != "1 one" {
		t.Errorf("%d messages were delivered, want 3", len(got))
	}
	if resp, err := http.Get(url); err != nil || resp.StatusCode != 405 {
		t.Errorf("GET: %v, %v, want 405", resp, err)
	} else {
		resp.Body.Close()
	}
}

// A message from a clock that is five minutes ahead is valid for ten minutes.
func TestReceiver_RemembersAMessageAsLongAsItIsValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, delivered := secret(t), 0
		r := &Receiver{Secret: s, Deliver: func(string, []byte) error { delivered++; return nil }}
		at := time.Now().Add(5 * time.Minute)
		var last int
		for range 13 {
			q, w := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")), httptest.NewRecorder()
			s.Sign(q.Header, "1", at, []byte("x"))
			r.ServeHTTP(w, q)
			last = w.Code
			time.Sleep(time.Minute)
		}
		if delivered != 1 || last != http.StatusUnauthorized {
			t.Errorf("delivered %d times, and the last answer is %d; want once and 401", delivered, last)
		}
	})
}

func TestReceiver_LimitsTheRate(t *testing.T) {
	s, n := secret(t), 0
	url := serve(t, &Receiver{Secret: s, Deliver: func(string, []byte) error { n++; return nil }})
	refused := 0
	for i := range 35 {
		if post(t, url, "x", func(h http.Header) { s.Sign(h, fmt.Sprint(i), time.Now(), []byte("x")) }) == 429 {
			refused++
		}
	}
	if n != 30 || refused != 5 {
		t.Errorf("%d delivered and %d refused, want 30 and 5", n, refused)
	}
}

// submit gives a message to a receiver and returns the status.
func submit(r *Receiver, id string) int {
	q, w := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")), httptest.NewRecorder()
	r.Secret.Sign(q.Header, id, time.Now(), []byte("x"))
	r.ServeHTTP(w, q)
	return w.Code
}

func TestReceiver_TheRateIsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Receiver{Secret: secret(t), Deliver: func(string, []byte) error { return nil }}
		for i := range 31 {
			if got, want := submit(r, fmt.Sprint(i)), http.StatusAccepted; got != want && i < 30 {
				t.Errorf("message %d: status %d, want %d", i, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := submit(r, "a-minute-later"); got != http.StatusTooManyRequests {
			t.Errorf("after a minute: status %d, want 429", got)
		}
		time.Sleep(time.Nanosecond)
		if got := submit(r, "more-than-a-minute-later"); got != http.StatusAccepted {
			t.Errorf("after more than a minute: status %d, want 202", got)
		}
	})
}

func TestReceiver_Handles16RequestsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := &Receiver{Secret: secret(t), Deliver: func(string, []byte) error { <-release; return nil }}
		status := make(chan int, 16)
		for i := range 16 {
			go func() { status <- submit(r, fmt.Sprint(i)) }()
		}
		synctest.Wait()
		if got := submit(r, "one-more"); got != http.StatusServiceUnavailable {
			t.Errorf("the 17th request: status %d, want 503", got)
		}
		close(release)
		for range 16 {
			if got := <-status; got != http.StatusAccepted {
				t.Errorf("one of 16 requests: status %d, want 202", got)
			}
		}
	})
}

// A sender that never finishes its body is disconnected.
func TestServe_SlowBody(t *testing.T) {
	defer func(d time.Duration) { bodyTime = d }(bodyTime)
	bodyTime = 50 * time.Millisecond
	s, delivered := secret(t), false
	url := serve(t, &Receiver{Secret: s, Deliver: func(string, []byte) error { delivered = true; return nil }})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h := http.Header{}
	s.Sign(h, "1", time.Now(), []byte("x"))
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n%s: 1\r\n%s: %s\r\n%s: %s\r\n\r\nx", HeaderID, HeaderTimestamp, h.Get(HeaderTimestamp), HeaderSignature, h.Get(HeaderSignature))
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := io.ReadAll(conn) // ends when the server closes the connection
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays open")
	}
	if delivered || strings.Contains(string(answer), " 202 ") {
		t.Errorf("an unfinished message was accepted: %s", answer)
	}
}
