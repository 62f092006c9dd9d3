package main

import (
	"context"
	"net/http"
	"slices"
)

// systems is the server of the systems under review, by its address.
type systems string

// rule is a fault to be played: on which requests, and what happens to them.
type rule struct {
	Op     string `json:"op"`
	System string `json:"system"`
	Nth    int    `json:"nth"`
	Do     string `json:"do"`
}

// counters is what the systems say that they were asked and did.
type counters struct {
	Fetches     map[string]int   `json:"fetches"`
	Revocations map[string]tally `json:"revocations"`
	Totals      struct {
		Fetches   int `json:"fetches"`
		Revokes   int `json:"revokes"`
		Applied   int `json:"applied"`
		Repeats   int `json:"repeats"`
		Conflicts int `json:"conflicts"`
		Faults    int `json:"faults"`
	} `json:"totals"`
	Held []string `json:"held"`
}

// tally is what happened to one grant.
type tally struct {
	Applied int `json:"applied"`
	Repeats int `json:"repeats"`
}

// names lists the systems in the order in which they are reviewed.
func (s systems) names(ctx context.Context) ([]string, error) {
	var list struct {
		Systems []struct {
			Name string `json:"name"`
		} `json:"systems"`
	}
	err := caller.AskFor(ctx, http.MethodGet, string(s)+"/systems", nil, &list)
	var names []string
	for _, row := range list.Systems {
		names = append(names, row.Name)
	}
	return names, err
}

func (s systems) counters(ctx context.Context) (c counters, err error) {
	return c, caller.AskFor(ctx, http.MethodGet, string(s)+"/counters", nil, &c)
}

// plan adds faults to be played.
func (s systems) plan(ctx context.Context, rules ...rule) error {
	return caller.AskFor(ctx, http.MethodPost, string(s)+"/faults", rules, &struct{}{})
}

// holds says whether a request is held back, by its name.
func (s systems) holds(ctx context.Context, name string) (bool, error) {
	c, err := s.counters(ctx)
	return slices.Contains(c.Held, name), err
}

// release lets what is held go on.
func (s systems) release(ctx context.Context) (released int, err error) {
	var out struct {
		Released int `json:"released"`
	}
	err = caller.AskFor(ctx, http.MethodPost, string(s)+"/release", nil, &out)
	return out.Released, err
}
