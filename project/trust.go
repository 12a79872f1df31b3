package project

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/trust"
)

// Trust is who decides whether a project is trusted.
type Trust string

// Decisions about trust.
const (
	TrustRecorded Trust = ""    // what the user decided with `reins trust`
	TrustYes      Trust = "yes" // trusted for this use
	TrustNo       Trust = "no"  // not trusted for this use
)

// findTrust finds out whether the project is trusted. It reports whether earlier uses of the project have noted the
// files that are ignored.
func (p *Project) findTrust() (noted bool) {
	if p.options.Trust != TrustRecorded {
		p.Trusted = p.options.Trust == TrustYes
		return false
	}
	st, err := p.trustState(p.Dir)
	isNew := true
	if state, errState := p.State(); p.options.Once && err == nil && errState == nil {
		isNew, err = trust.Open(state.Trust()).Notice(st.Project)
		isNew = isNew || err != nil
		err = nil
	}
	if why := p.distrust(st, err); why != "" && (isNew || len(st.Changed) > 0) {
		p.notef(NoteTrust, "%s", why)
	}
	p.Trusted = st.Trusted
	return !isNew
}

func (m Machine) trustState(dir string) (trust.State, error) {
	state, err := m.State()
	if err != nil {
		return trust.State{}, err
	}
	return trust.Open(state.Trust()).State(dir)
}

// Distrust reports whether the user trusts a directory's project and, if not, which project files are ignored.
// They may be none.
func (m Machine) Distrust(dir string) (trusted bool, why string) {
	st, err := m.trustState(dir)
	return err == nil && st.Trusted, m.distrust(st, err)
}

// distrust returns which files of a project are ignored because it is not trusted, or "".
func (m Machine) distrust(st trust.State, err error) string {
	switch {
	case errors.Is(err, home.ErrNone), lost(err): // reported by what needs the directory
	case err != nil:
		return fmt.Sprintf("untrusted project: %v", err)
	case len(st.Changed) > 0:
		return show.Names(st.Changed) + ` changed since you trusted the project; it is untrusted until you run "reins trust" again`
	case !st.Trusted && len(st.Files) > 0:
		var names []string
		for _, f := range st.Files {
			if !m.ownFile(st.Root, f) {
				names = append(names, f.Path)
			}
		}
		if len(names) > 0 {
			return fmt.Sprintf(`untrusted project, ignoring %s; run "reins trust" to review it`, show.Names(names))
		}
	}
	return ""
}

// ownFile reports whether a project file is the user's own file for another agent, because the project is the home
// directory. It is used as such, whether or not the project is trusted.
func (m Machine) ownFile(root string, f trust.File) bool {
	top, _, _ := strings.Cut(f.Path, "/")
	home := m.getenv("HOME")
	return home != "" && realpath.Same(home, root) && slices.Contains([]string{".claude", ".codex", ".gemini", ".agents"}, top)
}
