package lastbytes

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestBuffer(t *testing.T) {
	for _, row := range []struct {
		name   string
		max    int
		writes []string
		want   string
	}{
		{"nothing kept", 0, []string{"a\n"}, ""},
		{"nothing written", 8, nil, ""},
		{"empty write", 8, []string{""}, ""},
		{"fits exactly", 4, []string{"a\nb\n"}, "a\nb"},
		{"torn line dropped", 6, []string{"first\nsec\n"}, "sec"},
		{"whole first line kept", 4, []string{"first\nsec\n"}, "sec"},
		{"one long line", 4, []string{"abcdefgh"}, "efgh"},
		{"in small pieces", 5, []string{"ab", "c\n", "de", "f\n"}, "def"},
		{"whole after torn", 3, []string{"abcdef", "\nxy\n"}, "xy"},
	} {
		b := Buffer{Max: row.max}
		for _, w := range row.writes {
			if n, err := b.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("%s: Write(%q) = %d, %v", row.name, w, n, err)
			}
		}
		if got := b.String(); got != row.want {
			t.Errorf("%s: String() = %q, want %q", row.name, got, row.want)
		}
	}
}

// TestBufferMax: however it is written to, it keeps no more than it should.
func TestBufferMax(t *testing.T) {
	b := Buffer{Max: 100}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 200 {
				fmt.Fprintf(&b, "%d %s\n", i, strings.Repeat("x", j))
				if s := b.String(); len(s) > 100 {
					t.Errorf("%d bytes kept", len(s))
				}
			}
		})
	}
	wg.Wait()
}
