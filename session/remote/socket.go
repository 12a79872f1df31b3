package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/session"
)

// ErrNotRunning means that no process has the session open and can be reached.
var ErrNotRunning = errors.New("the session is not running")

const (
	socketName = "owner.sock"  // in the session's directory
	elsewhere  = "owner.where" // names the socket's directory, if the path would be too long
	maxPath    = 100           // bytes that every system accepts in a socket address
	shortName  = "reins-"      // prefix for short directory names
)

// Owner makes this process's session reachable for the same user's other processes, until it is closed.
type Owner struct {
	handle session.Handle
	server *Server
	http   *http.Server
	socket *socket
	served chan struct{}
}

// Share makes a session that is saved in a state directory reachable. Only the process that has the session open may
// share it: Share removes what an earlier owner left. A session without a directory there cannot be shared.
func Share(h session.Handle, d home.Dir) (*Owner, error) {
	s, err := listen(d.Session(h.ID()))
	if err != nil {
		return nil, fmt.Errorf("session %s cannot be reached by other processes: %w", h.ID(), err)
	}
	o := &Owner{handle: h, server: NewServer(h), socket: s, served: make(chan struct{})}
	o.http = &http.Server{
		Handler:           o.server,
		ReadHeaderTimeout: bodyTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	go func() {
		defer close(o.served)
		_ = o.http.Serve(known{s.Listener})
	}()
	return o, nil
}

// Close closes the session, and then the connections, so that clients see its last records and its end.
func (o *Owner) Close() error {
	const farewell = 3 * time.Second
	o.socket.remove() // before another process can open the session, whose socket has the same path
	err := o.handle.Close()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	failed := o.http.Shutdown(ctx)
	o.server.Close()
	if failed != nil {
		failed = o.http.Close()
	}
	<-o.served
	return errors.Join(err, failed)
}

// Attach connects to the process that has a session open. The error is [ErrNotRunning] if there is none.
func Attach(ctx context.Context, d home.Dir, id string) (session.Handle, error) {
	dir := d.Session(id)
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) },
		DisableCompression: true,
	}
	c, err := Connect(ctx, Config{URL: "http://session", HTTP: &http.Client{Transport: transport}, socket: true})
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, fs.ErrNotExist) || isRefused(err):
		return nil, fmt.Errorf("session %s: %w", id, ErrNotRunning)
	}
	return nil, err
}

// dial connects to a session's socket and checks who listens.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	path, err := find(dir)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// find returns a session's socket path.
func find(dir string) (string, error) {
	if path := filepath.Join(dir, socketName); len(path) <= maxPath {
		return path, nil
	}
	short, err := shortDir(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(short, socketName), checkPrivate(short)
}

// shortDir returns the directory that a session's directory names.
func shortDir(dir string) (string, error) {
	f, err := openPrivate(filepath.Join(dir, elsewhere))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, maxPath+1)
	n, err := f.Read(b)
	short := string(b[:max(n, 0)])
	if err != nil || n > maxPath || !filepath.IsAbs(short) || !strings.HasPrefix(filepath.Base(short), shortName) {
		return "", fmt.Errorf("%s does not name a directory: delete it", f.Name())
	}
	return short, nil
}

// socket is a listener and its files.
type socket struct {
	net.Listener
	path  string
	short string // the short directory, or ""
	named string // the file that names it
}

// listen opens a session's socket. The session directory must exist, and no other process may have the session open.
func listen(dir string) (*socket, error) {
	if err := checkPrivate(dir); err != nil {
		return nil, err
	}
	forget(dir)
	s := &socket{path: filepath.Join(dir, socketName)}
	if len(s.path) > maxPath {
		if err := s.moveTo(dir); err != nil {
			return nil, err
		}
	}
	l, err := listenUnix(s.path)
	if err != nil {
		s.remove()
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	s.Listener = l
	if info, err := os.Lstat(s.path); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		s.remove()
		return nil, errors.Join(fmt.Errorf("the socket %s is not private", s.path), err, l.Close())
	}
	return s, nil
}

// moveTo chooses a short directory, and names it in the session's directory.
func (s *socket) moveTo(dir string) (err error) {
	if s.short, err = os.MkdirTemp(shortTemp(), shortName); err != nil {
		return err
	}
	s.path, s.named = filepath.Join(s.short, socketName), filepath.Join(dir, elsewhere)
	f, err := os.OpenFile(s.named, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if err == nil {
		_, err = f.WriteString(s.short)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.remove()
	}
	return err
}

// shortTemp returns a directory for temporary files whose path is short.
func shortTemp() string {
	if dir := os.TempDir(); len(dir) < maxPath/2 {
		return dir
	}
	return "/tmp"
}

// remove removes the files.
func (s *socket) remove() {
	_ = os.Remove(s.path)
	if s.short != "" {
		_ = os.Remove(s.short)
		_ = os.Remove(s.named)
	}
}

// forget removes the files that a killed owner left.
func forget(dir string) {
	_ = os.Remove(filepath.Join(dir, socketName))
	if short, err := shortDir(dir); err == nil && checkPrivate(short) == nil {
		_ = os.Remove(filepath.Join(short, socketName))
		_ = os.Remove(short)
	}
	_ = os.Remove(filepath.Join(dir, elsewhere))
}

// known accepts only connections from the same user's processes that no agent started.
type known struct{ net.Listener }

// Accept implements [net.Listener].
func (l known) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if checkClient(conn) == nil {
			return conn, nil
		}
		conn.Close()
	}
}
