package load

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	fmt.Println(ProbeEngines(dir))
	p := dir + "/f"
	lr, err := Layout(context.Background(), p, 256<<20, LayoutOptions{KeepCached: true})
	fmt.Printf("%+v %v\n", lr, err)
	os.ReadFile(p)
	for _, d := range []bool{false, true} {
		for _, e := range engineNames {
			for _, depth := range []int{1, 32} {
				r, err := Prepare(Job{RW: RandRead, Filename: p, IODepth: depth, Runtime: time.Second, IOEngine: e, Size: 256 << 20, Direct: d})
				if err != nil {
					fmt.Println(e, err)
					continue
				}
				res, err := r.Start(context.Background(), nil)
				r.Close()
				c := res.Classes[0]
				fmt.Printf("direct=%v %s d%d: %.0f iops p50 %d p99 %d p99.9 %d max %d cpu %.0f ns/io u %v s %v unf %d samples %v %v\n", d, e, depth, res.IOPS(), c.Lat.Percentile(50), c.Lat.Percentile(99), c.Lat.Percentile(99.9), c.Lat.Max(), float64(res.Usage.User+res.Usage.System)/float64(res.Ops()), res.Usage.User, res.Usage.System, res.Unfinished, res.Samples, err)
			}
		}
	}
}
