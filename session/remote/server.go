package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/reins-agent/reins/ask"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

const (
	maxBody    = 64 << 20         // of a request; inputs have images and documents
	bodyTime   = 30 * time.Second // to send a request
	writeTime  = 30 * time.Second // to read a response, or a record of the events
	heartbeat  = 15 * time.Second // between signs of life in a stream of events
	instanceID = "Reins-Instance"
	callID     = "Reins-Call"
	heardUntil = "Reins-Heard"     // the time of the last transient record after the last durable one
	repeatOf   = "Reins-Repeat-Of" // the instance that got the request before
)

// Server serves a session over HTTP. Slow clients never slow the session.
//
// It checks no access: put it after a listener or a handler that does.
type Server struct {
	handle   session.Handle
	mux      *http.ServeMux
	instance string
	calls    calls

	ctx  context.Context // cancelled by Close
	stop context.CancelFunc
}

// NewServer returns a server for a session. It does not close the handle.
func NewServer(h session.Handle) *Server {
	s := &Server{handle: h, mux: http.NewServeMux(), instance: rand.Text()}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.routes()
	return s
}

// Close ends all responses.
func (s *Server) Close() { s.stop() }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(instanceID, s.instance)
	s.mux.ServeHTTP(w, r)
}

// none is no argument or no result.
type none struct{}

// Arguments of methods that have more than one.
type (
	answerArgs struct {
		ID     string     `json:"id"`
		Answer ask.Answer `json:"answer"`
	}
	agentArgs struct {
		Name  string        `json:"name"`
		Input session.Input `json:"input"`
	}
	runArgs struct {
		Line string `json:"line"`
	}
	backgroundArgs struct {
		ID string `json:"id"`
	}
	withdrawArgs struct {
		Seq event.Seq `json:"seq"`
	}
)

func (s *Server) routes() {
	h := s.handle
	get(s, "info", h.Info)
	get(s, "snapshot", h.Snapshot)
	get(s, "wait", h.Wait)
	get(s, "queue", h.Queue)
	get(s, "questions", h.Questions)
	get(s, "agents", h.Agents)
	get(s, "commands", h.Commands)
	s.mux.HandleFunc("GET /events", s.events)
	s.mux.HandleFunc("GET /background", s.background)

	do(s, "submit", h.Submit)
	do(s, "steer", h.Steer)
	do(s, "follow-up", h.FollowUp)
	do(s, "continue", func(ctx context.Context, _ none) error { return h.Continue(ctx) })
	do(s, "interrupt", func(ctx context.Context, _ none) error { return h.Interrupt(ctx) })
	do(s, "requeue", h.Requeue)
	do(s, "withdraw", func(ctx context.Context, a withdrawArgs) error { return h.Withdraw(ctx, a.Seq) })
	do(s, "answer", func(ctx context.Context, a answerArgs) error { return h.Answer(ctx, a.ID, a.Answer) })
	do(s, "reconfigure", h.Reconfigure)
	post(s, "compact", func(ctx context.Context, _ none) (event.Compaction, error) { return h.Compact(ctx) })
	post(s, "undo", h.Undo)
	post(s, "redo", h.Redo)
	do(s, "agents/steer", func(ctx context.Context, a agentArgs) error { return h.SteerAgent(ctx, a.Name, a.Input) })
	do(s, "agents/stop", func(ctx context.Context, a agentArgs) error { return h.StopAgent(ctx, a.Name) })
	do(s, "background/stop", func(ctx context.Context, a backgroundArgs) error { return h.StopBackground(ctx, a.ID) })
	post(s, "run", func(ctx context.Context, a runArgs) (session.Result, error) { return h.Run(ctx, a.Line) })
	post(s, "complete", h.Complete)
}

// response is the body of all responses but events. A method can fail halfway, so it can have both a result and an error.
type response struct {
	Result any      `json:"result,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

// get adds a method that changes nothing.
func get[T any](s *Server, name string, f func(context.Context) (T, error)) {
	s.mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := s.within(r.Context())
		defer stop()
		result, err := f(ctx)
		respond(w, encode(result, err))
	})
}

// background reads a background command's output.
func (s *Server) background(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	offset, err := strconv.ParseInt(query.Get("offset"), 10, 64)
	if err != nil {
		refuse(w, err)
		return
	}
	ctx, stop := s.within(r.Context())
	defer stop()
	respond(w, encode(s.handle.ReadBackground(ctx, query.Get("id"), offset)))
}

// do adds a method that changes something and has no result.
func do[In any](s *Server, name string, f func(context.Context, In) error) {
	post(s, name, func(ctx context.Context, in In) (none, error) { return none{}, f(ctx, in) })
}

// post adds a method that changes something. A request that a client repeats after its connection was lost gets the
// response of the first.
func post[In, Out any](s *Server, name string, f func(context.Context, In) (Out, error)) {
	s.mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
		if before := r.Header.Get(repeatOf); before != "" && before != s.instance {
			respond(w, encode(none{}, ErrUnconfirmed))
			return
		}
		var in In
		if err := read(w, r, &in); err != nil {
			refuse(w, err)
			return
		}
		ctx, stop := s.within(r.Context())
		defer stop()
		b, err := s.calls.do(ctx, s.ctx, r.Header.Get(callID), func(ctx context.Context) []byte {
			out, err := f(ctx, in)
			return encode(out, err)
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		respond(w, b)
	})
}

// within returns a request's context, which Close cancels, too.
func (s *Server) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	undo := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { undo(); cancel() }
}

// read decodes the body of a request.
func read(w http.ResponseWriter, r *http.Request, in any) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil || len(b) == 0 {
		return err
	}
	return json.Unmarshal(b, in)
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), status)
}

func encode(result any, err error) []byte {
	b, failed := json.Marshal(response{result, newFailure(err)})
	if failed != nil {
		b, _ = json.Marshal(response{Error: &failure{Text: failed.Error()}})
	}
	return b
}

func respond(w http.ResponseWriter, b []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	_, _ = w.Write(b)
}
