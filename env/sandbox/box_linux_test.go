package sandbox

import (
	"bytes"
	"io"
	"os"
	"testing"
)

func run(t *testing.T, b *Box, dir, line string) (string, int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	null, _ := os.Open(os.DevNull)
	defer null.Close()
	p, err := b.Start("/bin/sh", []string{"sh", "-c", line}, &os.ProcAttr{Dir: dir, Env: os.Environ(), Files: []*os.File{null, w, w}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	io.Copy(&out, r)
	st, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), st.ExitCode()
}

func TestBox_Tmp(t *testing.T) {
	ws, tmp := t.TempDir(), t.TempDir()
	os.MkdirAll(ws+"/.git/hooks", 0o755)
	os.WriteFile(ws+"/.git/config", nil, 0o644)
	b, err := New(Config{Mode: WorkspaceWrite, Dir: ws, Temp: tmp})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	t.Logf("%+v", b.Support())
	for _, line := range []string{"echo hi > a; cat a", "echo x > ../b", "ls -la", "echo > .git/hooks/x", "mv .git g", "mkdir .git/refs; echo", "mkdir .mcp.json/x", "rmdir .mcp.json", "mv .mcp.json y", "chmod 777 /etc/hostname", "touch /etc/hostname", "cat /proc/$PPID/environ | wc -c", "echo $PPID", "ip a || cat /proc/net/dev", "id; grep Cap /proc/self/status", "mount -t tmpfs x /mnt", "nosuchprogram", "kill -0 $PPID", "echo x > /dev/null; echo y > /dev/shm/x; ls /dev/pts"} {
		out, code := run(t, b, ws, line)
		t.Logf("%s → %d %s", line, code, out)
	}
	if _, err := b.Start("/nonexistent", []string{"x"}, &os.ProcAttr{Dir: ws, Files: []*os.File{os.Stdin, os.Stdin, os.Stdin}}); err == nil {
		t.Error("started")
	} else {
		t.Log(err)
	}
}
