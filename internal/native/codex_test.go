//go:build unix

package native_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

func TestCodex_NamesParametersAndLimits(t *testing.T) {
	contract(t, coding.OpenAIFamily, [][2]string{
		{"exec_command", "cmd*:string justification:string login:boolean max_output_tokens:number prefix_rule:array " +
			"sandbox_permissions:string[use_default require_escalated] shell:string tty:boolean workdir:string yield_time_ms:number"},
		{"write_stdin", "chars:string max_output_tokens:number session_id*:number yield_time_ms:number"},
		{"update_plan", "explanation:string plan*:array(status*:string[pending in_progress completed] step*:string)"},
		{"apply_patch", "input*:string"},
		{"view_image", "path*:string"},
	}, map[string]int{"exec_command": 40_000, "write_stdin": 40_000, "apply_patch": 40_000})
}

// exited returns the first lines of output for a command that has ended.
func exited(code, tokens string) string {
	return "Chunk ID: HEX\nWall time: SECONDS\nProcess exited with code " + code + "\nOriginal token count: " + tokens + "\nOutput:\n"
}

func TestCodex_Outputs(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	r.write("sub/f", "")
	r.write("i.png", png)
	r.write("text", "x")
	plan := func(statuses ...string) args {
		var steps []any
		for _, s := range statuses {
			steps = append(steps, args{"step": "do it", "status": s})
		}
		return args{"plan": steps}
	}
	patch := "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
	r.golden([]step{
		{"success", "exec_command", args{"cmd": "echo out; echo err"}, exited("0", "2") + "out\nerr\n", ""},
		{"workdir", "exec_command", args{"cmd": "ls", "workdir": "sub"}, exited("0", "1") + "f\n", ""},
		{"empty", "exec_command", args{"cmd": "true"}, exited("0", "0"), ""},
		{"input is empty", "exec_command", args{"cmd": "cat"}, exited("0", "0"), ""},
		{"failed command", "exec_command", args{"cmd": "echo no; exit 3"}, exited("3", "1") + "no\n", ""},
		{"another shell", "exec_command", args{"cmd": "echo $0 \"it's\"", "shell": "sh", "login": false}, exited("0", "2") + "sh it's\n", ""},
		{"plain text", "exec_command", args{"cmd": "echo $TERM $PAGER $NO_COLOR"}, exited("0", "3") + "dumb cat 1\n", ""},
		{"truncation", "exec_command", args{"cmd": "for i in 1 2 3 4 5; do echo abcdefg; done", "max_output_tokens": 4},
			exited("0", "10") + "Warning: truncated output (original token count: 10)\nTotal output lines: 5\n\nabcdefg\n…6 tokens truncated…abcdefg\n", ""},
		{"error", "exec_command", args{"cmd": " "}, "exec_command failed for ` `: command is empty.", tool.ValidationError},
		{"no directory", "exec_command", args{"cmd": "ls", "workdir": "none"}, "exec_command failed for `ls`: File not found: none. Check the path, or search for the file by name.", tool.FileNotFound},
		{"bare patch", "exec_command", args{"cmd": patch}, "exec_command failed for `" + patch + "`: a patch is not a command. Call apply_patch with it.", tool.ValidationError},
		{"patch in a heredoc", "exec_command", args{"cmd": "apply_patch <<'EOF'\n" + strings.Replace(patch, ": a", ": b", 1) + "\nEOF\n"}, "Success. Updated the following files:\nA b\n", ""},
		{"unknown session", "write_stdin", args{"session_id": 99}, `write_stdin failed: No background process has the id "99"; the ids are 1, 2, 3, 4, 5, 6, 7, 8.`, tool.ProcessNotFound},

		{"patch", "apply_patch", args{"input": patch}, "Success. Updated the following files:\nA a\n", ""},
		{"order", "apply_patch", args{"input": "*** Begin Patch\n*** Delete File: b\n*** Update File: a\n-x\n+y\n*** Add File: c\n+z\n*** End Patch"}, "Success. Updated the following files:\nA c\nM a\nD b\n", ""},
		{"bad patch", "apply_patch", args{"input": "*** Begin Patch\n*** Delete File: none\n*** End Patch"}, "apply_patch verification failed: none (patch line 2) does not exist, so it cannot be updated or deleted; check the path. Nothing was changed.", tool.FileNotFound},
		{"plan", "update_plan", plan("completed", "in_progress", "pending"), "Plan updated", ""},
		{"two at once", "update_plan", plan("in_progress", "in_progress"), "2 items are in_progress; only one may be.", tool.ValidationError},
		{"image", "view_image", args{"path": "i.png"}, "", ""},
		{"no image", "view_image", args{"path": "text"}, "text is not a PNG, JPEG, GIF or WebP image.", tool.UnsupportedMedia},
		{"missing", "view_image", args{"path": "none"}, "File not found: none. Check the path, or search for the file by name.", tool.FileNotFound},
		{"no file", "view_image", args{"path": "sub"}, "sub is a directory. List it to see its contents, or pass the path of a file.", tool.NotAFile},
	})
	blind := r.call("view_image", args{"path": "i.png"})
	blind.Vision = false
	if out := r.pipe.Run(t.Context(), blind); out.OK() || !strings.Contains(out.Model, "this model cannot view images") {
		t.Errorf("a model without vision reads %q", out.Model)
	}
	if out := r.run("view_image", args{"path": "i.png"}); len(out.Result.Images) != 1 || out.Result.Images[0].Detail != "high" {
		t.Errorf("the images are %+v", out.Result.Images)
	}
}

func TestCodex_OutputIsLimitedToTenThousandTokens(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	for _, asked := range []int{0, 10_000, 90_000} {
		a := args{"cmd": "head -c 100000 /dev/zero | tr '\\0' x"}
		if asked > 0 {
			a["max_output_tokens"] = asked
		}
		out := r.run("exec_command", a)
		want := "Warning: truncated output (original token count: 25000)\nTotal output lines: 1\n\n" +
			strings.Repeat("x", 20_000) + "…15000 tokens truncated…" + strings.Repeat("x", 20_000)
		if _, body, _ := strings.Cut(out.Model, "Output:\n"); body != want {
			t.Errorf("%d tokens: the model reads %s", asked, short(out.Model))
		}
		if out.Result.Output.Len() != 100_000 {
			t.Errorf("the whole output has %d bytes", out.Result.Output.Len())
		}
	}
}

func TestCodex_CommandThatOutlivesTheYieldIsASession(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	out := r.run("exec_command", args{"cmd": "while read line; do echo got $line; done", "tty": true, "yield_time_ms": 1})
	if !strings.Contains(out.Model, "\nProcess running with session ID 1\n") {
		t.Fatalf("the model reads %q", out.Model)
	}
	all := ""
	for i := 0; i < 40 && !strings.Contains(all, "got x"); i++ {
		_, text, _ := strings.Cut(r.run("write_stdin", args{"session_id": 1, "chars": "x\n"}).Model, "Output:\n")
		all += text
	}
	if !strings.Contains(all, "got x") {
		t.Errorf("it printed %q", all)
	}
	state := ""
	for i := 0; i < 20 && !strings.Contains(state, "Process exited"); i++ {
		state = r.run("write_stdin", args{"session_id": 1, "chars": "\x03", "yield_time_ms": 1000}).Model
	}
	if !strings.Contains(state, "Process exited with code ") {
		t.Errorf("after the interrupt: %q", state)
	}
}

func TestCodex_SessionWithoutATerminalRefusesInputButCanBeInterrupted(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	r.run("exec_command", args{"cmd": "exec sleep 600", "yield_time_ms": 250})
	if out := r.run("write_stdin", args{"session_id": 1, "chars": "x"}); out.OK() || !strings.Contains(out.Model, "tty=true") {
		t.Errorf("input gives %q", out.Model)
	}
	if out := r.run("write_stdin", args{"session_id": 1, "chars": "\x03"}); !strings.Contains(out.Model, "Process exited with code ") {
		t.Errorf("the interrupt gives %q", out.Model)
	}
}

func TestCodex_InterruptedCallLeavesNoProcess(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan tool.Outcome)
	call := r.call("exec_command", args{"cmd": "touch started; exec sleep 600", "yield_time_ms": 30_000})
	go func() { done <- r.pipe.Run(ctx, call) }()
	awaitFile(t, filepath.Join(r.dir, "started"))
	cancel()
	if out := <-done; out.OK() || out.Result.Error.Code != tool.Cancelled {
		t.Errorf("the call gave %+v", out.Result.Error)
	}
	if out := r.run("write_stdin", args{"session_id": 1}); !strings.Contains(out.Model, "Process exited") {
		t.Errorf("afterwards: %q", out.Model)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not appear", path)
}

func TestCodex_CallsDeclareTheirAccesses(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	r.declares("exec_command", args{"cmd": "make"}, "exec make")
	r.declares("exec_command", args{"cmd": "make", "shell": "/tmp/sh"}, "exec '/tmp/sh' -lc 'make'")
	r.declares("write_stdin", args{"session_id": 1, "chars": "yes\n"}, "input process 1: yes\n")
	r.declares("view_image", args{"path": "i.png"}, "read DIR/i.png")
	patch := "*** Begin Patch\n*** Delete File: b\n*** End Patch"
	r.declares("apply_patch", args{"input": patch}, "delete DIR/b")
	r.declares("exec_command", args{"cmd": "apply_patch <<EOF\n" + patch + "\nEOF"}, "delete DIR/b")
	// A command that only looks like a patch stays a command.
	for _, cmd := range []string{"apply_patch <<EOF\n" + patch + "\nEOF\nrm -rf x\nEOF", "apply_patch <<EOF\n" + patch + "\nEOF\nrm -rf x"} {
		r.declares("exec_command", args{"cmd": cmd}, "exec "+cmd)
	}
}

func TestCodex_PatchIsFreeformForModelsThatSupportIt(t *testing.T) {
	for model, want := range map[string]bool{"gpt-5.5": true, "gpt-4.1": false} {
		reg, err := coding.NewProfile(coding.ProfileConfig{Provider: "openai", Model: model, Toolset: coding.Native}).Registry()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range reg.Specs() {
			if s.Name == "apply_patch" && (s.Freeform != nil) != want {
				t.Errorf("%s: freeform is %v", model, !want)
			}
		}
		if got := string(reg.Arguments(llm.ToolCall{Name: "apply_patch", Arguments: "x", Custom: true})); want && got != `{"input":"x"}` {
			t.Errorf("the text arrives as %s", got)
		}
	}
}
