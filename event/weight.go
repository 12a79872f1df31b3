package event

import "github.com/reins-agent/reins/llm"

// weight is about how many bytes the data takes in memory, as far as it may be many.
func weight(d Data) int64 {
	switch d := d.(type) {
	case UserInput:
		return weightOf(d.Message)
	case TextEnd:
		return weightOf(d.Message)
	case SteeringQueued:
		return weightOf(d.Message)
	case SteeringInjected:
		return weightOf(d.Message)
	case Compaction:
		return weightOf(d.Messages...)
	case SessionEnd:
		return weightOf(d.Undelivered...)
	case Unknown:
		return int64(len(d.Raw))
	case ToolCallStart:
		return int64(len(d.Arguments))
	case ToolCallEnd:
		n := int64(len(d.Model))
		if d.Output != nil {
			n += d.Output.Len()
		}
		return n
	}
	return 0
}

func weightOf(messages ...llm.Message) int64 {
	n := 0
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				n += len(p.Text)
			case llm.Thinking:
				n += len(p.Text)
			case llm.ToolCall:
				n += len(p.Arguments)
			case llm.Image:
				n += len(p.Data)
			case llm.Audio:
				n += len(p.Data)
			case llm.Document:
				n += len(p.Data)
			}
		}
	}
	return int64(n)
}
