// Package health watches the invariants: it says which ones are broken, by how
// much, and by which tasks.
//
// [Invariants] is what is watched. Each has a light, a metric with an alarm, and a
// section in the runbook; tests hold them together.
package health
