package project

import (
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/skill"
)

// FindSkills finds the user's skills and, if the project is trusted, its skills. It reads them once.
func (p *Project) FindSkills() (*skill.Registry, error) {
	if p.skills != nil {
		return p.skills, nil
	}
	dir, err := realpath.Dir(p.Dir)
	if err != nil {
		return nil, err
	}
	o := p.Skills()
	o.Paths, o.Dir = p.Settings.SkillPaths(), dir
	o.Disable = p.Settings.Skills.Disable
	if p.Trusted {
		o.Project = p.Root
	}
	p.skills = skill.Discover(o)
	return p.skills, nil
}
