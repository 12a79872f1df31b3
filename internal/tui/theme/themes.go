package theme

import "github.com/reins-agent/reins/internal/tui/text"

// Names lists the built-in themes. "auto" is dark or light, as the terminal's background.
func Names() []string {
	return []string{"auto", "dark", "light", "dark-contrast", "light-contrast", "ansi"}
}

// Named returns a built-in theme. An unknown name is "auto".
func Named(name string, onDark bool, depth Depth) *Theme {
	t := &Theme{Name: name, Dark: onDark, Depth: depth}
	switch name {
	case "dark", "dark-contrast":
		t.Dark = true
	case "light", "light-contrast":
		t.Dark = false
	case "ansi":
		t.Depth = min(t.Depth, ANSI16)
	}
	for role := range text.Roles {
		c := light(role)
		if t.Dark {
			c = dark(role)
		}
		t.Looks[role] = Look{FG: rgb(c.fg), BG: rgb(c.bg), ANSI: c.ansi, Attr: c.attr}
	}
	if name == "dark-contrast" || name == "light-contrast" {
		t.contrast()
	}
	return t
}

// contrast makes text black or white where its color is not readable at 7:1.
func (t *Theme) contrast() {
	ink, ground := RGB{0, 0, 0}, RGB{255, 255, 255}
	if t.Dark {
		ink, ground = ground, ink
	}
	for i, look := range t.Looks {
		behind := ground
		if look.BG != nil {
			behind = *look.BG
		}
		if look.FG != nil && Contrast(*look.FG, behind) < 7 {
			t.Looks[i].FG = &ink
			if Contrast(ink, behind) < 7 {
				t.Looks[i].BG = nil
			}
		}
	}
}

func rgb(s string) *RGB {
	if s == "" {
		return nil
	}
	c, _ := parseColor(s)
	return &c
}

// color is a role's look in a built-in theme.
type color struct {
	fg, bg, ansi string
	attr         text.Attr
}

// dark returns a role's look on a dark background.
func dark(r text.Role) color {
	return [text.Roles]color{
		text.Dim:         {fg: "#a0a4ab", ansi: "37"},
		text.Accent:      {fg: "#7cc4ff", ansi: "96"},
		text.Success:     {fg: "#7fd88f", ansi: "92"},
		text.Warning:     {fg: "#f0c060", ansi: "93"},
		text.Failure:     {fg: "#ff9a94", ansi: "91"},
		text.User:        {fg: "#e8d5ff", ansi: "95"},
		text.Heading:     {fg: "#7cc4ff", ansi: "96", attr: text.Bold},
		text.Quote:       {fg: "#b8bdc6", ansi: "37", attr: text.Italic},
		text.Code:        {fg: "#f0b8a0", ansi: "93"},
		text.Link:        {fg: "#8ab8ff", ansi: "94"},
		text.Border:      {fg: "#9097a3", ansi: "37"},
		text.Selected:    {fg: "#ffffff", bg: "#2f4f78", ansi: "30;46"},
		text.Match:       {fg: "#1a1a1a", bg: "#f0c060", ansi: "30;43"},
		text.Added:       {fg: "#a8e6b0", bg: "#10301a", ansi: "32"},
		text.Removed:     {fg: "#ffb8b0", bg: "#3c1618", ansi: "31"},
		text.AddedWord:   {fg: "#e0ffe4", bg: "#1f5c33", ansi: "30;42"},
		text.RemovedWord: {fg: "#ffe4e0", bg: "#7a2a2e", ansi: "30;41"},
		text.Keyword:     {fg: "#d0a8ff", ansi: "95"},
		text.String:      {fg: "#a8d890", ansi: "92"},
		text.Number:      {fg: "#f0b070", ansi: "93"},
		text.Comment:     {fg: "#9aa5ae", ansi: "37", attr: text.Italic},
		text.Name:        {fg: "#80d0e8", ansi: "96"},
		text.Kind:        {fg: "#e8d080", ansi: "93"},
	}[r]
}

// light returns a role's look on a light background.
func light(r text.Role) color {
	return [text.Roles]color{
		text.Dim:         {fg: "#5a5f66", ansi: "90"},
		text.Accent:      {fg: "#00588f", ansi: "34"},
		text.Success:     {fg: "#1a6328", ansi: "32"},
		text.Warning:     {fg: "#7a4d00", ansi: "33"},
		text.Failure:     {fg: "#a8201a", ansi: "31"},
		text.User:        {fg: "#5a2d91", ansi: "35"},
		text.Heading:     {fg: "#00588f", ansi: "34", attr: text.Bold},
		text.Quote:       {fg: "#4d535b", ansi: "90", attr: text.Italic},
		text.Code:        {fg: "#8a3510", ansi: "31"},
		text.Link:        {fg: "#0b4fb3", ansi: "34"},
		text.Border:      {fg: "#5f656d", ansi: "90"},
		text.Selected:    {fg: "#000000", bg: "#c4dcf6", ansi: "30;46"},
		text.Match:       {fg: "#000000", bg: "#ffd75e", ansi: "30;43"},
		text.Added:       {fg: "#0f4a1c", bg: "#e0f6e4", ansi: "32"},
		text.Removed:     {fg: "#7c1512", bg: "#ffe6e4", ansi: "31"},
		text.AddedWord:   {fg: "#06310f", bg: "#a8e4b4", ansi: "30;42"},
		text.RemovedWord: {fg: "#560a08", bg: "#ffb9b3", ansi: "30;41"},
		text.Keyword:     {fg: "#6a2aa0", ansi: "35"},
		text.String:      {fg: "#1a6328", ansi: "32"},
		text.Number:      {fg: "#8a3f00", ansi: "33"},
		text.Comment:     {fg: "#565d66", ansi: "90", attr: text.Italic},
		text.Name:        {fg: "#005a70", ansi: "36"},
		text.Kind:        {fg: "#6a5000", ansi: "33"},
	}[r]
}
