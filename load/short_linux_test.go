package load

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// TestDirectEndsInAPartOfASector: a file that ends in the middle of a sector gives a
// direct read a few bytes less than that, again and again. It has to be an error and
// no endless repetition.
func TestDirectEndsInAPartOfASector(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := written(t, 8192)
			r, err := Prepare(Job{RW: Read, Size: 4096, IODepth: 2, Filename: path, Runtime: time.Hour, IOEngine: engine, Direct: true})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for r.clk.now() < int64(50*time.Millisecond) {
					time.Sleep(time.Millisecond)
				}
				os.Truncate(path, 100)
			}()
			type answer struct {
				res *Result
				err error
			}
			done := make(chan answer, 1)
			go func() {
				res, err := r.Start(context.Background(), nil)
				done <- answer{res, err}
			}()
			select {
			case a := <-done:
				var e *IOError
				if !errors.As(a.err, &e) || !errors.Is(a.err, io.ErrUnexpectedEOF) {
					t.Errorf("error = %v, want an unexpected end", a.err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the job never ends")
			}
		})
	}
}
