package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// generated are names that the SAM translator adds and the template uses; infra/checks/translated.py sees whether they come.
var generated = []string{"TaskMachineAliaslive", "DeliveryMachineAliaslive", "Api.Stage"}

// checkReferences: every name leads somewhere, every parameter and condition is used.
func checkReferences(_ *testing.T, all stacks) (violations []string) {
	for _, s := range all {
		known := slices.Concat(generated, slices.Collect(maps.Keys(child(s.doc, "Parameters"))), slices.Collect(maps.Keys(child(s.doc, "Resources"))))
		used := map[string]bool{}
		refer := func(name string) {
			used[name] = true
			if !slices.Contains(known, name) && !strings.HasPrefix(name, "AWS::") {
				violations = append(violations, fmt.Sprintf("%s: nothing is called %s", s.file, name))
			}
		}
		conditions := map[string]bool{}
		walk(s.doc, func(v any) {
			o, _ := v.(object)
			if name, ok := o["Ref"].(string); ok {
				refer(name)
			}
			if pair, ok := o["Fn::GetAtt"].([]any); ok {
				refer(fmt.Sprint(pair[0]))
				violations = append(violations, checkOutput(all, s, fmt.Sprint(pair[0]), fmt.Sprint(pair[1]))...)
			}
			if text, ok := o["Fn::Sub"].(string); ok {
				for _, found := range substitution.FindAllStringSubmatch(text, -1) {
					name, _, _ := strings.Cut(found[1], ".")
					refer(name)
				}
			}
			if three, ok := o["Fn::If"].([]any); ok {
				conditions[fmt.Sprint(three[0])] = true
			}
			if name, ok := o["Condition"].(string); ok {
				conditions[name] = true
			}
		})
		for name := range child(s.doc, "Parameters") {
			if !used[name] {
				violations = append(violations, fmt.Sprintf("%s: parameter %s does nothing", s.file, name))
			}
		}
		if got, want := slices.Sorted(maps.Keys(conditions)), slices.Sorted(maps.Keys(child(s.doc, "Conditions"))); !slices.Equal(got, want) {
			violations = append(violations, fmt.Sprintf("%s: conditions used are %q, declared are %q", s.file, got, want))
		}
	}
	return violations
}

// checkOutput: an output of a nested stack is one.
func checkOutput(all stacks, s *stack, id, attribute string) []string {
	r := s.resource(id)
	output, ok := strings.CutPrefix(attribute, "Outputs.")
	if r.kind != "AWS::CloudFormation::Stack" || !ok {
		return nil
	}
	file := fmt.Sprint(r.properties["TemplateURL"])
	if child(all[file].doc, "Outputs", output)["Value"] == nil {
		return []string{fmt.Sprintf("%s has no output %s", file, output)}
	}
	return nil
}

// checkNested: a nested stack gets the parameters that it has, and all that it needs.
func checkNested(_ *testing.T, all stacks) (violations []string) {
	for _, r := range all[root].resources("AWS::CloudFormation::Stack") {
		file := fmt.Sprint(r.properties["TemplateURL"])
		declared, given := child(all[file].doc, "Parameters"), child(r.properties, "Parameters")
		if got, want := slices.Sorted(maps.Keys(given)), slices.Sorted(maps.Keys(declared)); !slices.Equal(got, want) {
			violations = append(violations, fmt.Sprintf("%s: given %q, declared %q", file, got, want))
		}
		for name := range child(all[file].doc, "Outputs") {
			used := false
			walk(all[root].doc, func(v any) {
				o, _ := v.(object)
				pair, _ := o["Fn::GetAtt"].([]any)
				used = used || len(pair) == 2 && pair[0] == r.id && pair[1] == "Outputs."+name
			})
			if !used {
				violations = append(violations, fmt.Sprintf("%s: nobody wants the output %s", file, name))
			}
		}
	}
	return violations
}
