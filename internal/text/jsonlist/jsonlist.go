// Package jsonlist has JSON print empty lists where Go has none: a script can't loop over null.
package jsonlist

import "reflect"

// Of is v with empty lists and maps in the place of those that are nil, so that JSON has [] and {} for them.
// The value that v points to is not changed.
func Of(v any) any { return listsIn(reflect.ValueOf(v)).Interface() }

// listsIn is Of of a value that may be part of another.
func listsIn(v reflect.Value) reflect.Value {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := reflect.New(t.Elem())
		p.Elem().Set(listsIn(v.Elem()))
		return p
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return v // JSON has text for it.
		}
		list := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			list.Index(i).Set(listsIn(v.Index(i)))
		}
		return list
	case reflect.Map:
		m := reflect.MakeMapWithSize(t, v.Len())
		for k, e := range v.Seq2() {
			m.SetMapIndex(k, listsIn(e))
		}
		return m
	case reflect.Struct:
		s := reflect.New(t).Elem()
		s.Set(v)
		for i := range t.NumField() {
			// An unexported field may lead anywhere, also in a circle.
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				s.Field(i).Set(listsIn(v.Field(i)))
			}
		}
		return s
	}
	return v
}
