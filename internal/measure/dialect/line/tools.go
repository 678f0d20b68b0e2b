package line

import (
	"context"
	"io"
	"os"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/ab"
	"plimsoll/internal/measure/dialect/dd"
	"plimsoll/internal/measure/dialect/diskspd"
	"plimsoll/internal/measure/dialect/fio"
	"plimsoll/internal/measure/dialect/orion"
)

// A Test is a line of another tool, parsed.
type Test interface {
	// Run does it in a session and prints what the tool would.
	Run(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error
}

// A Tool is another tool whose lines Plimsoll takes.
type Tool struct {
	// Name is its name; the others are for its help.
	Name, Use, Short, Long, Example string
	// Web: its lines ask a server over the network, and use no storage.
	Web bool
	// parse turns the tool's own arguments into a test, and reads the files that they name. destructive are the paths
	// that may be written over.
	parse func(read dialect.FileReader, args, destructive []string) (Test, error)
}

// runFunc is a test as a function.
type runFunc func(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error

// Run implements Test.
func (r runFunc) Run(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
	return r(ctx, s, stdout, stderr)
}

// wordsOnly is a line that measures nothing, and so needs no worker: it only prints something.
type wordsOnly struct{ Test }

// Tools are the tools whose lines Plimsoll takes.
func Tools() []Tool {
	return []Tool{
		{
			Name: "fio", Use: "fio JOBFILE... | --name=NAME [--OPTION[=VALUE]]...", Short: "Run fio's job files and command lines in any place",
			Long: `Fio runs a job file or a command line of fio unchanged and prints fio's output: normal text,
--output-format=json or json+. docs/reference/fio.md lists the options and what each one does here. An option
that can't have its effect is an error; none is ignored silently.`,
			Example: `  plimsoll fio job.fio
  plimsoll fio --name=a --rw=randread --bs=4k --iodepth=32 --direct=1 --size=1g --runtime=10 --time_based
  plimsoll fio job.fio --output-format=json+ --engine docker --place volume`,
			parse: func(read dialect.FileReader, args, destructive []string) (Test, error) {
				t, err := fio.Parse(args, fio.Source{ReadFile: read, Env: os.Getenv, Machine: fio.MachineWord, Device: fio.IsDevice})
				if err != nil {
					return nil, err
				}
				run := runFunc(func(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
					return t.Run(ctx, s, stdout, stderr, fio.RunOptions{Destructive: destructive, Create: func(name string) (io.WriteCloser, error) { return userfile.Create(ctx, name) }})
				})
				if t.RunsNothing() {
					return wordsOnly{run}, nil
				}
				return run, nil
			},
		},
		{
			Name: "diskspd", Use: "diskspd [OPTION]... TARGET...", Short: "Run a diskspd command line in any place",
			Long: `Diskspd runs a command line or an XML profile of Microsoft's diskspd unchanged and prints
diskspd's report as text or XML. A Windows path means a file of that name in the current folder,
or in the place. docs/reference/diskspd.md lists the options.`,
			Example: `  plimsoll diskspd -b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G "C:\iotest.dat"
  plimsoll diskspd -b4K -d10 -o32 -t1 -r -Sh -L -Rxml -c1G test.dat --engine oci --place bind`,
			parse: func(read dialect.FileReader, args, destructive []string) (Test, error) {
				t, err := diskspd.Parse(args, diskspd.ParseOptions{ReadFile: read})
				if err != nil {
					return nil, err
				}
				return runFunc(func(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
					return t.Run(ctx, s, diskspd.RunOptions{Destructive: destructive}, stdout, stderr)
				}), nil
			},
		},
		{
			Name: "orion", Use: "orion -run simple|normal|advanced|oltp|dss [OPTION]...", Short: "Run Oracle Orion's calibration in any place",
			Long: `Orion measures the same matrix of small and large I/Os as Oracle's Orion, prints the same lines
and writes the same files. NAME.lun lists the files to measure; --lun-size SIZE makes
those that don't exist. docs/reference/orion.md lists the options.`,
			Example: `  plimsoll orion -run simple -testname mytest -duration 10
  plimsoll orion -run oltp -testname mytest --lun-size 1GiB --engine docker --place volume`,
			parse: func(read dialect.FileReader, args, destructive []string) (Test, error) {
				return orion.Parse(args, destructive, read)
			},
		},
		{
			Name: "dd", Use: "dd if=FILE of=FILE [OPERAND]...", Short: "Run a dd command line in any place",
			Long: `Dd runs a dd command line unchanged and prints dd's last lines at its end. One side is storage: the other
is /dev/zero, /dev/urandom or /dev/null.`,
			Example: `  plimsoll dd if=/dev/zero of=test.img bs=1M count=256 oflag=direct
  plimsoll dd if=/dev/zero of=test.img bs=64K count=1000 oflag=dsync --engine docker --place volume
  plimsoll dd if=test.img of=/dev/null bs=1M iflag=direct`,
			parse: func(_ dialect.FileReader, args, destructive []string) (Test, error) {
				return dd.Parse(args, destructive)
			},
		},
		{
			Name: "ab", Web: true, Use: "ab [OPTION]... http[s]://HOST[:PORT]/PATH", Short: "Run an ab command line (ApacheBench) from any engine",
			Long: `Ab runs an ApacheBench command line unchanged and prints ApacheBench's report. It is a closed loop: while a
server stalls it gets fewer requests, so few requests see the stall. docs/reference/ab.md lists the options.`,
			Example: `  plimsoll ab -n 1000 -c 10 http://localhost:8080/
  plimsoll ab -t 10 -c 50 -k http://localhost:8080/index.html
  plimsoll ab -n 1000 -c 10 http://127.0.0.1:80/ --engine docker --network container:web --record`,
			parse: func(_ dialect.FileReader, args, _ []string) (Test, error) { return ab.Parse(args) },
		},
	}
}
