package agent

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// kept says what of a type's values encoding/json would not bring back: a step that runs
// again would see something else than the one before it. nil: nothing.
func kept[T any]() error {
	return (&keeping{seen: map[reflect.Type]bool{}}).check(reflect.TypeFor[T](), reflect.TypeFor[T]().String())
}

type keeping struct{ seen map[reflect.Type]bool }

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (k *keeping) check(t reflect.Type, path string) error {
	for _, own := range []reflect.Type{jsonMarshaler, textMarshaler} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return nil // it says itself what is kept
		}
	}
	if k.seen[t] {
		return nil
	}
	k.seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("%s is a %s, which encoding/json cannot keep", path, t.Kind())
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%s is the interface %s: what was in it cannot be read again", path, t)
		}
	case reflect.Map:
		if key := t.Key(); !isKey(key) {
			return fmt.Errorf("%s has keys of %s, which encoding/json cannot keep", path, key)
		}
		return k.check(t.Elem(), path+"[]")
	case reflect.Pointer:
		return k.check(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		return k.check(t.Elem(), path+"[]")
	case reflect.Struct:
		return k.fields(t, path)
	}
	return nil
}

func (k *keeping) fields(t reflect.Type, path string) error {
	for f := range t.Fields() {
		at := path + "." + f.Name
		switch {
		case f.Tag.Get("json") == "-": // the author knows
		case f.Anonymous && f.Type.Kind() == reflect.Struct: // its exported fields are kept
			if err := k.check(f.Type, path); err != nil {
				return err
			}
		case !f.IsExported():
			return fmt.Errorf("%s is not exported, so encoding/json does not keep it: export it, or say json:\"-\" if it may be lost", at)
		default:
			if err := k.check(f.Type, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// isKey says whether encoding/json takes a type for the keys of an object.
func isKey(t reflect.Type) bool {
	kind := t.Kind()
	return kind == reflect.String || kind >= reflect.Int && kind <= reflect.Uintptr || t.Implements(textMarshaler)
}
