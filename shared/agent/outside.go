package agent

import "fmt"

// outsideStep is where tasks stay that are worked on outside: their workers know
// how far they are.
const outsideStep = "outside"

// Outside makes an agent without steps. Its tasks are worked on by programs outside
// this process, in any language, which claim a task and report events to it
// (POST /tasks/{id}/events). No execution is started for it and nothing of it runs
// here; what stays here is what a caller sees. It panics when the name or the
// version is none.
func Outside(name string, version int, c Card) *Agent {
	if !nameForm.MatchString(name) || version < 1 {
		panic(fmt.Sprintf("agent %q version %d: a name of %s and a version from 1 are needed", name, version, nameForm))
	}
	return &Agent{name: name, version: version, first: outsideStep, card: c, outside: true}
}

// IsName says whether an agent, a step or an effect may have a name.
func IsName(name string) bool { return nameForm.MatchString(name) }

// Outside says whether the agent's tasks are worked on outside.
func (a *Agent) Outside() bool { return a.outside }
