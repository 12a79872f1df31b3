package feature

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// protocolCalls has each tool of the tool protocol with all its arguments, the tool that the call must reach, and part of
// what the model must read.
var protocolCalls = []struct{ name, args, own, want string }{
	{"list_dir", `{"path":".","ignore_globs":["*.md"]}`, "list_dir", "a.txt"},
	{"glob_file_search", `{"glob_pattern":"*.txt","target_directory":"."}`, "glob", "a.txt"},
	{"read_file", `{"path":"a.txt","offset":1,"limit":1}`, "read_file", "needle"},
	{"grep", `{"pattern":"NEEDLE","path":".","glob":"*.txt","multiline":false,"head_limit":5,"-i":true}`, "grep", "needle"},
	{"codebase_search", `{"query":"needle","target_directories":["."]}`, "codebase_search", "a.txt"},
	{"apply_patch", `{"patch_text":"*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch"}`, "apply_patch", "new.txt"},
	{"delete_file", `{"path":"new.txt"}`, "delete_file", "new.txt"},
	{"run_terminal_cmd", `{"command":"echo hello","is_background":false}`, "shell", "hello"},
	{"run_terminal_cmd", `{"command":"sleep 60","is_background":true}`, "shell", "Started in the background"},
	{"display", `{"content":"Halfway.","level":"progress","title":"Audit","thought":"because","evidence":["a.txt:1"]}`, "display", "shown"},
	{"read_lints", `{"paths":["a.txt"]}`, "read_lints", "No"},
	{"update_memory", `{"action":"create","title":"Port","knowledge_to_store":"It is 8080."}`, "update_memory", "id: "},
	{"update_memory", `{"action":"update","title":"Port","knowledge_to_store":"It is 8081.","existing_knowledge_id":"ID"}`, "update_memory", "Updated"},
}

func TestProtocol_EveryToolIsReachedByItsNameAndArguments(t *testing.T) {
	for provider, model := range map[string]string{"openai": "gpt-5.5", "anthropic": "claude-opus-5", "gemini": "gemini-3.8-flash", "chat": "gpt-oss-120b"} {
		for _, tier := range []coding.Tier{coding.CoreTier, coding.AllTiers} {
			t.Run(provider+"/"+string(tier), func(t *testing.T) {
				g := newOpenRig(t)
				if err := os.WriteFile(filepath.Join(g.dir, "a.txt"), []byte("needle\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				var outcomes []tool.Outcome
				g.model = &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
					if n >= len(protocolCalls) {
						return llmtest.Say("done")
					}
					c := protocolCalls[n]
					if strings.Contains(c.args, `"ID"`) {
						id, _ := outcomes[len(outcomes)-1].Result.Fields["id"].(string)
						c.args = strings.Replace(c.args, `"ID"`, `"`+id+`"`, 1)
					}
					return llmtest.Call(c.name, c.args)
				}}
				s := g.open(coding.Config{Provider: provider, Model: model, Tier: tier, Extensions: everything(""), Session: agent.Config{
					Policy: policy.AllowAll{}, // names and arguments are tested, not permissions
					Audit:  func(_, _ string, o tool.Outcome) { outcomes = append(outcomes, o) },
				}})
				if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
					t.Fatal(err)
				}
				for i, c := range protocolCalls {
					o := outcomes[i]
					if o.Tool != c.own || o.Result.Error != nil || !strings.Contains(o.Model, c.want) {
						t.Errorf("%s(%s): reached %q and returned %q, want %q and %q", c.name, c.args, o.Tool, o.Model, c.own, c.want)
					}
				}
				if out := run(t, s, g, "read_file", `{"path":"a.txt","colour":"red"}`); !strings.Contains(out, "colour") {
					t.Errorf("an unknown argument: %q", out)
				}
			})
		}
	}
}

// run makes the model call one more tool and returns what it reads.
func run(t *testing.T, s *agent.Session, g *openRig, name, args string) string {
	t.Helper()
	if !json.Valid([]byte(args)) {
		t.Fatal(args)
	}
	first := true
	g.model.Reply = func(int, *llm.Request) llmtest.Turn {
		if first {
			first = false
			return llmtest.Call(name, args)
		}
		return llmtest.Say("done")
	}
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	got := results(s)
	return got[len(got)-1]
}

// sdkCalls has tools of the agent SDK with their arguments, and the tool that each call must reach.
var sdkCalls = []struct{ name, args, own string }{
	{"Read", `{"file_path":"a.txt","offset":1,"limit":1}`, "read_file"},
	{"Write", `{"file_path":"b.txt","content":"x\n"}`, "write_file"},
	{"Edit", `{"file_path":"b.txt","old_string":"x","new_string":"y","replace_all":true}`, "edit_file"},
	{"Glob", `{"pattern":"*.txt","path":"."}`, "glob"},
	{"Grep", `{"pattern":"needle","path":".","glob":"*.txt","output_mode":"content"}`, "grep"},
	{"Bash", `{"command":"echo hello","timeout":5000,"description":"greet","run_in_background":false}`, "shell"},
	{"ToolSearch", `{"query":"notebook","max_results":2}`, "tool_search"},
	{"TaskCreate", `{"subject":"one","description":"d"}`, "task_create"},
	{"TaskList", `{"status":"pending"}`, "task_list"},
	{"TaskUpdate", `{"id":"task_1","status":"inProgress"}`, "task_update"},
	{"TaskGet", `{"id":"task_1"}`, "task_get"},
	{"TaskUpdate", `{"id":"task_1","status":"completed","output":"done"}`, "task_update"},
	{"Agent", `{"prompt":"look","description":"d","subagent_type":"Explore","name":"scout","maxTurns":3,"run_in_background":false}`, "spawn_agent"},
	{"TeamCreate", `{"name":"red","members":["scout"]}`, "team_create"},
	{"SendMessage", `{"to":"scout","message":"hello"}`, "send_message"},
	{"TeamDelete", `{"name":"red"}`, "team_delete"},
	{"TodoWrite", `{"todos":[{"content":"one","status":"in_progress","activeForm":"Doing one"}]}`, "todo_write"},
	{"NotebookEdit", `{"notebook_path":"n.ipynb","cell_id":"1","new_source":"x","edit_mode":"replace"}`, "notebook_edit"},
}

func TestSDK_ToolsAreReachedByTheirNamesAndArguments(t *testing.T) {
	g := newOpenRig(t)
	g.write(map[string]string{
		"a.txt":   "needle\n",
		"n.ipynb": `{"cells":[{"cell_type":"code","source":["y"],"metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":4}`,
	})
	var outcomes []tool.Outcome
	next := 0
	g.model = &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		if strings.HasSuffix(r.Messages[len(r.Messages)-1].Text(), "look") || next == len(sdkCalls) {
			return llmtest.Say("done")
		}
		next++
		return llmtest.Call(sdkCalls[next-1].name, sdkCalls[next-1].args)
	}}
	s := g.open(coding.Config{Model: "claude-opus-5", Provider: "anthropic", Session: agent.Config{
		Policy: policy.AllowAll{}, Subagents: agent.Subagents{Teams: true},
		Audit: func(_, who string, o tool.Outcome) {
			if who == "" {
				outcomes = append(outcomes, o)
			}
		},
	}})
	if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for i, c := range sdkCalls {
		if o := outcomes[i]; o.Tool != c.own || o.Result.Error != nil {
			t.Errorf("%s(%s): reached %q and returned %q, want %q", c.name, c.args, o.Tool, o.Model, c.own)
		}
	}
}
