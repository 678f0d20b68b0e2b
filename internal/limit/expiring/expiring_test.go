package expiring

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAnswers: those that ask at once get one look's answer, and later ones, those who ask something else, and those after Forget get
// their own.
func TestAnswers(t *testing.T) {
	var looks atomic.Int64
	look := func() (int64, error) {
		n := looks.Add(1)
		time.Sleep(10 * time.Millisecond)
		return n, nil
	}
	var a Answers[string, int64]
	began := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if n, err := a.Of("one", look); err != nil || n < 1 {
				t.Errorf("Of = %v, %v", n, err)
			}
		})
	}
	all.Wait()
	if n, most := looks.Load(), 1+int64(time.Since(began)/For); n > most {
		t.Errorf("%d looks at once, want %d", n, most)
	}
	bad := errors.New("bad")
	n := looks.Load()
	for _, x := range []struct {
		what, question string
		before         func()
	}{
		{"another question", "two", func() {}},
		{"after a while", "one", func() { time.Sleep(For) }},
		{"after Forget", "one", a.Forget},
		{"after an error", "three", func() {
			if v, err := a.Of("three", func() (int64, error) { return 7, bad }); v != 7 || !errors.Is(err, bad) {
				t.Errorf("Of = %v, %v, want the error", v, err)
			}
		}},
	} {
		x.before()
		n++
		if v, err := a.Of(x.question, look); err != nil || v != n {
			t.Errorf("%s: Of = %v, %v, want that of look %d", x.what, v, err, n)
		}
	}
	// One that began before Forget is not kept.
	begun, end := make(chan bool), make(chan bool)
	all.Go(func() {
		_, err := a.Of("four", func() (int64, error) { close(begun); <-end; return 0, nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	a.Forget()
	close(end)
	all.Wait()
	if v, err := a.Of("four", look); err != nil || v != n+1 {
		t.Errorf("Of = %v, %v, want that of look %d", v, err, n+1)
	}
}
