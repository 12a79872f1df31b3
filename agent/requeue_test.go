package agent

import (
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

func queued(s *Session) (texts []string, seqs []event.Seq) {
	for _, q := range s.Queue() {
		texts, seqs = append(texts, q.Message.Text()), append(seqs, q.Seq)
	}
	return texts, seqs
}

func TestRequeue_EditsAndReordersAsOneChange(t *testing.T) {
	s := open(t, llmtest.Play(), nil)
	for _, text := range []string{"one", "two", "three"} {
		if err := s.FollowUp(llm.Text{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	_, seqs := queued(s)
	if err := s.Requeue(Requeued{Seq: seqs[2]}, Requeued{Seq: seqs[0], Parts: []llm.Part{llm.Text{Text: "ONE"}}}, Requeued{Seq: seqs[1]}); err != nil {
		t.Fatal(err)
	}
	texts, seqs := queued(s)
	if len(texts) != 3 || texts[0] != "three" || texts[1] != "ONE" || texts[2] != "two" {
		t.Errorf("the queue is %q", texts)
	}
	last := s.Last()
	if err := s.Requeue(Requeued{Seq: seqs[0]}, Requeued{Seq: seqs[0]}); err == nil {
		t.Error("a message was queued twice")
	}
	if err := s.Requeue(Requeued{Seq: seqs[0]}, Requeued{Seq: 1}); err == nil || s.Last() != last {
		t.Errorf("got the error %v and %d new records for a message that is not waiting, want an error and no record", err, s.Last()-last)
	}
	if err := s.Requeue(Requeued{Seq: seqs[2], Now: true}); err != nil {
		t.Fatal(err)
	}
	if q := s.Queue(); len(q) != 3 || q[0].FollowUp || q[0].Message.Text() != "two" {
		t.Errorf("the queue is %+v, want the steering message first", q)
	}
}
