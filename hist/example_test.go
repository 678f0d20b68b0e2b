package hist_test

import (
	"encoding/json"
	"fmt"
	"time"

	"plimsoll/hist"
)

// Two clients are merged before a percentile is asked for: the mean of their p99s
// would be 505 µs, which no request took.
func Example() {
	var fast, slow hist.Histogram
	for range 9_900 {
		fast.Record(10_000) // 10 µs
	}
	for range 100 {
		slow.Record(1_000_000) // 1 ms
	}
	var all hist.Histogram
	all.Merge(&fast)
	all.Merge(&slow)
	fmt.Println(all.Count(), "I/Os")
	fmt.Println("p50 ", time.Duration(all.Percentile(50)))
	fmt.Println("p99.9", time.Duration(all.Percentile(99.9)))
	fmt.Println("mean", time.Duration(all.Mean()))
	// Output:
	// 10000 I/Os
	// p50  10.048µs
	// p99.9 1ms
	// mean 19.9µs
}

// The JSON form is sparse: one pair for each bucket that holds anything.
func ExampleHistogram_MarshalJSON() {
	var h hist.Histogram
	h.RecordN(100, 2)
	h.Record(260)
	text, _ := json.Marshal(&h)
	fmt.Println(string(text))
	// Output: {"n":3,"min":100,"max":260,"sum":460,"bins":[[100,2],[193,1]]}
}

// The buckets are those of fio's JSON+ output, so a bin is found by its middle.
func ExampleHistogram_All() {
	var h hist.Histogram
	h.RecordN(5_000, 3)
	h.Record(70_000)
	for i, n := range h.All() {
		fmt.Printf("%d I/Os of about %d ns\n", n, hist.Value(i))
	}
	// Output:
	// 3 I/Os of about 5024 ns
	// 1 I/Os of about 70144 ns
}
