package wire

import "github.com/reins-agent/reins/llm"

var Locate = locate

// Spent returns the tokens that the provider has counted, and whether that is final.
func (a *Assembler) Spent() (u llm.Usage, final bool) { return a.resp.Usage, a.counted }
