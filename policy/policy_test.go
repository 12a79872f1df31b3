package policy

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAskAll_AllowsOnlyWhatTouchesNothing(t *testing.T) {
	read := []Access{{Kind: Read, Target: "/repo/a"}}
	for name, c := range map[string]struct {
		accesses []Access
		mode     Mode
		want     Verdict
	}{
		"nothing":             {[]Access{}, ModeDontAsk, Allow},
		"undeclared":          {nil, ModeDefault, Ask},
		"reading":             {read, ModeAcceptEdits, Ask},
		"with all permitted":  {read, ModeBypass, Ask},
		"in mode dontAsk":     {read, ModeDontAsk, Deny},
		"undeclared, dontAsk": {nil, ModeDontAsk, Deny},
	} {
		d := AskAll{}.Decide(t.Context(), Query{Accesses: c.accesses, Mode: c.mode})
		if d.Verdict != c.want || d.Rule == "" || d.Code == "" || d.Reason == "" {
			t.Errorf("%s: got %+v, want %v with a rule, a code and a reason", name, d, c.want)
		}
		if asks := Asks(AskAll{}, c.mode); asks != (c.mode != ModeDontAsk) {
			t.Errorf("%s: Asks returns %v", name, asks)
		}
	}
}

func TestDecision_ZeroValueDenies(t *testing.T) {
	if (Decision{}).Verdict != Deny {
		t.Error("the zero decision does not deny")
	}
}

func TestDecision_JSONKeepsVerdictCodeRuleAndReason(t *testing.T) {
	want := Decision{Verdict: Ask, Code: "runs", Rule: "default", Reason: "runs: ls"}
	b, err := json.Marshal(want)
	if err != nil || string(b) != `{"verdict":"ask","code":"runs","rule":"default","reason":"runs: ls"}` {
		t.Fatalf("got %s (%v)", b, err)
	}
	var got Decision
	if err := json.Unmarshal(b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}

func TestVerdict_UnknownWordDenies(t *testing.T) {
	v := Allow
	if err := v.UnmarshalText([]byte("yes")); err == nil || v != Deny {
		t.Errorf("got %v (%v), want deny and an error", v, err)
	}
}
