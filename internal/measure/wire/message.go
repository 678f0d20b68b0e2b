package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// A Message is not encoded as a whole structure. encoding/json inspects everything that a type refers to, including
// workloads and histograms. That takes more than a millisecond in each process, while a worker says hello in half of
// one. So only the field that is set is encoded.

// encode returns the message as one line, without the newline. It is an error unless exactly one field is set.
func (m Message) encode() ([]byte, error) {
	v := reflect.ValueOf(m)
	var line []byte
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			continue
		}
		if line != nil {
			return nil, errors.New("it says several things at once")
		}
		b, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			return nil, err
		}
		line = fmt.Appendf(nil, `{"%s":%s}`, nameOf(v.Type().Field(i)), b)
	}
	if line == nil {
		return nil, errors.New("it says nothing")
	}
	return line, nil
}

// decode reads what encode wrote. It skips unknown fields. The field named sealed, if there is one, is set but not
// decoded.
func decode(line []byte, sealed string) (Message, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(line, &parts); err != nil {
		return Message{}, err
	}
	var m Message
	v := reflect.ValueOf(&m).Elem()
	said := 0
	for i := range v.NumField() {
		name := nameOf(v.Type().Field(i))
		part, ok := parts[name]
		if !ok {
			continue
		}
		field := v.Field(i)
		if name == sealed && part[0] == '{' {
			field.Set(reflect.New(field.Type().Elem()))
			said++
			continue
		}
		if err := json.Unmarshal(part, field.Addr().Interface()); err != nil {
			return Message{}, err
		}
		if !field.IsNil() { // null leaves it nil.
			said++
		}
	}
	if said != 1 {
		return Message{}, fmt.Errorf("it says %d things at once", said)
	}
	return m, nil
}

// nameOf returns a field's name in a line.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Warm makes encoding/json inspect the types of a result, so that the first result is sent without that delay.
func Warm() {
	for _, m := range []Message{{Sample: &Sample{}}, {Result: &Result{}}} {
		if _, err := m.encode(); err != nil {
			panic(err) // Empty values can be encoded.
		}
	}
}
