package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/jsonlist"
	"plimsoll/internal/text/size"
	"plimsoll/internal/watch"
)

// Bounds of the interval. Below the first, only the kernel's slices would show.
const (
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Hour
)

// watchOptions are the flags of watch.
type watchOptions struct {
	interval      time.Duration
	count         int
	devices, json bool
	named         []target.Ref
}

// watchCommand shows what containers and devices do.
func (a *app) watchCommand() *cobra.Command {
	var opt watchOptions
	var interval string
	var once bool
	cmd := &cobra.Command{
		Use:   "watch [TARGET...]",
		Short: "Show the I/O of containers, volumes and devices beside their limits",
		Long: `Watch shows every second, for each container: what its processes read and wrote, how much of
that reached which device, how close it is to its limits, and how long it waited. It also shows
what reached each volume with a device of its own, and for every device the columns of
iostat -xz. The busiest come first. It needs root for the processes of other users. On a
terminal it runs until Ctrl-C.

A byte that goes through a stack of devices, such as a loop device and the disk with its
file, counts once. Figures that the kernel doesn't count are shown as "?", never as 0. WAITS is also "?" for a
target that is at its limit and shows no waiting: a program that polls for its completions
(io_uring with SQPOLL) does not sleep for them.

` + targetHelp + `
Without one, all containers that run here are watched.`,
		Example: `  plimsoll watch
  plimsoll watch web volume:data --interval 5s
  plimsoll watch --once --json
  plimsoll watch --devices`,
		Args: cobra.ArbitraryArgs,
	}
	f := cmd.Flags()
	f.StringVar(&interval, "interval", "1s", "how long to measure for each table: 500ms, 10s")
	f.IntVar(&opt.count, "count", 0, "end after this many tables (0: continue until Ctrl-C)")
	f.BoolVar(&once, "once", false, "measure one interval and end, as --count 1")
	f.BoolVar(&opt.devices, "devices", false, "only devices; ask no engine")
	f.BoolVar(&opt.json, "json", false, "print a line of JSON for each interval")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if once && cmd.Flags().Changed("count") {
			return usageError("--once means --count 1: leave out one of the two")
		}
		if err := opt.parse(interval, once, args); err != nil {
			return err
		}
		return a.watch(cmd.Context(), opt)
	}
	return cmd
}

// parse reads the values that need parsing.
func (o *watchOptions) parse(interval string, once bool, args []string) (err error) {
	if o.interval, err = size.ParseDuration(interval); err != nil {
		return usageError("--interval: %w", err)
	}
	if o.interval < leastInterval || o.interval > mostInterval {
		return usageError("--interval %s: write %s to %s, such as 5s", interval, size.FormatDuration(leastInterval), size.FormatDuration(mostInterval))
	}
	if o.count < 0 {
		return usageError("--count %d is negative: write how many tables, or 0 to go on until Ctrl-C", o.count)
	}
	if once {
		o.count = 1
	}
	if o.devices && len(args) > 0 {
		return usageError("--devices shows all devices and no targets: leave out %s or --devices", args[0])
	}
	o.named = nil
	for _, s := range args {
		ref, err := parseTarget(s)
		if err != nil {
			return err
		}
		o.named = append(o.named, ref)
	}
	return nil
}

// watch measures and prints until it is done or interrupted.
func (a *app) watch(ctx context.Context, opt watchOptions) error {
	if opt.count != 1 && a.quiet != nil {
		a.quiet.Store(true) // Ctrl-C is the normal way to end it.
	}
	var h *hold.Holder
	if !opt.devices {
		l, err := a.newHolder()
		if err != nil {
			return err
		}
		defer l.Finder.Close()
		h = l
	}
	w, err := watch.New(ctx, device.Host(), h, opt.named, opt.count != 1)
	if errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("only Linux has these counters: run plimsoll watch in the virtual machine where the containers run: %w", err)
	}
	if err != nil {
		return err
	}
	return w.Run(ctx, opt.interval, opt.count, a.watchScreen(opt))
}

// watchScreen returns a function that shows an interval: as a line of JSON, as a screen that a terminal redraws, or as
// a block of text.
func (a *app) watchScreen(opt watchOptions) func(*watch.Interval) error {
	if opt.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		return func(i *watch.Interval) error { return enc.Encode(jsonlist.Of(i)) }
	}
	text := watch.Text{All: len(opt.named) > 0, Devices: opt.devices}
	first := true
	return func(i *watch.Interval) error {
		term := terminal(a.stdout)
		text.Width = term.Width
		screen := text.Write(i)
		switch height := terminalHeight(a.stdout); {
		case height > 0 && opt.count != 1:
			screen = watch.OnScreen(screen, height, term.Width)
		case !first:
			screen = "\n" + screen
		}
		first = false
		_, err := io.WriteString(a.stdout, screen)
		return err
	}
}
