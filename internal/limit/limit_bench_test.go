package limit

import "testing"

// BenchmarkCheck is of what a keeper does for each container at each look.
func BenchmarkCheck(b *testing.B) {
	l := Limits{ReadBPS: 100 << 20, WriteBPS: 50 << 20, ReadIOPS: 5000, WriteIOPS: 2000}
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
