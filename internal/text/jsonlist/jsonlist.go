// Package jsonlist makes JSON print empty lists for Go's nil ones: a script can't loop over null.
package jsonlist

import "reflect"

// Of returns v with empty lists and maps for nil ones, so that JSON has [] and {} for them. The value that v points
// to is not changed.
func Of(v any) any { return listsIn(reflect.ValueOf(v)).Interface() }

// listsIn is Of for a value that may be part of another.
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
			return v // It has a JSON form of its own.
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
			// Unexported fields may point anywhere, even in a cycle.
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				s.Field(i).Set(listsIn(v.Field(i)))
			}
		}
		return s
	}
	return v
}
