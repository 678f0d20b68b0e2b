package load_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/load"
)

// A file is laid out, and 1,000 blocks of it are read at random places.
func Example() {
	dir, err := os.MkdirTemp("", "load-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, file := context.Background(), filepath.Join(dir, "data")
	if _, err := load.Layout(ctx, file, 1<<20, load.LayoutOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	run, err := load.Prepare(load.Job{
		RW: load.RandRead, BS: 4096, IODepth: 2, NumberIOs: 1000, Runtime: time.Minute,
		Filename: file, IOEngine: load.PSync,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	res, err := run.Start(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	reads := res.Class("read")
	fmt.Println(reads.Ops, "reads of", reads.Bytes/reads.Ops, "bytes by", res.Engine)
	fmt.Println("each with its latency:", reads.Lat.Count() == uint64(reads.Ops) && reads.Lat.Percentile(99) > 0)
	// Output:
	// 1000 reads of 4096 bytes by psync
	// each with its latency: true
}

// The null engine completes every I/O at once: what it reaches is the generator's own limit.
func ExamplePrepare_null() {
	run, err := load.Prepare(load.Job{RW: load.RandRead, IODepth: 32, Size: 1 << 30, NumberIOs: 100_000, IOEngine: load.Null})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	res, err := run.Start(context.Background(), nil)
	fmt.Println(res.Ops(), err, res.IOPS() > 0)
	// Output: 100000 <nil> true
}

// Validate returns every contradiction at once; each names fio's option.
func ExampleJob_Validate() {
	err := load.Job{RW: "randred", Filename: "data", Direct: true, BS: 1000}.Validate()
	fmt.Println(err)
	var o *load.OptionError
	fmt.Println(errors.As(err, &o), o.Option)
	// Output:
	// rw="randred": not a pattern; use one of read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite, randtrimwrite
	// bs=1000: direct I/O needs a multiple of 512; use bs=1024 or direct=0
	// true rw
}
