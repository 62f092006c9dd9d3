// Package statemachine holds the state machines of Holdfast as Step Functions reads them: Amazon States Language with JSONPath.
//
// The template deploys the same files that the laptop interprets. A definition names its functions by substitution, as
// AWS SAM does (DefinitionSubstitutions): whoever loads one must supply a value for each ${Name}.
package statemachine

import _ "embed"

// Task runs one generation of one task; ARCHITECTURE.md draws it.
//
// Input: {"tenant", "taskId", "generation"} and nothing that changes between two starts of the same name, since only a
// byte-identical input makes a second StartExecution harmless.
// Substitutions: StepFunctionArn (the operations run and await) and SettleFunctionArn (the operation settle).
// Both functions return an outcome: {"word": "continue|wait|await|done|failed", "seconds": n, "pause": n}. A wait must
// come with seconds (0 or more), an await with seconds (1 or more) and pause: Step Functions fails an execution whose
// path finds nothing, and no Catch sees that.
//
//go:embed task.asl.json
var Task string

// Delivery brings one endpoint of one task what it lacks, when the first attempts have not: it waits, calls, and waits
// again. ARCHITECTURE.md draws it.
//
// Input: {"tenant", "taskId", "endpoint", "incarnation", "generation", "outcome": {"seconds": n, "turns": 0}}: it begins
// by waiting. Substitution: DeliverFunctionArn, the operation deliver.
// The function returns an outcome: {"word": "wait|done", "seconds": n, "turns": n}, with seconds and turns always there.
// It counts the turns and ends an execution before its history grows too long. An execution that fails changes nothing:
// the endpoint is due by its own item, and the sweep begins the next generation.
//
//go:embed delivery.asl.json
var Delivery string
