// Command goresctrl prints the limits that goresctrl reads from a block I/O configuration. containerd and CRI-O give these
// to a container. A test of internal/limit/keeper compares plimsoll's import of such files with them.
//
//	goresctrl FILE...
//
// It prints a line of JSON for each file: the error, or for each class the limits by device. It is a module of its own,
// with the versions of the current containerd, so that goresctrl is no dependency of Plimsoll.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/intel/goresctrl/pkg/blockio"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// A result is the outcome of reading a file.
type result struct {
	Error   string
	Classes map[string]*specs.LinuxBlockIO
}

func main() {
	blockio.SetLogger(slog.New(slog.DiscardHandler))
	out := json.NewEncoder(os.Stdout)
	for _, file := range os.Args[1:] {
		r := result{Classes: map[string]*specs.LinuxBlockIO{}}
		if err := blockio.SetConfigFromFile(file, false); err != nil {
			r.Error = err.Error()
		} else {
			for _, class := range blockio.GetClasses() {
				if r.Classes[class], err = blockio.OciLinuxBlockIO(class); err != nil {
					r.Error = err.Error()
				}
			}
		}
		if err := out.Encode(r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
