package webhook

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits for a Receiver.
const (
	MaxBody     = 64 << 10 // bytes
	MaxRate     = 30       // messages per minute
	maxInFlight = 16       // requests at the same time
)

// bodyTime is how long a sender may take to send a request.
var bodyTime = 10 * time.Second

// Receiver is an HTTP handler that accepts signed messages, each once.
type Receiver struct {
	Secret Secret
	// Deliver saves a message. It returns nil only after the message is saved.
	Deliver func(id string, body []byte) error

	mu       sync.Mutex
	seen     map[string]time.Time // IDs of messages, and until when to remember them
	accepted []time.Time          // times of messages in the last minute
	inFlight int
}

// Remember records that a message was already delivered, for example by an earlier process.
func (r *Receiver) Remember(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remember(id, at)
}

// remember records an ID; r.mu is held.
func (r *Receiver) remember(id string, now time.Time) {
	if r.seen == nil {
		r.seen = map[string]time.Time{}
	}
	r.seen[id] = now.Add(2*Tolerance + time.Minute)
}

// ServeHTTP implements [http.Handler]. It responds with 202 when a message is saved.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	status, err := r.receive(w, q)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	w.WriteHeader(status)
}

func (r *Receiver) receive(w http.ResponseWriter, q *http.Request) (int, error) {
	if q.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, errors.New("use POST")
	}
	if !r.enter() {
		return http.StatusServiceUnavailable, errors.New("too many requests at the same time")
	}
	defer r.leave()
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, errors.New("the body is too large")
	case err != nil:
		return http.StatusBadRequest, errors.New("cannot read the body")
	}
	now := time.Now()
	id, err := r.Secret.Verify(q.Header, body, now)
	if err != nil {
		return http.StatusUnauthorized, err
	}
	if status, err := r.admit(id, now); err != nil {
		return status, err
	}
	if err := r.Deliver(id, body); err != nil {
		r.forget(id)
		return http.StatusServiceUnavailable, errors.New("the session does not accept messages")
	}
	return http.StatusAccepted, nil
}

func (r *Receiver) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight++
	if r.inFlight > maxInFlight {
		r.inFlight--
		return false
	}
	return true
}

func (r *Receiver) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
}

// admit refuses messages that were accepted before, and messages beyond the rate limit.
func (r *Receiver) admit(id string, now time.Time) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for old, until := range r.seen {
		if now.After(until) {
			delete(r.seen, old)
		}
	}
	if _, again := r.seen[id]; again {
		return http.StatusConflict, errors.New("the message was already accepted")
	}
	for len(r.accepted) > 0 && now.Sub(r.accepted[0]) > time.Minute {
		r.accepted = r.accepted[1:]
	}
	if len(r.accepted) >= MaxRate {
		return http.StatusTooManyRequests, errors.New("too many messages; try again later")
	}
	r.accepted = append(r.accepted, now)
	r.remember(id, now)
	return 0, nil
}

// forget allows a message that was not delivered to be sent again.
func (r *Receiver) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, id)
}

// Serve serves a handler on a listener, with time limits for slow senders, until the listener is closed.
func Serve(l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: bodyTime,
		ReadTimeout:       bodyTime,
		WriteTimeout:      3 * bodyTime,
		IdleTimeout:       bodyTime,
		MaxHeaderBytes:    16 << 10,
	}
	s.SetKeepAlivesEnabled(false)
	return s.Serve(l)
}
