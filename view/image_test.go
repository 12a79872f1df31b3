package view_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/view"
)

func TestImages_AreDescribedAndFoundInTheirRecord(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	plot := llm.Image{Media: llm.Media{Data: b.Bytes(), Name: "plot.png"}}
	broken := llm.Image{Media: llm.Media{Data: []byte("hello")}}
	far := llm.Image{Media: llm.Media{URL: "https://example.org/cat.png"}}
	said := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "look"}, far, plot, broken}}
	for _, data := range []event.Data{
		event.UserInput{Message: said},
		event.SteeringInjected{Source: event.SourceHost, Message: said},
		event.ToolCallEnd{ID: "c", Name: "read_file", Images: []llm.Image{far, plot, broken}},
	} {
		var s, read view.State
		r := event.Record{Seq: 7, Data: data}
		s.Apply(r)
		saved, err := json.Marshal(&s)
		if err != nil || json.Unmarshal(saved, &read) != nil {
			t.Fatal(err)
		}
		got := read.Item(0).Images
		want := []view.Image{
			{Record: 7, Index: 1, Name: "plot.png", Bytes: b.Len(), Width: 40, Height: 30},
			{Record: 7, Index: 2, Bytes: 5},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%T (-want +got):\n%s", data, d)
		}
		if !bytes.Equal(got[0].Data(r), b.Bytes()) || string(got[1].Data(r)) != "hello" {
			t.Errorf("%T: the data is not in the record", data)
		}
		if got[0].Data(event.Record{Seq: 8, Data: data}) != nil || (view.Image{Record: 7, Index: -1}).Data(r) != nil {
			t.Errorf("%T: another record has the data", data)
		}
	}
}
