package engine

import (
	"bytes"
	"testing"
)

// TestFirstBytes: what a runtime says is kept up to a bound, whatever it says.
func TestFirstBytes(t *testing.T) {
	for _, enough := range []bool{false, true} {
		f := FirstBytes{Enough: enough}
		var err error
		for range 100 {
			if _, e := f.Write(bytes.Repeat([]byte("x"), 1000)); e != nil {
				err = e
			}
		}
		if len(f.Kept) != mostWords || cap(f.Kept) > 4*mostWords || (err != nil) != enough {
			t.Errorf("enough %v: kept %d of 100000 bytes (capacity %d), %v", enough, len(f.Kept), cap(f.Kept), err)
		}
	}
}
