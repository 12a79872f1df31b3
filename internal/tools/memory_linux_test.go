package tools_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// status reads a field of this process's memory, in bytes.
func status(t *testing.T, field string) int64 {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(s.Text(), field+": %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	t.Fatalf("there is no %s", field)
	return 0
}

// grows runs f and returns how much the memory of this process grew in the meantime.
func grows(t *testing.T, f func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err) // 5 forgets the peak so far
	}
	before := status(t, "VmRSS")
	f()
	return status(t, "VmHWM") - before
}

func TestShell_GigabyteOfOutputStaysOutOfMemory(t *testing.T) {
	r := newRig(t, tools.Config{DefaultTimeout: 5 * time.Minute})
	// The first use of the code takes memory too.
	closeOutput(r.run("shell", args{"command": "yes | head -c 200000"}).Result.Output)
	var out tool.Outcome
	var kept int64
	var head, tail string
	growth := grows(t, func() {
		out = r.run("shell", args{"command": "yes | head -c 1000000000"})
		reader := out.Result.Output.Open()
		defer reader.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := reader.Read(buf)
			if kept == 0 {
				head = string(buf[:min(n, 10)])
			}
			if n > 0 {
				tail = string(buf[max(0, n-10):n])
			}
			kept += int64(n)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Logf("memory grew by %.1f MB", float64(growth)/(1<<20))
	if growth > 16<<20 {
		t.Errorf("memory grew by %d MB", growth>>20)
	}
	// The limit is exact to within one block, and every byte is kept or counted.
	dropped, _ := out.Result.Fields["dropped_bytes"].(int64)
	if whole := 1_000_000_000 - dropped; !out.OK() || whole > 64<<20 || whole < 63<<20 || out.Result.Output.Len() != whole {
		t.Errorf("%+v, %v", out.Result.Error, out.Result.Fields)
	}
	gap := fmt.Sprintf("\n[... %d bytes of output were dropped ...]\n", dropped)
	if head != "y\ny\ny\ny\ny\n" || tail != head || kept != 1_000_000_000-dropped+int64(len(gap)) {
		t.Errorf("%d bytes are kept, from %q to %q", kept, head, tail)
	}
	// 30,000 characters are 15,000 lines and the marker's five; of those, 256 are left. The first line
	// reports the exit.
	lines := strings.Split(out.Model, "\n")
	if len(lines) != 258 || lines[129] != "[... 14749 lines omitted ...]" || lines[1] != "y" {
		t.Errorf("the model sees %d bytes, %d lines, %q in the middle", len(out.Model), len(lines), lines[min(129, len(lines)-1)])
	}
	closeOutput(out.Result.Output)
}

func TestShell_SingleLineOutputIsWholeAndCutForTheModel(t *testing.T) {
	r := newRig(t, tools.Config{DefaultTimeout: time.Minute})
	for _, size := range []int{100_000, 10_000_000} {
		growth := grows(t, func() {
			out := r.run("shell", args{"command": fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size)})
			defer closeOutput(out.Result.Output)
			want := fmt.Sprintf("%s\n\n[WARNING: Tool output was truncated. %d characters were removed from the middle. "+
				"The full output is available in the event stream. If you need to see specific parts, re-run the tool with more targeted parameters.]\n\n%[1]s",
				strings.Repeat("x", 15_000), size-30_000)
			if !out.OK() || !strings.HasSuffix(out.Model, " s]\n"+want) || out.Result.Output.Len() != int64(size) {
				t.Errorf("%d bytes: the model sees %d bytes of %d", size, len(out.Model), out.Result.Output.Len())
			}
		})
		if growth > 16<<20 {
			t.Errorf("memory grew by %d MB", growth>>20)
		}
	}
}

// closeOutput releases an output, as the host does after saving it.
func closeOutput(o tool.Output) {
	if c, ok := o.(io.Closer); ok {
		c.Close()
	}
}
