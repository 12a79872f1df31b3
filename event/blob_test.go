package event

import (
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

func TestSave_ValuesOverTheLimitsGoIntoBlobs(t *testing.T) {
	result := func(size int) Data {
		return ToolCallEnd{ID: "c", Output: tool.Text(strings.Repeat("x", size)), Model: "x"}
	}
	input := func(size int) Data {
		return UserInput{Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Image{Media: llm.Media{MIME: "image/png", Data: make([]byte, size)}}}}}
	}
	for _, c := range []struct {
		name string
		data Data
		want int
	}{
		{"output of 64 KiB", result(65536), 0}, {"larger output", result(65537), 1},
		{"image of 4 KiB", input(4096), 0}, {"larger image", input(4097), 1},
	} {
		s := new(Memory)
		w, err := s.Create(t.Context(), Meta{ID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if err := Save(t.Context(), w, Record{Seq: 1, Data: c.data}); err != nil {
			t.Fatal(err)
		}
		for r, err := range s.Load(t.Context(), "a", 0) {
			if got := len(Blobs(r)); err != nil || got != c.want {
				t.Errorf("%s: %d blobs, want %d (%v)", c.name, got, c.want, err)
			}
		}
	}
}

// TestMedia_IsFoundInEveryKind fails when a kind is added that can hold media and mapMedia does not look there.
func TestMedia_IsFoundInEveryKind(t *testing.T) {
	total := 0
	for _, s := range sections() {
		v := reflect.New(reflect.TypeOf(s.data)).Elem()
		want := plant(v)
		total += want
		got := 0
		d, err := mapMedia(v.Interface().(Data), func(m llm.Media) (llm.Media, error) {
			got++
			m.URL = "found"
			return m, nil
		})
		if err != nil || got != want {
			t.Errorf("%s: mapMedia found %d of %d media: %v", s.data.kind(), got, want, err)
		}
		if reflect.DeepEqual(d, v.Interface()) != (want == 0) {
			t.Errorf("%s: mapMedia did not return the media it was given", s.data.kind())
		}
	}
	if total < 15 {
		t.Errorf("only %d media were planted", total)
	}
}

// plant puts media wherever a value can hold it, and returns how many.
func plant(v reflect.Value) int {
	media := llm.Media{MIME: "image/png", Data: []byte("x")}
	switch v.Interface().(type) {
	case llm.Message:
		parts := []llm.Part{llm.Image{Media: media}, llm.Audio{Media: media}, llm.Document{Media: media}, llm.ToolResult{Parts: []llm.Part{llm.Image{Media: media}}}}
		v.Set(reflect.ValueOf(llm.Message{Role: llm.RoleUser, Parts: parts}))
		return len(parts)
	case llm.Media:
		v.Set(reflect.ValueOf(media))
		return 1
	}
	n := 0
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				n += plant(f)
			}
		}
	case reflect.Slice:
		one := reflect.MakeSlice(v.Type(), 1, 1)
		if n = plant(one.Index(0)); n > 0 {
			v.Set(one)
		}
	case reflect.Pointer:
		one := reflect.New(v.Type().Elem())
		if n = plant(one.Elem()); n > 0 {
			v.Set(one)
		}
	}
	return n
}
