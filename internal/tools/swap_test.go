package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// An arena has a path, "cur", that leads to a directory inside the workspace or to one outside.
type arena struct {
	*rig
	outside string
	folder  bool // "cur" is the directory inside itself, and a link only while it leads outside
}

const outsideText = "needle in a secret\n"

func newArena(t *testing.T, folder bool) *arena {
	a := &arena{rig: newRig(t, tools.Config{}), folder: folder}
	var err error
	if a.outside, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	a.restore()
	if folder {
		a.must(os.Rename(a.path("inside"), a.path("cur")))
	} else {
		a.link("inside", "cur")
	}
	return a
}

func (a *arena) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// restore resets the files outside.
func (a *arena) restore() {
	a.t.Helper()
	a.must(os.RemoveAll(a.outside))
	a.must(os.Mkdir(a.outside, 0o755))
	for _, name := range []string{"data.txt", "secret.txt"} {
		a.must(os.WriteFile(filepath.Join(a.outside, name), []byte(outsideText), 0o644))
	}
	if _, err := os.Stat(a.path("cur")); err != nil {
		a.write("inside/data.txt", "needle\n")
	}
}

// swap makes "cur" lead outside, or inside again.
func (a *arena) swap(out bool) error {
	if a.folder && !out {
		return a.replace("away")
	}
	target := "inside"
	if out {
		target = a.outside
	}
	if err := os.Symlink(target, a.path("next")); err != nil {
		return err
	}
	if !a.folder {
		return os.Rename(a.path("next"), a.path("cur"))
	}
	if err := os.Rename(a.path("cur"), a.path("away")); err != nil {
		return err
	}
	return a.replace("next")
}

// replace renames a file to "cur". A call may create a directory there meanwhile.
func (a *arena) replace(name string) (err error) {
	for range 100 {
		if err = os.RemoveAll(a.path("cur")); err != nil {
			continue
		}
		if err = os.Rename(a.path(name), a.path("cur")); err == nil {
			return nil
		}
	}
	return err
}

// leaked reports what a call read or changed outside.
func (a *arena) leaked(out tool.Outcome) string {
	a.t.Helper()
	if strings.Contains(out.Model+tool.String(out.Result.Output), "secret") {
		return "it read " + out.Model
	}
	entries, err := os.ReadDir(a.outside)
	a.must(err)
	if len(entries) != 2 {
		return "it changed the directory outside"
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(a.outside, e.Name()))
		a.must(err)
		if string(text) != outsideText {
			return "it changed " + e.Name() + " outside"
		}
	}
	return ""
}

// swapped are the calls that a swapped link could lead outside.
var swapped = []struct {
	name, tool string
	args       args
}{
	{"read", "read_file", args{"file_path": "cur/data.txt"}},
	{"grep", "grep", args{"pattern": "needle", "path": "cur"}},
	{"grep a file", "grep", args{"pattern": "needle", "path": "cur/data.txt"}},
	{"write", "write_file", args{"file_path": "cur/data.txt", "content": "needle\n"}},
	{"edit", "edit_file", args{"file_path": "cur/data.txt", "old_string": "needle", "new_string": "needle."}},
	{"patch", "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: cur/dir/new.txt\n+text\n*** End Patch\n"}},
	{"list", "list_dir", args{"path": "cur"}},
	{"glob", "glob", args{"pattern": "cur/*.txt"}},
	{"delete", "delete_file", args{"path": "cur/data.txt"}},
}

// judge allows or asks about what is inside, and denies the rest.
func (a *arena) judge(inside policy.Verdict) policy.Func {
	return func(_ context.Context, q policy.Query) policy.Decision {
		for _, access := range q.Accesses {
			if !q.Workspace.Paths.Within(q.Workspace.Dir, access.Target) {
				return policy.Decision{Verdict: policy.Deny, Rule: "outside"}
			}
		}
		return policy.Decision{Verdict: inside, Rule: "inside"}
	}
}

// swapAfterDecision swaps the link between the decision and the execution.
func (a *arena) swapAfterDecision() {
	judge := a.judge(policy.Allow)
	a.pipe.Policy = policy.Func(func(ctx context.Context, q policy.Query) policy.Decision {
		d := judge(ctx, q)
		a.must(a.swap(true))
		return d
	})
}

// swapWhileAsked swaps the link while an approval is pending.
func (a *arena) swapWhileAsked() {
	a.pipe.Policy = a.judge(policy.Ask)
	a.pipe.Approve = func(context.Context, tool.Request) (tool.Approval, error) {
		a.must(a.swap(true))
		return tool.Approval{Allow: true}, nil
	}
}

// undeclared is a tool that does not declare its accesses, so that its calls are not bound to them.
type undeclared struct{ tool.Tool }

func (undeclared) Access(context.Context, *tool.Call) []policy.Access { return nil }

// eachSwap runs f for each call, kind of swap, and moment of the swap.
func eachSwap(t *testing.T, f func(t *testing.T, a *arena, name string, arguments args)) {
	for _, folder := range []bool{false, true} {
		for moment, prepare := range map[string]func(*arena){"after decision": (*arena).swapAfterDecision, "while asked": (*arena).swapWhileAsked} {
			for _, c := range swapped {
				t.Run(moment+"/"+c.name+"/folder="+strconv.FormatBool(folder), func(t *testing.T) {
					a := newArena(t, folder)
					prepare(a)
					f(t, a, c.tool, c.args)
				})
			}
		}
	}
}

func TestSwap_LinkSwappedAfterTheDecisionLeadsNowhere(t *testing.T) {
	eachSwap(t, func(t *testing.T, a *arena, name string, arguments args) {
		out := a.run(name, arguments)
		if leak := a.leaked(out); leak != "" || out.OK() {
			t.Errorf("the call succeeded: %v; %s", out.OK(), leak)
		}
		if code := out.Result.Error.Code; code != tool.PermissionDenied {
			t.Errorf("the error is %s %q, want %s", code, out.Model, tool.PermissionDenied)
		}
	})
}

// The attack works on calls that are not bound, so the test above can fail.
func TestSwap_UnboundCallsLeak(t *testing.T) {
	eachSwap(t, func(t *testing.T, a *arena, name string, arguments args) {
		for _, other := range tools.New(tools.Config{}) {
			a.must(a.pipe.Registry.Register(undeclared{other}))
		}
		if leak := a.leaked(a.run(name, arguments)); leak == "" {
			t.Errorf("%s %v read and changed nothing outside, so this swap proves nothing", name, arguments)
		}
	})
}

// REINS_SWAP_TRIES=10000 repeats the races more often.
func TestSwap_RacesLeadNowhere(t *testing.T) {
	tries := thorough.Of(1000, 40)
	if n, err := strconv.Atoi(os.Getenv("REINS_SWAP_TRIES")); err == nil {
		tries = n
	}
	for _, folder := range []bool{false, true} {
		for _, asked := range []bool{false, true} {
			a := newArena(t, folder)
			a.pipe.Policy = a.judge(policy.Allow)
			if asked {
				a.pipe.Policy = a.judge(policy.Ask)
				a.pipe.Approve = func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
			}
			for _, c := range swapped[:6] { // those that leave the files in place
				t.Run(fmt.Sprintf("%s/folder=%v/asked=%v", c.name, folder, asked), func(t *testing.T) { a.race(t, c.tool, c.args, tries) })
			}
		}
	}
}

// race runs a call many times while the link is swapped.
func (a *arena) race(t *testing.T, name string, arguments args, tries int) {
	defer a.swapAlways()()
	done := 0
	for range tries {
		out := a.run(name, arguments)
		if leak := a.leaked(out); leak != "" {
			t.Fatal(leak)
		}
		if out.OK() {
			done++
		}
	}
	t.Logf("%d of %d calls succeeded", done, tries)
}

// swapAlways swaps the link again and again until stop is called.
func (a *arena) swapAlways() (stop func()) {
	quit, done := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for err == nil {
			select {
			case <-quit:
				done <- nil
				return
			default:
				if err = a.swap(true); err == nil {
					err = a.swap(false)
				}
			}
		}
		<-quit
		done <- err
	}()
	return func() {
		a.t.Helper()
		close(quit)
		a.must(<-done)
	}
}
