package asl

// choice is a Choice state: the first rule that matches decides, else the default.
type choice struct {
	rules    []rule
	fallback string
}

// rule compares a value of the state's input with a string ("StringEquals"). A value that is no string does not match.
type rule struct {
	variable source
	equals   string
	next     string
}

// parseChoice reads rules and the default, which must be there: without one, an unforeseen value would be an error that nothing can catch.
func parseChoice(o *object) state {
	var c choice
	for _, each := range o.list("Choices") {
		c.rules = append(c.rules, rule{
			variable: parseInputPath(each, "Variable"),
			equals:   each.text("StringEquals"),
			next:     each.text("Next"),
		})
		o.adopt(each.done())
	}
	c.fallback = o.text("Default")
	return c
}

func (c choice) targets() []string {
	targets := []string{c.fallback}
	for _, rule := range c.rules {
		targets = append(targets, rule.next)
	}
	return targets
}

// run compares in order. A variable that is not there is States.Runtime, as on AWS.
func (c choice) run(_ *Runtime, e *execution) move {
	for _, rule := range c.rules {
		value, err := rule.variable.read(e)
		if err != nil {
			return move{kind: failed, err: err}
		}
		if value == rule.equals {
			return moveTo(rule.next)
		}
	}
	return moveTo(c.fallback)
}
