package api_test

import "testing"

// §3.6: Major.Minor decides; an empty version means 0.3, which is not spoken here.
func TestVersion(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		for version, ok := range map[string]bool{
			"1.0": true, "1.0.0": true, "1.0.1": true, "1.0.12": true, " 1.0 ": true,
			"": false, "0.3": false, "1": false, "1.1": false, "2.0": false, "1.0.": false, "1.0.x": false, "v1.0": false, "1.0-beta": false, "1.0, 1.0": false,
		} {
			a := c.with("A2a-Version", version).call("ListTasks", object{})
			switch {
			case ok && a.err != nil:
				t.Errorf("%q: %.200s", version, a.raw)
			case !ok:
				noVersion.hold(t, c, a)
			}
		}
	})
}

// §3.6.1: also as a query parameter; the header comes first.
func TestVersionInQuery(t *testing.T) {
	w := newWorld(t)
	for _, rpc := range []bool{true, false} {
		c := w.client(t, rpc)
		for _, tt := range []struct {
			header, query string
			ok            bool
		}{
			{"", "A2A-Version=1.0", true}, {"", "a2a-version=1.0.1", true}, {"", "A2A-Version=0.3", false},
			{"1.0", "A2A-Version=0.3", true}, {"0.3", "A2A-Version=1.0", false}, {"", "A2A-Version=", false},
		} {
			r := c.with("A2A-Version", tt.header).request(t.Context(), "ListTasks", object{})
			r.URL.RawQuery = tt.query
			if a := c.send(r); (a.err == nil) != tt.ok {
				t.Errorf("header %q, query %q: %.200s", tt.header, tt.query, a.raw)
			}
		}
	}
}

// What is before A2A or beside it needs no version.
func TestUnversionedAddresses(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	c = c.with("A2A-Version", "")
	for _, path := range []string{"/.well-known/agent-card.json", "/healthz", "/tasks/" + id + "/ledger", "/tasks/" + id + "/effects"} {
		if a := c.send(c.raw(t.Context(), "GET", path, "")); a.status != 200 {
			t.Errorf("%s: %d %.200s", path, a.status, a.raw)
		}
	}
}
