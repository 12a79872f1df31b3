package step

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

const (
	maxTeams   = 100
	maxMembers = 100
	maxLetters = 1_000  // undelivered, per agent
	maxReport  = 20_000 // characters in a subagent's result
)

// letter is a message for an agent that is not in its conversation yet. Its number is the Mail or SubagentEnd record's.
type letter struct {
	seq    event.Seq
	source event.Source
	about  string // the subagent that a report is about
	text   string
}

// post puts mail into its recipients' inboxes. Recipients are found by name, because they may not exist yet.
func (t *Tree) post(seq event.Seq, d event.Mail) {
	for _, name := range d.To {
		t.put(name, letter{seq: seq, source: event.SourceMail, text: mailText(d)})
	}
}

func (t *Tree) put(name string, l letter) {
	if t.inbox == nil {
		t.inbox = make(map[string][]letter)
	}
	t.inbox[name] = append(slices.Clip(t.inbox[name]), l)
}

// take removes the last matching letter to an agent.
func (t *Tree) take(agent string, match func(letter) bool) {
	name := t.Name(agent)
	for i, l := range slices.Backward(t.inbox[name]) {
		if match(l) {
			t.inbox[name] = slices.Delete(slices.Clone(t.inbox[name]), i, i+1)
			return
		}
	}
}

// reported puts a subagent's result into its parent's inbox.
func (t *Tree) reported(r event.Record, d event.SubagentEnd) {
	if !t.Agent(r.Agent).setup.Rules.Reports || d.Status != event.SubagentCompleted && d.Status != event.SubagentFailed {
		return
	}
	text := fmt.Sprintf("Agent %s completed its task.", t.Name(d.ID))
	if d.Status == event.SubagentFailed {
		text = fmt.Sprintf("Agent %s did not complete its task: %s", t.Name(d.ID), cmp.Or(d.Reason, string(d.Status)))
	}
	if d.Output != "" {
		text += "\n\n" + compact.Condense(d.Output, maxReport)
	}
	t.put(t.Name(r.Agent), letter{r.Seq, event.SourceReport, d.ID, text})
}

// mail returns the agent's messages that are not in its conversation.
func (s *State) mail() []letter { return s.tree.inbox[s.tree.Name(s.path)] }

// Waiting returns how many messages and reports from other agents are not in the conversation yet.
func (s *State) Waiting() int { return len(s.mail()) }

// deliver returns the record that adds the next message to the conversation.
func (s *State) deliver() event.SteeringInjected {
	l := s.mail()[0]
	return event.SteeringInjected{Message: llm.UserText(l.text), Source: l.source, Queued: l.seq}
}

// mailText returns a message as its recipient sees it.
func mailText(d event.Mail) string {
	head := fmt.Sprintf("Message from agent %s (team %s)", d.From, d.Team)
	answer := " Answer with send_message, type %s."
	switch d.Type {
	case event.MailShutdownRequest:
		head += ": it asks you to finish your work." + fmt.Sprintf(answer, event.MailShutdownResponse)
	case event.MailPlanRequest:
		head += ": it asks you to approve a plan." + fmt.Sprintf(answer, event.MailPlanResponse)
	case event.MailShutdownResponse, event.MailPlanResponse:
		verb := "refused"
		if d.Approve {
			verb = "approved"
		}
		head += fmt.Sprintf(": %s, %s.", d.Type, verb)
	}
	return strings.TrimSpace(head + "\n\n" + d.Content)
}

// Teams lists the teams in order of creation.
func (t *Tree) Teams() []event.Team { return t.board.teams }

func (b *board) team(name string) int {
	return slices.IndexFunc(b.teams, func(d event.Team) bool { return d.Name == name })
}

// applyTeam applies a change. Disbanded teams stay unchanged.
func (b *board) applyTeam(d event.Team) {
	b.teams = slices.Clone(b.teams)
	switch i := b.team(d.Name); {
	case i < 0:
		b.teams = append(b.teams, d)
	case b.teams[i].Status == event.TeamActive:
		b.teams[i] = d
	}
}

// NewTeam returns the record for a new team. The agent that creates it leads it. The members are agents below it, or
// names for future agents if the agent is the root.
func (t *Tree) NewTeam(agent, name string, members []string) (event.Team, error) {
	d := event.Team{Name: name, Status: event.TeamActive, Members: []event.Member{{Name: t.Name(agent), Role: event.RoleLeader}}}
	if err := validName(name); err != nil {
		return d, err
	}
	switch {
	case t.board.team(name) >= 0:
		return d, fmt.Errorf("a team %q already exists", name)
	case len(t.board.teams) >= maxTeams:
		return d, fmt.Errorf("the limit of %d teams is reached", maxTeams)
	case len(members) > maxMembers:
		return d, fmt.Errorf("a team has at most %d members", maxMembers)
	}
	for _, m := range members {
		m, err := t.recruit(agent, m)
		if err != nil {
			return d, err
		}
		if role(d, m) == "" {
			d.Members = append(d.Members, event.Member{Name: m, Role: event.RoleMember})
		}
	}
	if len(d.Members) == 1 {
		return d, errors.New("a team needs at least one other member")
	}
	return d, nil
}

// Join returns the record for a team with one more member. Only an agent that leads the team, or is above its leader,
// can add members.
func (t *Tree) Join(agent, team, member string) (event.Team, error) {
	i := t.board.team(team)
	if i < 0 || t.board.teams[i].Status != event.TeamActive {
		return event.Team{}, fmt.Errorf("there is no active team %q: create it with team_create", team)
	}
	d := t.board.teams[i]
	switch {
	case !t.commands(agent, d.Members[0].Name):
		return d, fmt.Errorf("only %s can add members to team %s", d.Members[0].Name, team)
	case role(d, member) != "":
		return d, nil
	case len(d.Members) > maxMembers:
		return d, fmt.Errorf("a team has at most %d members", maxMembers)
	}
	d.Members = append(slices.Clip(d.Members), event.Member{Name: member, Role: event.RoleMember})
	return d, nil
}

// recruit returns a member's name for an agent's team.
func (t *Tree) recruit(agent, name string) (string, error) {
	path, exists := t.Find(name)
	switch {
	case exists && t.commands(agent, name):
		return t.Name(path), nil
	case exists || agent != "":
		return "", fmt.Errorf("%s is not one of your agents", name)
	}
	return name, validName(name)
}

// role returns an agent's role in a team; "" if it is not a member.
func role(d event.Team, name string) event.TeamRole {
	for _, m := range d.Members {
		if m.Name == name {
			return m.Role
		}
	}
	return ""
}

// Disband returns the record that disbands a team. Only its leader and the agents above can do that.
func (t *Tree) Disband(agent, name string) (event.Team, error) {
	i := t.board.team(name)
	if i < 0 {
		return event.Team{}, fmt.Errorf("unknown team %q", name)
	}
	d := t.board.teams[i]
	switch {
	case d.Status != event.TeamActive:
		return d, fmt.Errorf("team %s is already %s", name, d.Status)
	case !t.commands(agent, d.Members[0].Name):
		return d, fmt.Errorf("only %s can disband team %s", d.Members[0].Name, name)
	}
	d.Status = event.TeamDisbanded
	return d, nil
}

// NewMail returns the record for a message from an agent. d.To is one name, or "*" for all other members. Without a
// team, it goes to the first active team that has both as members.
func (t *Tree) NewMail(agent string, d event.Mail) (event.Mail, error) {
	d.From, d.Type = t.Name(agent), cmp.Or(d.Type, event.MailText)
	if len(d.To) != 1 {
		return d, errors.New("the recipient is missing")
	}
	to := d.To[0]
	if path, ok := t.Find(to); ok {
		to = t.Name(path)
	}
	team, err := t.common(d.From, to, d.Team)
	if err != nil {
		return d, err
	}
	d.Team, d.To = team.Name, []string{to}
	if to == "*" {
		d.To = nil
		for _, m := range team.Members {
			if m.Name != d.From {
				d.To = append(d.To, m.Name)
			}
		}
	}
	return d, cmp.Or(t.checkMail(d, team), t.checkInboxes(d))
}

// common returns the sender's and the recipient's active team.
func (t *Tree) common(from, to, name string) (event.Team, error) {
	var mine []event.Team
	for _, d := range t.board.teams {
		if d.Status == event.TeamActive && role(d, from) != "" && (name == "" || name == d.Name) {
			mine = append(mine, d)
		}
	}
	if len(mine) == 0 {
		return event.Team{}, errors.New(strings.TrimSpace("you are not a member of an active team " + name))
	}
	var others []string
	for _, d := range mine {
		if to != from && (role(d, to) != "" || to == "*" && len(mine) == 1) {
			return d, nil
		}
		for _, m := range d.Members {
			if m.Name != from {
				others = append(others, m.Name)
			}
		}
	}
	if to == "*" {
		return event.Team{}, fmt.Errorf("you are in %d teams: name one", len(mine))
	}
	return event.Team{}, fmt.Errorf("%s is not a member of your team: use %s or *", to, strings.Join(others, ", "))
}

// checkMail checks a message against its type: the leader asks for a shutdown and approves plans.
func (t *Tree) checkMail(d event.Mail, team event.Team) error {
	leads := role(team, d.From) == event.RoleLeader
	toLeader := slices.Equal(d.To, []string{team.Members[0].Name})
	switch d.Type {
	case event.MailText:
		if strings.TrimSpace(d.Content) == "" {
			return errors.New("the message is empty")
		}
	case event.MailShutdownRequest, event.MailPlanResponse:
		if !leads {
			return fmt.Errorf("only the leader of a team sends a %s", d.Type)
		}
	case event.MailShutdownResponse, event.MailPlanRequest:
		if !toLeader {
			return fmt.Errorf("a %s goes to the leader of the team, %s", d.Type, team.Members[0].Name)
		}
	default:
		return fmt.Errorf("unknown message type %q", d.Type)
	}
	if len(d.Content) > maxText {
		return fmt.Errorf("the message is longer than %d bytes: write it to a file", maxText)
	}
	return nil
}

func (t *Tree) checkInboxes(d event.Mail) error {
	for _, name := range d.To {
		if len(t.inbox[name]) >= maxLetters {
			return fmt.Errorf("%s has %d messages that it has not read", name, maxLetters)
		}
	}
	return nil
}
