package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// A Message is not encoded as the structure that it is. To look at a type, encoding/json looks at all that it
// refers to, workloads and histograms and all, which takes more than a millisecond in each process, and a worker says hello in half of
// one. So only the field that is set is handed to it.

// encode returns the message as one line, without the newline. One without or with several fields is an error.
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

// decode reads what encode wrote. Fields that it doesn't know are passed over. The field named sealed, if there is
// one, is set but not looked into.
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
		if !field.IsNil() { // As null is.
			said++
		}
	}
	if said != 1 {
		return Message{}, fmt.Errorf("it says %d things at once", said)
	}
	return m, nil
}

// nameOf is a field's name in a line.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Warm makes encoding/json look at what a result is made of, so that the first one is sent without that delay.
func Warm() {
	for _, m := range []Message{{Sample: &Sample{}}, {Result: &Result{}}} {
		if _, err := m.encode(); err != nil {
			panic(err) // What is empty can be encoded.
		}
	}
}
