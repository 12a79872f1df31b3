package protocol

import "testing"

func TestToolSight_FindsTheToolsAcrossWrites(t *testing.T) {
	const body = `{"model":"m","messages":[],"tools":[{"name":"shell"}]}`
	for cut := range len(body) {
		var t1 ToolSight
		_, _ = t1.Write([]byte(body[:cut]))
		_, _ = t1.Write([]byte(body[cut:]))
		if !t1.Seen {
			t.Errorf("tools not seen when split at %d", cut)
		}
	}
	var none ToolSight
	_, _ = none.Write([]byte(`{"tools":[]}`))
	if none.Seen {
		t.Error("saw tools in an empty list")
	}
}
