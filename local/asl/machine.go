package asl

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Limits of the language and of the service, from "Amazon States Language" and "Step Functions service quotas".
const (
	maxSeconds     = 99_999_999 // a year is the longest execution, yet the language allows this for waits and time limits
	maxPayload     = 256 * 1024 // bytes of input, payload or result
	maxNameLength  = 80         // characters of a state's and of an execution's name
	maxHistory     = 25_000     // events of one execution
	maxRetryDelay  = 31_622_400 // seconds (366 days)
	maxRetryRounds = 99_999_999
)

// Machine is a definition that was understood in full. It never changes; any number of runtimes may share it.
type Machine struct {
	start  string
	states map[string]*node
}

// node is a state with its name.
type node struct {
	name string
	state
}

// placeholder is a substitution as AWS SAM writes it.
var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9_]+)\}`)

// Parse reads a definition after putting the substitutions in. The error names the state and the field: anything that
// this interpreter does not know, a target that is not there, a state that nothing leads to, a substitution without a
// value, or a value without a substitution.
func Parse(definition []byte, substitutions map[string]string) (*Machine, error) {
	text, err := substitute(definition, substitutions)
	if err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("asl: definition: not JSON")
	}
	o := parseObject("definition", text)
	o.comment()
	m := &Machine{start: o.text("StartAt"), states: map[string]*node{}}
	states := parseObject("States", o.take("States"))
	if err := o.done(); err != nil {
		return nil, err
	}
	if states.err != nil {
		return nil, states.err
	}
	for _, name := range slices.Sorted(maps.Keys(states.raw)) {
		if length := utf8.RuneCountInString(name); length == 0 || length > maxNameLength {
			return nil, fmt.Errorf("asl: state %q: want a name of 1 to %d characters", name, maxNameLength)
		}
		s, err := parseState(parseObject(fmt.Sprintf("state %q", name), states.raw[name]))
		if err != nil {
			return nil, err
		}
		m.states[name] = &node{name: name, state: s}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check follows every target from the start: all must be there, and no state may be left over.
func (m *Machine) check() error {
	if m.states[m.start] == nil {
		return fmt.Errorf("asl: definition: field \"StartAt\": there is no state %q", m.start)
	}
	reached := map[string]bool{m.start: true}
	for queue := []string{m.start}; len(queue) > 0; queue = queue[1:] {
		for _, target := range m.states[queue[0]].targets() {
			if m.states[target] == nil {
				return fmt.Errorf("asl: state %q: leads to %q, which is not there", queue[0], target)
			}
			if !reached[target] {
				reached[target] = true
				queue = append(queue, target)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.states)) {
		if !reached[name] {
			return fmt.Errorf("asl: state %q: nothing leads to it", name)
		}
	}
	return nil
}

// substitute puts the values in, as text inside JSON strings.
func substitute(definition []byte, values map[string]string) ([]byte, error) {
	used := map[string]bool{}
	var missing []string
	text := placeholder.ReplaceAllFunc(definition, func(found []byte) []byte {
		name := string(found[2 : len(found)-1])
		value, ok := values[name]
		if !ok {
			missing = append(missing, name)
			return found
		}
		used[name] = true
		quoted := appendValue(nil, value)
		return quoted[1 : len(quoted)-1]
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("asl: definition: the substitution ${%s} has no value", slices.Min(missing))
	}
	for name := range values {
		if !used[name] {
			return nil, fmt.Errorf("asl: definition: the value %s has no substitution", name)
		}
	}
	return text, nil
}
