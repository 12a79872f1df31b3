package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/reins-agent/reins/env"
)

const (
	maxQueue   = 256                    // messages waiting for the server to read them
	maxInvalid = 100                    // messages that are not valid JSON
	maxErrors  = 4 << 10                // bytes of server error output to store
	exitTime   = 500 * time.Millisecond // how long a server may take to exit
)

// conn is a connection to a server process: JSON-RPC 2.0 over its standard input and output.
type conn struct {
	proc env.Process
	free context.CancelFunc // kills the process and its children
	out  chan []byte
	gone chan struct{} // closed when the connection has ended
	// notified is called with each notification. answers returns the result for a request from the server.
	notified func(method string, params json.RawMessage)
	answers  func(method string, params json.RawMessage) (any, *rpcError)

	frames  framer // used only by receive
	invalid int

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan reply
	errors  []byte // last bytes of error output
	err     error  // why the connection ended
}

type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// received is a message from the server.
type received struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	reply
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return clean(e.Message, 500) }

// Error codes of JSON-RPC and LSP.
const (
	codeNoMethod        = -32601
	codeContentModified = -32801
	codeServerCancelled = -32802
)

// dial starts a server process. It runs until the connection is closed.
func dial(
	e env.Environment,
	c env.Command,
	notified func(string, json.RawMessage),
	answers func(string, json.RawMessage) (any, *rpcError),
) (*conn, error) {
	k := &conn{
		out:     make(chan []byte, maxQueue),
		gone:    make(chan struct{}),
		waiting: make(map[int64]chan reply),

		notified: notified,
		answers:  answers,
	}
	var ctx context.Context
	ctx, k.free = context.WithCancel(context.Background())
	c.KeepStdin = true
	c.MaxOutput = 1
	c.OnOutput = k.receive
	proc, err := e.Start(ctx, c)
	if err != nil {
		k.free()
		return nil, err
	}
	k.proc = proc
	go k.send()
	go k.watch()
	return k, nil
}

// receive handles process output.
func (k *conn) receive(stream env.Stream, p []byte) {
	if stream == env.Stderr {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.errors = append(k.errors, p...)
		k.errors = k.errors[max(0, len(k.errors)-maxErrors):]
		return
	}
	if k.ended() != nil {
		return
	}
	if err := k.frames.write(p, k.message); err != nil {
		k.end(err)
	}
}

// message handles a message from the server.
func (k *conn) message(b []byte) {
	var m received
	if err := json.Unmarshal(b, &m); err != nil {
		if k.invalid++; k.invalid > maxInvalid {
			k.end(errors.New("the server sends messages that are not valid JSON"))
		}
		return
	}
	switch {
	case m.Method != "" && len(m.ID) > 0:
		answer := message{ID: m.ID}
		if answer.Result, answer.Error = k.answers(m.Method, m.Params); answer.Result == nil && answer.Error == nil {
			answer.Result = json.RawMessage("null")
		}
		k.post(answer)
	case m.Method != "":
		k.notified(m.Method, m.Params)
	default:
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			return
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if ch, ok := k.waiting[id]; ok {
			delete(k.waiting, id)
			ch <- m.reply
		}
	}
}

// post queues a message without waiting. If the queue is full, it ends the connection.
func (k *conn) post(m message) {
	b, err := encode(m)
	if err != nil {
		return
	}
	select {
	case k.out <- b:
	default:
		k.end(errors.New("the server does not read its input"))
	}
}

func encode(m message) ([]byte, error) {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return frame(b), nil
}

// send writes queued messages to the process.
func (k *conn) send() {
	for {
		select {
		case <-k.gone:
			return
		case b := <-k.out:
			if _, err := k.proc.Write(b); err != nil {
				return // the process has exited
			}
		}
	}
}

// watch waits for the process to exit.
func (k *conn) watch() {
	<-k.proc.Done()
	exit, _ := k.proc.Wait(context.Background())
	k.mu.Lock()
	said := strings.TrimSpace(string(k.errors))
	k.mu.Unlock()
	how := fmt.Sprintf("exited with code %d", exit.Code)
	if exit.Signal != "" {
		how = "was terminated by " + exit.Signal
	}
	if said = clean(said[strings.LastIndexByte(said, '\n')+1:], 300); said != "" {
		how += ": " + said
	}
	k.end(errors.New("the server " + how))
	k.proc.Release()
}

// end ends the connection and kills the process.
func (k *conn) end(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return
	}
	k.err = err
	close(k.gone)
	k.free()
}

// ended returns why the connection has ended, or nil.
func (k *conn) ended() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// notify sends a notification.
func (k *conn) notify(method string, params any) error {
	k.post(message{Method: method, Params: params})
	return k.ended()
}

// put queues a message. It waits while the queue is full.
func (k *conn) put(ctx context.Context, b []byte) error {
	select {
	case k.out <- b:
		return nil
	case <-k.gone:
		return k.ended()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call sends a request and decodes its result, unless result is nil. When ctx is done, it tells the server to cancel
// the request.
func (k *conn) call(ctx context.Context, method string, params, result any) error {
	ch := make(chan reply, 1)
	k.mu.Lock()
	k.last++
	id := k.last
	k.waiting[id] = ch
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.waiting, id)
	}()
	b, err := encode(message{ID: json.RawMessage(fmt.Sprint(id)), Method: method, Params: params})
	if err != nil {
		return err
	}
	if err := k.put(ctx, b); err != nil {
		return err
	}
	select {
	case r := <-ch:
		if r.Error != nil {
			return r.Error
		}
		if result == nil || len(r.Result) == 0 {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-k.gone:
		return k.ended()
	case <-ctx.Done():
		k.post(message{Method: "$/cancelRequest", Params: map[string]any{"id": id}})
		return context.Cause(ctx)
	}
}

// close asks the server to exit, kills it if it does not, and waits until it has exited.
func (k *conn) close() {
	ctx, cancel := context.WithTimeout(context.Background(), exitTime)
	defer cancel()
	if k.ended() == nil && k.call(ctx, "shutdown", nil, nil) == nil && k.notify("exit", nil) == nil {
		select {
		case <-k.proc.Done():
		case <-ctx.Done():
		}
	}
	k.end(errClosed)
	<-k.proc.Done()
}

var errClosed = errors.New("the language server was stopped")

// clean returns text from a server as one line, truncated and without control characters.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.TrimSpace(s)
}
