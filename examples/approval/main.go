// Command approval serves a session over HTTP. Tool calls that need an approval wait for a request to /approve. If the
// process is killed, another one continues the session with the same ID, and the calls still wait.
//
//	approval SESSION ADDRESS
//
// It has no authentication, so it must listen on a loopback address only.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

func main() {
	ctx := context.Background()
	session, err := coding.OpenOrResume(ctx, os.Args[1], coding.Config{Session: agent.Config{Approve: agent.ApproveLater}})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /task", func(w http.ResponseWriter, r *http.Request) {
		out, err := session.Submit(ctx, llm.NewText(r.FormValue("task")))
		fmt.Fprintln(w, out.Status, out.Text, err)
	})
	http.HandleFunc("GET /pending", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(session.Pending())
	})
	http.HandleFunc("POST /approve/{call}", func(w http.ResponseWriter, r *http.Request) {
		if err := session.Resolve(ctx, r.PathValue("call"), tool.Approval{Allow: r.FormValue("allow") == "true"}); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		out, err := session.Continue(ctx)
		fmt.Fprintln(w, out.Status, out.Text, err)
	})
	log.Fatal(http.ListenAndServe(os.Args[2], http.NewCrossOriginProtection().Handler(http.DefaultServeMux)))
}
