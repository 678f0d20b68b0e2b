package store

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// finite refuses a record with a number that neither JSON nor SQLite can hold, and names its field. NaN and the
// infinities come from a division by zero somewhere in the measurement, which must be found, not recorded.
func finite(name string, v any) error {
	path, x, bad := findNonFinite(reflect.ValueOf(v))
	if !bad {
		return nil
	}
	return fmt.Errorf("%s: %s is %v, which is not a figure and can't be kept", name, strings.TrimPrefix(path, "."), x)
}

// findNonFinite returns the first NaN or infinity under v, with its path in the
// words of the JSON form.
func findNonFinite(v reflect.Value) (path string, x float64, bad bool) {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		x = v.Float()
		return "", x, math.IsNaN(x) || math.IsInf(x, 0)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return findNonFinite(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// Unexported fields are left to their types: times, histograms.
			if f := v.Type().Field(i); f.IsExported() {
				if p, x, bad := findNonFinite(v.Field(i)); bad {
					return "." + jsonName(f) + p, x, true
				}
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "", 0, false
		}
		for i := range v.Len() {
			if p, x, bad := findNonFinite(v.Index(i)); bad {
				return fmt.Sprintf("[%d]%s", i, p), x, true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if p, x, bad := findNonFinite(it.Value()); bad {
				return fmt.Sprintf("[%v]%s", it.Key(), p), x, true
			}
		}
	}
	return "", 0, false
}

func jsonName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}
