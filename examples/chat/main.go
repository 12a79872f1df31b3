// Command chat serves a chat page. The page follows the session with server-sent events, and continues where it was after
// a lost connection or a restart.
//
//	chat SESSION ADDRESS
//
// It has no authentication, so it must listen on a loopback address only.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

const page = `<!doctype html><title>Chat</title><pre id=log style="white-space:pre-wrap"></pre><form><input name=text autofocus></form>
<script>
const log = document.getElementById('log'), form = document.forms[0], words = m => m.parts.map(p => p.text ?? '').join('') + '\n'
new EventSource('events').onmessage = e => {
  const r = JSON.parse(e.data)
  if (r.kind == 'USER_INPUT') log.append('> ' + words(r.data.message))
  if (r.kind == 'ASSISTANT_TEXT_END') log.append(words(r.data.message))
}
form.onsubmit = e => {
  e.preventDefault()
  fetch('say', {method: 'POST', body: new URLSearchParams(new FormData(form))})
  form.reset()
}
</script>`

func main() {
	session, err := coding.OpenOrResume(context.Background(), os.Args[1], coding.Config{})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) })
	http.HandleFunc("POST /say", func(w http.ResponseWriter, r *http.Request) {
		if _, err := session.Submit(context.Background(), llm.NewText(r.FormValue("text"))); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	http.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
		w.Header().Set("Content-Type", "text/event-stream")
		for rec, err := range session.Events(r.Context(), event.Seq(after)) {
			if data, _ := json.Marshal(rec); err == nil {
				fmt.Fprintf(w, "data: %s\n", data)
			}
			if rec.Seq > 0 {
				fmt.Fprintf(w, "id: %d\n", rec.Seq)
			}
			fmt.Fprintln(w)
			http.NewResponseController(w).Flush()
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[2], http.NewCrossOriginProtection().Handler(http.DefaultServeMux)))
}
