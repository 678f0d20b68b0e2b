// Command bench prints Plimsoll's figures beside those of its peers and beside their goals. make bench calls it.
//
//	bench load   package load beside fio, plimsoll ab beside ApacheBench
//	bench limit  the cost of limits for 1,000 groups, and how close the kernel comes to a limit
//	bench volume  what a volume with iops.min gets beside a neighbour at full load
//	bench trial  the cost of a trial beside its measured window; the time of whole runs
//
// 'bench load -help' lists the flags of load. The exit status is 1 on errors, and 2 if the arguments are wrong. A
// missed goal is not an error, because times on a shared machine mean little and need a reader's judgement. With 'bench
// limit -strict' it is one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"plimsoll/cmd/bench/limits"
	"plimsoll/cmd/bench/loads"
	"plimsoll/cmd/bench/trials"
	"plimsoll/cmd/bench/volumes"
)

func main() {
	// Groups, machines and loop devices are removed after a signal too.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// errUsage is the error for arguments that name no subcommand.
var errUsage = errors.New("usage: bench load|limit|trial|volume [flags]")

func run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	var err error
	switch rest := args[1:]; args[0] {
	case "load":
		err = loads.Run(ctx, stdin, stdout, stderr, rest)
	case "limit":
		err = limits.Run(ctx, stdout, stderr, rest)
	case "volume":
		err = volumes.Run(ctx, stdout, stderr, rest)
	case "trial":
		err = trials.Run(ctx, stdout, stderr, rest)
	default:
		return errUsage
	}
	if errors.Is(err, flag.ErrHelp) {
		return nil // The flags were printed.
	}
	return err
}
