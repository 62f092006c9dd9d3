package dynamo

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// item is an item of a table: attributes by name.
type item = map[string]types.AttributeValue

// layout says how a type's values become items: attributes are named after their
// JSON names, or shorter; what the key says already is left out. Zero values are
// left out as well, so absent and zero are the same.
type layout struct {
	short map[string]string // attribute names by JSON names
	keyed map[string]bool   // JSON names that the key tells
}

// Layouts. Entries are written most: an item's size, names included, is what is
// billed (DynamoDB item sizes and formats, developer guide).
var (
	plainLayout    = layout{}
	headLayout     = layout{keyed: map[string]bool{"tn": true, "id": true}}
	entryLayout    = layout{short: entryNames, keyed: map[string]bool{"task": true}}
	receiptLayout  = layout{keyed: map[string]bool{"producer": true, "eventId": true}}
	artifactLayout = layout{keyed: map[string]bool{"id": true}}
	producerLayout = layout{keyed: map[string]bool{"producer": true}}
	entryNames     = map[string]string{
		"seq": "sq", "type": "ty", "typeVersion": "tv", "payload": "pl", "payloadDigest": "pd", "chain": "ch", "producer": "pr", "eventId": "ev",
		"sourceSeq": "ss", "observedAt": "ob", "acceptedAt": "ac", "holder": "ho", "fence": "fe", "opId": "op",
	}
)

// field is one field of a struct with its attribute's name.
type field struct {
	reflect.Value
	name string
}

// fields lists the exported fields of a struct that an item holds.
func (l layout) fields(v reflect.Value) []field {
	out := make([]field, 0, v.NumField())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || l.keyed[name] {
			continue
		}
		if short := l.short[name]; short != "" {
			name = short
		}
		if name == "" {
			name = f.Name
		}
		out = append(out, field{v.Field(i), name})
	}
	return out
}

// names are the attributes that the layout gives a type.
func (l layout) names(v any) []string {
	fields := l.fields(reflect.ValueOf(v))
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// encode makes an item of a struct, without its key.
func (l layout) encode(v any) (item, error) { return l.encodeStruct(reflect.ValueOf(v)) }

func (l layout) encodeStruct(v reflect.Value) (item, error) {
	out := item{}
	for _, f := range l.fields(v) {
		value, err := encodeValue(f.Value)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", f.name, err)
		}
		if value != nil {
			out[f.name] = value
		}
	}
	return out, nil
}

func encodeValue(v reflect.Value) (types.AttributeValue, error) {
	if v.IsZero() {
		return nil, nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		return encodeInstant(x), nil
	case lifecycle.Digest:
		// Half the size of its text.
		if raw, err := hex.DecodeString(string(x)); err == nil && hex.EncodeToString(raw) == string(x) {
			return &types.AttributeValueMemberB{Value: raw}, nil
		}
	case json.RawMessage:
		if len(x) == 0 {
			return nil, nil
		}
		if !utf8.Valid(x) {
			return &types.AttributeValueMemberB{Value: x}, nil
		}
		return &types.AttributeValueMemberS{Value: string(x)}, nil
	}
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return nil, fmt.Errorf("%q is no text", v.String())
		}
		return &types.AttributeValueMemberS{Value: v.String()}, nil
	case reflect.Int, reflect.Int64:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.Uint64:
		return number(v.Uint()), nil
	case reflect.Bool:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}, nil
	case reflect.Pointer:
		inner, err := plainLayout.encodeStruct(v.Elem())
		return &types.AttributeValueMemberM{Value: inner}, err
	default:
		return nil, fmt.Errorf("a %s has no place in an item", v.Type())
	}
}

// decode reads an item into a struct. Fields that the key tells stay as they are.
func (l layout) decode(from item, into any) error {
	return l.decodeStruct(from, reflect.ValueOf(into).Elem())
}

func (l layout) decodeStruct(from item, into reflect.Value) error {
	for _, f := range l.fields(into) {
		value, there := from[f.name]
		if !there {
			continue
		}
		if err := decodeValue(value, f.Value); err != nil {
			return fmt.Errorf("attribute %s: %w", f.name, err)
		}
	}
	return nil
}

// decodePlain reads an item by plainLayout; what names it in an error.
func decodePlain[T any](from item, what string) (out T, err error) {
	if err = plainLayout.decode(from, &out); err != nil {
		err = fmt.Errorf("%s cannot be read: %w", what, err)
	}
	return out, err
}

func decodeValue(from types.AttributeValue, into reflect.Value) error {
	switch into.Interface().(type) {
	case time.Time:
		at, err := decodeInstant(from)
		into.Set(reflect.ValueOf(at))
		return err
	case json.RawMessage:
		switch x := from.(type) {
		case *types.AttributeValueMemberS:
			into.SetBytes([]byte(x.Value))
			return nil
		case *types.AttributeValueMemberB:
			into.SetBytes(x.Value)
			return nil
		}
	case lifecycle.Digest:
		if x, is := from.(*types.AttributeValueMemberB); is {
			into.SetString(hex.EncodeToString(x.Value))
			return nil
		}
	}
	switch x := from.(type) {
	case *types.AttributeValueMemberS:
		if into.Kind() == reflect.String {
			into.SetString(x.Value)
			return nil
		}
	case *types.AttributeValueMemberN:
		return decodeNumber(x.Value, into)
	case *types.AttributeValueMemberBOOL:
		if into.Kind() == reflect.Bool {
			into.SetBool(x.Value)
			return nil
		}
	case *types.AttributeValueMemberM:
		if into.Kind() == reflect.Pointer {
			into.Set(reflect.New(into.Type().Elem()))
			return plainLayout.decodeStruct(x.Value, into.Elem())
		}
	}
	return fmt.Errorf("a %T where a %s belongs", from, into.Type())
}

func decodeNumber(text string, into reflect.Value) error {
	switch into.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		into.SetInt(n)
		return err
	case reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		into.SetUint(n)
		return err
	default:
		return fmt.Errorf("a number where a %s belongs", into.Type())
	}
}

// encodeInstant writes seconds since 1970 as a number, with a fraction if there
// is one; it is also what a TTL attribute wants (Using time to live in DynamoDB).
// Earlier instants are written as text.
func encodeInstant(t time.Time) types.AttributeValue {
	if t.Unix() < 0 {
		return text(t.UTC().Format(time.RFC3339Nano))
	}
	s := strconv.FormatInt(t.Unix(), 10)
	if ns := t.Nanosecond(); ns != 0 {
		s += "." + strings.TrimRight(pad(uint64(ns), 9), "0")
	}
	return &types.AttributeValueMemberN{Value: s}
}

func decodeInstant(from types.AttributeValue) (time.Time, error) {
	switch x := from.(type) {
	case *types.AttributeValueMemberS:
		return time.Parse(time.RFC3339Nano, x.Value)
	case *types.AttributeValueMemberN:
		whole, fraction, _ := strings.Cut(x.Value, ".")
		sec, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || len(fraction) > 9 {
			return time.Time{}, fmt.Errorf("%q is no instant", x.Value)
		}
		ns, err := strconv.ParseInt(fraction+strings.Repeat("0", 9-len(fraction)), 10, 64)
		return time.Unix(sec, ns).UTC(), err
	default:
		return time.Time{}, fmt.Errorf("a %T where an instant belongs", from)
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

// item is a key as DynamoDB takes it.
func (k key) item() item { return item{partitionName: text(k.partition), sortName: text(k.sort)} }

// textOf reads a text attribute, "" for none.
func textOf(it item, name string) string {
	if s, is := it[name].(*types.AttributeValueMemberS); is {
		return s.Value
	}
	return ""
}

// countOf reads a small number, 0 for none.
func countOf(it item, name string) int {
	if n, is := it[name].(*types.AttributeValueMemberN); is {
		v, err := strconv.Atoi(n.Value)
		if err == nil {
			return v
		}
	}
	return 0
}
