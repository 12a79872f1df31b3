package bedrock

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// TestAttack_EndlessAnswerIsStopped repeats events without end. NUMBER is the event number.
func TestAttack_EndlessAnswerIsStopped(t *testing.T) {
	text := strings.Repeat("abcd", 1000)
	for _, tt := range []struct{ name, event, data string }{
		{"text", "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"TEXT"}}`},
		{"texts", "contentBlockDelta", `{"contentBlockIndex":NUMBER,"delta":{"text":""}}`},
		{"calls", "contentBlockStart", `{"contentBlockIndex":NUMBER,"start":{"toolUse":{"toolUseId":"NUMBER","name":"f"}}}`},
		{"signature", "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"TEXT"}}}`},
		{"redactions", "contentBlockDelta", `{"contentBlockIndex":NUMBER,"delta":{"reasoningContent":{"redactedContent":""}}}`},
	} {
		body, out := io.Pipe()
		go func() {
			var err error
			for n := 0; err == nil && n < 1<<20; n++ {
				data := strings.NewReplacer("NUMBER", strconv.Itoa(n), "TEXT", text).Replace(tt.data)
				_, err = fmt.Fprintf(out, "event: %s\ndata: %s\n\n", tt.event, data)
			}
			out.Close()
		}()
		a := wire.NewAssembler(Name, "m", nil)
		err := wire.Read(NewDialect(Config{}), wire.Answer{Status: 200, Body: body, Stream: true}, a)
		body.Close()
		if llm.KindOf(err) != llm.ErrMalformed || !strings.Contains(err.Error(), "larger than the limit of 8388608 bytes") {
			t.Errorf("%s: got %v, want an error about the limit", tt.name, err)
		}
	}
}
