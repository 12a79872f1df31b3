package step

import "testing"

func TestAmendment_SaysOnlyWhatChanged(t *testing.T) {
	const base = "Work well.\nToday is Monday.\nUse the tools.\nBe kind.\nAlways test what you have changed before you say that it is done.\n"
	for _, tt := range []struct{ name, old, now, want string }{
		{"added", base, base + "\nBe brief.", "Be brief."},
		{"removed", base + "\nBe brief.", base, "These instructions no longer apply:\n\nBe brief."},
		{"a line", base, "Work well.\nToday is Tuesday.\nUse the tools.\nBe kind.\nAlways test what you have changed before you say that it is done.\n",
			"These instructions no longer apply:\n\nToday is Monday.\n\nInstead:\n\nToday is Tuesday."},
		{"all", base, "Do nothing.", "Your instructions have changed. These replace all earlier instructions:\n\nDo nothing."},
		{"space", "a\n", "a", "Your instructions are the same as before."},
	} {
		if got := amendment(tt.old, tt.now); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
