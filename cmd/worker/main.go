// Command worker does Plimsoll's I/O inside a container. It is embedded in
// plimsoll and started by it; it is not meant to be run by hand.
//
//	worker agent --dir DIR          serve plimsoll on standard input and output; --source DIR for sources
//	                                in another folder
//	worker agent --inside NAME      the same in a folder that was inherited as file 3; it is NAME in
//	                                the folder that is file 4
//	worker trial --dir DIR          one trial, started by the agent
//	worker step --dir DIR           steps of a safety check, started by the agent
//	worker nsexec ... -- COMMAND    make mounts in a mount namespace of its own, then run COMMAND
//	worker init MODULE ...          be the first process of a virtual machine: load the modules, then be the
//	                                agent of the place that plimsoll names on the machine's port
//	worker version                  say which program it is, and the version of its language
//
// It never touches anything outside the folders that --dir and --source name. What a program does that a plan's workload
// command names is that program's affair.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"plimsoll/internal/measure/step"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/worker"
	"plimsoll/internal/measure/workload"
)

func main() {
	// The worker's own memory is measured too (32 MiB at most), so collect early.
	debug.SetGCPercent(50)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "worker: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("this program is started by plimsoll; see plimsoll --help")
	}
	ctx := context.Background()
	// A parent that was killed reads no more. By default Go then ends the program as soon as it writes to standard
	// output, which would leave its folder behind. The signal is caught, not ignored, because children would inherit
	// that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	switch args[0] {
	case "version":
		return printIdentity()
	case "nsexec":
		return nsexec(args[1:])
	case "init":
		return machine(ctx, args[1:])
	case "agent", "trial", "step":
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	dir := flags.String("dir", "", "folder to work in")
	source := flags.String("source", "", "folder of the sources, if that is another")
	inside := flags.String("inside", "", "name of the inherited folder to work in")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *dir == "" && (*inside == "" || args[0] != "agent") {
		return errors.New("--dir is missing")
	}
	folders := workload.Folders{Work: *dir, Source: *source}
	if args[0] == "trial" {
		return worker.Trial(ctx, folders, worker.Input(), os.Stdout)
	}
	if args[0] == "step" {
		return step.Serve(*dir, os.Stdin, os.Stdout)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the worker's own program: %w", err)
	}
	worker.RaiseOpenFiles()
	if *inside != "" {
		return worker.AgentInside(ctx, exe, os.NewFile(3, "folder"), os.NewFile(4, "base"), *inside, worker.Input(), os.Stdout)
	}
	return worker.Agent(ctx, exe, folders, worker.Input(), os.Stdout)
}

// printIdentity proves to the parent that it is talking to this worker.
func printIdentity() error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the worker's own program: %w", err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	_, err = fmt.Println(wire.Identity(program))
	return err
}
