// Package console is the operator's view of a tenant's tasks, and what an operator may
// do about them: a page at /console, and the routes under /console/api that it asks.
//
// The page is static files in this binary: plain modules and style sheets, no build
// step, nothing from elsewhere. The routes are the page's own and change with it; they
// are no interface for others, who have GET /tasks/{id}/export and the ledger's routes.
//
// An operator sees one tenant, the principal's: there is no view across tenants. Reading
// needs the scope operator:read, acting operator:act. Credentials come as a header with
// every request, never as a cookie, so that no other site can lend an operator's hand;
// what acts refuses requests of other origins besides.
//
// It decides nothing. An action is a command like any caller's, which the rules accept
// or refuse, and is in the ledger before it is done: who, what, to what.
package console
