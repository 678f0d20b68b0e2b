package engines

import (
	"context"
	"fmt"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/text/clean"
)

// SweepOthers removes what killed commands left: device-wide limits, comparisons with fio, and sessions of engines that are not in used. The
// runner of a plan sweeps the engines that it uses.
func (s Source) SweepOthers(ctx context.Context, used map[string]engine.Engine) {
	s.SweepLimits(ctx)
	s.sweepSelfchecks(ctx)
	names := map[string]bool{}
	for _, e := range used {
		names[e.Name()] = true
	}
	for _, e := range s.All() {
		if !names[e.Name()] {
			s.Sweep(ctx, e)
		}
	}
}

// Sweep removes what killed runs left with an engine.
func (s Source) Sweep(ctx context.Context, e engine.Engine) {
	left, err := e.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		s.say(fmt.Sprintf("leftovers of an earlier run with engine %s could not be removed: %s", e.Name(), clean.Short(err.Error())))
	}
	s.removed(left)
}

// SweepLimits removes the device-wide limits that killed runs left.
func (s Source) SweepLimits(ctx context.Context) {
	left, err := hold.SweepRuns(ctx, device.Host(), s.Machine)
	if err != nil && ctx.Err() == nil {
		s.say("a limit that an earlier run left could not be removed: " + clean.Short(err.Error()))
	}
	s.removed(left)
}

// sweepSelfchecks removes what killed comparisons with fio left.
func (s Source) sweepSelfchecks(ctx context.Context) {
	left, err := selfcheck.Sweep(ctx, s.State)
	if err != nil && ctx.Err() == nil {
		s.say("what an earlier selfcheck left could not be removed: " + clean.Short(err.Error()))
	}
	s.removed(left)
}

func (s Source) removed(left []string) {
	for _, l := range left {
		s.say("removed the leftovers of an earlier run: " + clean.Short(l))
	}
}

func (s Source) say(text string) {
	if s.Say != nil {
		s.Say(text)
	}
}
