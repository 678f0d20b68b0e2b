// Package paralleltest runs more of a package's parallel tests at once than there are processors. Such tests mostly wait: for a
// throttled disk, a daemon, a window, or a program that sleeps.
package paralleltest

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Main runs a package's tests, with n parallel ones at once. It is a package's TestMain.
func Main(m *testing.M, tests int) {
	AtOnce(tests)
	os.Exit(m.Run())
}

// AtOnce sets the number of parallel tests. It is for TestMain. A -parallel on the command line takes precedence.
func AtOnce(tests int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked && runtime.GOMAXPROCS(0) < tests {
		if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
			panic(err)
		}
	}
}
