package coding

import (
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

// BenchmarkGuards compares sessions with and without redaction and the audit log: a command that prints 100 MB, and
// one that prints a line.
func BenchmarkGuards(b *testing.B) {
	for command, script := range map[string]string{
		"100MB": "yes 'ok   github.com/example/module/package 0.123s coverage: 81.2% of statements' | head -c 100000000",
		"line":  "echo done",
	} {
		for name, off := range map[string]bool{"plain": true, "guarded": false} {
			b.Run(command+"/"+name, func(b *testing.B) {
				turn := 0
				model := &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn {
					if turn++; turn%2 == 0 {
						return llmtest.Say("done")
					}
					return llmtest.Call("shell", `{"command":"`+script+`","timeout_ms":60000}`)
				}}
				s, err := Open(b.Context(), Config{
					Model: "m", Dir: b.TempDir(), State: b.TempDir(), Secrets: Secrets{Off: off, Vars: []string{"APP_SECRET=" + plantedVar}}, Audit: Audit{Off: off},
					Session: agent.Config{Client: model, Policy: policy.AllowAll{}},
				})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				for b.Loop() {
					if _, err := s.Submit(b.Context(), llm.Text{Text: "go"}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
