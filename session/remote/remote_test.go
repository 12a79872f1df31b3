package remote_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/reins-agent/reins/internal/handletest"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/session/remote"
)

// serve returns a client of a server for a session. wrap may change the connections of the client.
func serve(t *testing.T, h session.Handle, wrap func(net.Conn) net.Conn) session.Handle {
	t.Helper()
	s := remote.NewServer(h)
	web := httptest.NewServer(s)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil || wrap == nil {
			return conn, err
		}
		return wrap(conn), nil
	}}
	c, err := remote.Connect(t.Context(), remote.Config{URL: web.URL, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
		web.Close()
	})
	return c
}

func TestClient(t *testing.T) {
	handletest.Run(t, func(t *testing.T, local *session.Local) session.Handle { return serve(t, local, nil) })
}

// short is a connection that is lost after some bytes were read.
type short struct {
	net.Conn
	left int
}

var errCut = errors.New("cut")

func (c *short) Read(b []byte) (int, error) {
	if c.left <= 0 {
		c.Conn.Close()
		return 0, errCut
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}

// cutting makes connections that are lost after ever more bytes, so that they are cut everywhere.
func cutting(from, step int) func(net.Conn) net.Conn {
	var mu sync.Mutex
	n := from
	return func(conn net.Conn) net.Conn {
		mu.Lock()
		defer mu.Unlock()
		n += step
		return &short{conn, n}
	}
}

func TestClient_LostConnectionsAreInvisible(t *testing.T) {
	handletest.Run(t, func(t *testing.T, local *session.Local) session.Handle { return serve(t, local, cutting(1500, 397)) })
}
