package dynamo

import (
	"math"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What a unit is (DynamoDB read and write operations, developer guide).
const (
	writeUnitBytes = 1 << 10
	readUnitBytes  = 4 << 10
	// transactionFactor: a transaction writes everything twice.
	transactionFactor = 2
)

// Units is what requests cost.
type Units struct {
	Writes   float64 // write request units, indexes included
	Reads    float64 // read request units
	Requests int
}

// Add is the sum of two bills.
func (u Units) Add(v Units) Units {
	return Units{Writes: u.Writes + v.Writes, Reads: u.Reads + v.Reads, Requests: u.Requests + v.Requests}
}

// Sub is what came since v.
func (u Units) Sub(v Units) Units {
	return Units{Writes: u.Writes - v.Writes, Reads: u.Reads - v.Reads, Requests: u.Requests - v.Requests}
}

// itemSize is an item's size in bytes (DynamoDB item sizes and formats, developer
// guide): names and values, numbers at a byte for two digits.
func itemSize(it item) int {
	n := 0
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	const nested = 3 // of a map or list, and one byte more for each element
	switch x := v.(type) {
	case *types.AttributeValueMemberS:
		return len(x.Value)
	case *types.AttributeValueMemberN:
		return numberSize(x.Value)
	case *types.AttributeValueMemberB:
		return len(x.Value)
	case *types.AttributeValueMemberM:
		return nested + len(x.Value) + itemSize(x.Value)
	case *types.AttributeValueMemberL:
		n := nested + len(x.Value)
		for _, one := range x.Value {
			n += valueSize(one)
		}
		return n
	default:
		return 1
	}
}

// numberSize: leading and trailing zeros are not kept.
func numberSize(text string) int {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	switch {
	case fraction == "":
		whole = strings.TrimRight(whole, "0")
	case whole == "":
		fraction = strings.TrimLeft(fraction, "0")
	}
	n := (len(whole)+len(fraction)+1)/2 + 1
	if strings.HasPrefix(text, "-") {
		n++
	}
	return n
}

// writeUnits is what changing one item costs, its indexes apart. An item that is
// not written, because a condition failed or it was only checked, costs what it
// has.
func writeUnits(before, after item, transaction bool) float64 {
	units := math.Max(1, math.Ceil(float64(max(itemSize(before), itemSize(after)))/writeUnitBytes))
	if transaction {
		units *= transactionFactor
	}
	return units
}

// indexUnits is what the change costs in the indexes (Using Global Secondary
// Indexes in DynamoDB, developer guide): an entry that comes or goes is one
// write, one whose key changes is two. Transactions make no difference there.
func indexUnits(before, after item) float64 {
	units := 0.0
	for _, x := range indexes() {
		was, is := x.entry(before), x.entry(after)
		switch {
		case was == nil && is == nil, sameKeys(was, is):
		case was == nil:
			units += writeUnits(nil, is, false)
		case is == nil:
			units += writeUnits(was, nil, false)
		default:
			units += writeUnits(was, nil, false) + writeUnits(nil, is, false)
		}
	}
	return units
}

// entry is an item's entry in a keys-only index; nil when it is in none.
func (x index) entry(it item) item {
	if it[x.partition] == nil || it[x.sort] == nil {
		return nil
	}
	return item{partitionName: it[partitionName], sortName: it[sortName], x.partition: it[x.partition], x.sort: it[x.sort]}
}

func sameKeys(a, b item) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if textOf(a, name) != textOf(b, name) {
			return false
		}
	}
	return true
}

// readUnits is what reading so many bytes at once costs. Reading nothing costs
// the least there is.
func readUnits(size int, strong bool) float64 {
	units := math.Max(1, math.Ceil(float64(size)/readUnitBytes))
	if !strong {
		units /= 2
	}
	return units
}

// Looks is how often Watch looks, with the default options, at a task to which
// nothing happens for so long. A look is one read unit.
func Looks(idle time.Duration) int {
	n := 0
	for at, wait := time.Duration(0), defaultPollFirst; at < idle; n++ {
		at, wait = at+wait, min(time.Duration(float64(wait)*pollFactor), defaultPollMost)
	}
	return n
}
