package accessreview

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// plan decides which systems are reviewed.
func (s steps) plan(ctx context.Context, t *agent.Task[review]) (agent.Next, error) {
	f, sent, err := readFile(t.Message)
	if err != nil {
		return agent.Next{}, agent.Permanent(err) // the door has let it pass
	}
	systems := f.systems
	if sent {
		t.State.AsOf, t.State.Dated = f.asOf, true
		t.Report(fmt.Sprintf("Reviewing %s of the file as of %s", plural(len(systems), "system"), f.asOf))
	} else {
		if systems, err = s.list(ctx); err != nil {
			return agent.Next{}, err
		}
		if len(systems) == 0 {
			return agent.Reject("There are no systems to review."), nil
		}
		t.Report(fmt.Sprintf("Reviewing all %s", plural(len(systems), "system")))
	}
	for _, system := range systems {
		t.State.Systems = append(t.State.Systems, scope{Name: system.Name, Owner: system.Owner})
	}
	return agent.Continue(s.fetch), nil
}

// list asks the API for the systems, and trusts nothing that it says.
func (s steps) list(ctx context.Context) ([]System, error) {
	systems, err := s.api.List(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, system := range systems {
		if err := system.check(); err != nil {
			return nil, agent.Permanent(fmt.Errorf("the systems' API lists system %q: %w", clip(system.Name), err))
		}
		if seen[system.Name] {
			return nil, agent.Permanent(fmt.Errorf("the systems' API lists system %q twice", system.Name))
		}
		seen[system.Name] = true
	}
	if err := checkScope(systems); err != nil {
		return nil, agent.Permanent(err)
	}
	return systems, nil
}

// fetchNext fetches the grants of one system. Each is a visit of its own, with
// attempts of its own.
func (s steps) fetchNext(ctx context.Context, t *agent.Task[review]) (agent.Next, error) {
	i, more := t.State.next()
	if !more {
		return agent.Continue("analyse"), nil
	}
	system := t.State.Systems[i]
	grants, err := s.api.Grants(ctx, system.Name)
	unknown := errors.Is(err, ErrUnknownSystem)
	switch {
	case unknown:
		if grants, err = fromFile(t, system.Name); err != nil {
			return agent.Next{}, err
		}
	case err != nil:
		return agent.Next{}, err
	}
	for _, g := range grants {
		if err := g.check(); err != nil {
			return agent.Next{}, agent.Permanent(fmt.Errorf("system %q, account %q: %w", system.Name, clip(g.Account), err))
		}
	}
	t.State.take(i, grants, unknown)
	if len(t.State.Findings) > maxFindings {
		return agent.Next{}, agent.Permanent(fmt.Errorf("there are more than %d findings: review fewer systems at a time", maxFindings))
	}
	t.Report(told(t.State, i, system.Fetched))
	if _, more := t.State.next(); more {
		return agent.Continue(s.fetch), nil
	}
	return agent.Continue("analyse"), nil
}

// told is the progress message after system i.
func told(r review, i int, again bool) string {
	fetched := 0
	for _, s := range r.Systems {
		if s.Fetched {
			fetched++
		}
	}
	found := r.count(func(f finding) bool { return f.System == i })
	where := ""
	if r.Systems[i].FromFile {
		where = " from the file"
	}
	if again {
		where += " again, as of " + r.AsOf
	}
	return fmt.Sprintf("Fetched %s%s: %s, %s (%d of %d)", r.Systems[i].Name, where,
		plural(r.Systems[i].Grants, "grant"), plural(found, "finding"), fetched, len(r.Systems))
}

// fromFile is what the file says about a system that the API does not know.
func fromFile(t *agent.Task[review], system string) ([]Grant, error) {
	f, sent, err := readFile(t.Message)
	switch {
	case err != nil:
		return nil, agent.Permanent(err)
	case !sent:
		return nil, agent.Permanent(fmt.Errorf("the systems' API listed system %q and does not know it now", system))
	}
	return f.grants[system], nil
}

// analyse ranks the findings; from here on they have numbers.
func (s steps) analyse(_ context.Context, t *agent.Task[review]) (agent.Next, error) {
	t.State.rank()
	for i := range t.State.Systems {
		t.State.Systems[i].AsOf = "" // it told which to fetch again; every later checkpoint would carry it
	}
	t.Report(fmt.Sprintf("Analysed %s: %s", plural(t.State.grants(), "grant"), plural(len(t.State.Findings), "finding")))
	if len(t.State.Findings) == 0 {
		return agent.Continue("report"), nil
	}
	return agent.Continue("ask"), nil
}

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
