package dynamo

import (
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expression collects the placeholders of one request. Every name has one, so no
// attribute can be a reserved word (Reserved words in DynamoDB, developer guide).
type expression struct {
	names      map[string]string
	values     item
	conditions []string
	set        []string
	remove     []string
	add        []string
}

func (x *expression) name(attribute string) string {
	if x.names == nil {
		x.names = map[string]string{}
	}
	placeholder := "#" + attribute
	x.names[placeholder] = attribute
	return placeholder
}

func (x *expression) value(v types.AttributeValue) string {
	if x.values == nil {
		x.values = item{}
	}
	placeholder := ":" + strconv.Itoa(len(x.values))
	x.values[placeholder] = v
	return placeholder
}

// exists demands that the item is there.
func (x *expression) exists() *expression { return x.present(partitionName) }

// isNew demands that it is not.
func (x *expression) isNew() *expression { return x.absent(partitionName) }

func (x *expression) present(attribute string) *expression {
	x.conditions = append(x.conditions, "attribute_exists("+x.name(attribute)+")")
	return x
}

func (x *expression) absent(attribute string) *expression {
	x.conditions = append(x.conditions, "attribute_not_exists("+x.name(attribute)+")")
	return x
}

// is demands a value; nil for none.
func (x *expression) is(attribute string, v types.AttributeValue) *expression {
	if v == nil {
		return x.absent(attribute)
	}
	return x.compare(attribute, "=", v)
}

func (x *expression) compare(attribute, operator string, v types.AttributeValue) *expression {
	x.conditions = append(x.conditions, x.name(attribute)+" "+operator+" "+x.value(v))
	return x
}

// put sets an attribute, or removes it when there is no value.
func (x *expression) put(attribute string, v types.AttributeValue) *expression {
	if v == nil {
		x.remove = append(x.remove, x.name(attribute))
	} else {
		x.set = append(x.set, x.name(attribute)+" = "+x.value(v))
	}
	return x
}

// putFirst sets an attribute that has no value yet.
func (x *expression) putFirst(attribute string, v types.AttributeValue) *expression {
	n := x.name(attribute)
	x.set = append(x.set, n+" = if_not_exists("+n+", "+x.value(v)+")")
	return x
}

// increase adds one to a counter, which starts at 0.
func (x *expression) increase(attribute string) *expression { return x.sum(attribute, 1) }

// sum adds to a counter, which starts at 0.
func (x *expression) sum(attribute string, n int) *expression {
	x.add = append(x.add, x.name(attribute)+" "+x.value(number(uint64(max(n, 0)))))
	return x
}

func (x *expression) condition() *string { return joined(x.conditions, " AND ") }

func (x *expression) update() *string {
	var clauses []string
	for _, c := range []struct {
		verb  string
		parts []string
	}{{"SET", x.set}, {"REMOVE", x.remove}, {"ADD", x.add}} {
		if len(c.parts) > 0 {
			clauses = append(clauses, c.verb+" "+strings.Join(c.parts, ", "))
		}
	}
	return joined(clauses, " ")
}

func joined(parts []string, by string) *string {
	if len(parts) == 0 {
		return nil
	}
	s := strings.Join(parts, by)
	return &s
}
