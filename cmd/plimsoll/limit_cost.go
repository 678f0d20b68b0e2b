package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/limit/iocost"
)

// limitCostCommand sets iocost's model of a disk, and its latency targets.
func (a *app) limitCostCommand() *cobra.Command {
	var qos, model []string
	var dry, asJSON bool
	c := &cobra.Command{
		Use:   "cost DEVICE",
		Short: "Configure iocost, which divides a disk by weight",
		Long: `Cost configures iocost, the part of the kernel that divides a disk by weight. It writes io.cost.model
and io.cost.qos, which only the root control group of version 2 has. The settings apply to all users of
the disk. Keys that aren't named keep their values.

  --qos    enable (0 or 1; 1 if it isn't named); rpct and rlat, wpct and wlat: the percentage of
           reads and of writes that must end within a time, as in rpct=95,rlat=5ms: while they don't,
           all groups get less; min and max bound how much less and more, in percent of the model's
           speed
  --model  what the disk can do: rbps, wbps (bytes a second), rseqiops, rrandiops, wseqiops and
           wrandiops (I/Os a second, in sequence and at random); all six are needed

Cost writes both, or none. It prints the command that restores the values from before.

Exit status: 0 done; 1 the kernel refused it; 2 wrong usage; 5 it can't be done here.`,
		Example: `  plimsoll limit cost /dev/sda --qos rpct=95,rlat=5ms,wpct=95,wlat=5ms,min=50,max=150
  plimsoll limit cost /dev/sda --model rbps=500MB,rseqiops=80000,rrandiops=60000,wbps=400MB,wseqiops=70000,wrandiops=50000
  plimsoll limit cost /dev/sda --qos enable=0`,
		Args: exactly(1, "DEVICE"),
	}
	f := c.Flags()
	f.StringSliceVar(&qos, "qos", nil, "targets for latency, such as rpct=95,rlat=5ms")
	f.StringSliceVar(&model, "model", nil, "the disk's performance, such as rbps=500MB,...")
	f.BoolVar(&dry, "dry-run", false, "print the writes and make none of them")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		want, err := iocost.Parse(qos, model)
		if err != nil {
			return err
		}
		l, err := a.newHolder()
		if err != nil {
			return err
		}
		defer l.Finder.Close()
		d, name, err := iocost.Disk(l.Explain, args[0])
		if err != nil {
			return err
		}
		r := iocost.Result{Device: name, Number: d, DryRun: dry}
		if r.Edits, err = want.Apply(l.Groups, d, dry); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return a.print(r, asJSON)
	}
	return c
}
