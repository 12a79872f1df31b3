package connect

import (
	"reflect"
	"testing"
	"time"
)

func TestSearch_Defaults(t *testing.T) {
	want := Search{
		Places:  []Place{{"Ollama", 11434}, {"llama.cpp", 8080}, {"LM Studio", 1234}, {"vLLM", 8000}},
		Timeout: 1000 * time.Millisecond,
	}
	if got := (Search{}).withDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestLocalLimits_Defaults(t *testing.T) {
	if got := (Config{}).localLimits().FirstByte; got != 15*time.Minute {
		t.Errorf("a local server has %v for its first byte, want 15 minutes", got)
	}
}
