package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/ab"
	"plimsoll/internal/measure/dialect/dd"
	"plimsoll/internal/measure/dialect/diskspd"
	"plimsoll/internal/measure/dialect/fio"
	"plimsoll/internal/measure/dialect/orion"
)

// dialectRun is a test as a function.
type dialectRun func(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error

// Run implements dialectTest.
func (r dialectRun) Run(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
	return r(ctx, s, stdout, stderr)
}

// wordsOnly is a line that measures nothing, and so needs no worker: it only prints something.
type wordsOnly struct{ dialectTest }

// dialectTools are the tools whose lines Plimsoll takes.
func dialectTools() []dialectTool {
	return []dialectTool{
		{
			name: "fio", use: "fio JOBFILE... | --name=NAME [--OPTION[=VALUE]]...", short: "Run fio's job files and lines, anywhere",
			long: `Fio runs a job file or a line of fio unchanged and prints fio's output: normal text,
--output-format=json or json+. docs/reference/fio.md lists the options and what each one does here. An option
that can't have its effect is an error; none is ignored silently.`,
			example: `  plimsoll fio job.fio
  plimsoll fio --name=a --rw=randread --bs=4k --iodepth=32 --direct=1 --size=1g --runtime=10 --time_based
  plimsoll fio job.fio --output-format=json+ --engine docker --place volume`,
			parse: func(read dialect.FileReader, args, destructive []string) (dialectTest, error) {
				t, err := fio.Parse(args, fio.Source{ReadFile: read, Env: os.Getenv, Machine: fio.MachineWord, Device: fio.IsDevice})
				if err != nil {
					return nil, err
				}
				run := dialectRun(func(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
					return t.Run(ctx, s, stdout, stderr, fio.RunOptions{Destructive: destructive, Create: func(name string) (io.WriteCloser, error) { return userfile.Create(ctx, name) }})
				})
				if t.RunsNothing() {
					return wordsOnly{run}, nil
				}
				return run, nil
			},
		},
		{
			name: "diskspd", use: "diskspd [OPTION]... TARGET...", short: "Run a line of diskspd, anywhere",
			long: `Diskspd runs a line or an XML profile of Microsoft's diskspd unchanged and prints its report as
text or XML. A path of Windows is a file of that name in the current folder, or in the
place. docs/reference/diskspd.md lists the options.`,
			example: `  plimsoll diskspd -b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G "C:\iotest.dat"
  plimsoll diskspd -b4K -d10 -o32 -t1 -r -Sh -L -Rxml -c1G test.dat --engine oci --place bind`,
			parse: func(read dialect.FileReader, args, destructive []string) (dialectTest, error) {
				t, err := diskspd.Parse(args, diskspd.ParseOptions{ReadFile: read})
				if err != nil {
					return nil, err
				}
				return dialectRun(func(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error {
					return t.Run(ctx, s, diskspd.RunOptions{Destructive: destructive}, stdout, stderr)
				}), nil
			},
		},
		{
			name: "orion", use: "orion -run simple|normal|advanced|oltp|dss [OPTION]...", short: "Run Oracle Orion's calibration, anywhere",
			long: `Orion measures the matrix of small and large I/Os that Oracle's Orion does, prints its lines and
writes its files. The files to measure are listed in NAME.lun; --lun-size SIZE makes
those that aren't there. docs/reference/orion.md lists the options.`,
			example: `  plimsoll orion -run simple -testname mytest -duration 10
  plimsoll orion -run oltp --lun-size 1GiB --engine docker --place volume`,
			parse: func(read dialect.FileReader, args, destructive []string) (dialectTest, error) {
				return orion.Parse(args, destructive, read)
			},
		},
		{
			name: "dd", use: "dd if=FILE of=FILE [OPERAND]...", short: "Run a line of dd, anywhere",
			long: `Dd runs a line of dd unchanged and ends with dd's last lines. One side is storage: the other
is /dev/zero, /dev/urandom or /dev/null.`,
			example: `  plimsoll dd if=/dev/zero of=test.img bs=1M count=256 oflag=direct
  plimsoll dd if=/dev/zero of=test.img bs=64K count=1000 oflag=dsync --engine docker --place volume
  plimsoll dd if=test.img of=/dev/null bs=1M iflag=direct`,
			parse: func(_ dialect.FileReader, args, destructive []string) (dialectTest, error) {
				return dd.Parse(args, destructive)
			},
		},
		{
			name: "ab", web: true, use: "ab [OPTION]... http[s]://HOST[:PORT]/PATH", short: "Run a line of ab, a closed loop of requests",
			long: `Ab runs a line of ApacheBench unchanged and prints its report. It is a closed loop: while a
server stalls it gets fewer requests, so few requests see the stall. docs/reference/ab.md lists the options.`,
			example: `  plimsoll ab -n 1000 -c 10 http://localhost:8080/
  plimsoll ab -t 10 -c 50 -k http://localhost:8080/index.html
  plimsoll ab -n 1000 -c 10 http://127.0.0.1:80/ --engine docker --network container:web --record`,
			parse: func(_ dialect.FileReader, args, _ []string) (dialectTest, error) { return ab.Parse(args) },
		},
	}
}

// dialectCommands are the commands of the tools.
func (a *app) dialectCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, t := range dialectTools() {
		all = append(all, a.dialectCommand(t))
	}
	return all
}
