package fio

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"

	"plimsoll/internal/measure/workload"
)

// idleness is how idle the machine's CPUs were while the stages ran (--idle-prof).
type idleness struct {
	perCPU bool
	cpus   []workload.CPUDelta
	// unit is the mean time of a unit of work in microseconds, deviation its standard deviation.
	unit, deviation float64
}

// calibrateOnly is the value of --idle-prof that only calibrates, without running jobs.
const calibrateOnly = "calibrate"

// setIdle reads --idle-prof.
func setIdle(p *parser, v string) error {
	w, err := oneOf(v, "system", "percpu", calibrateOnly)
	if err == nil {
		p.test.idle = w
	}
	return err
}

// addCPUs adds up the CPU times of two stages.
func addCPUs(a, b []workload.CPUDelta) []workload.CPUDelta {
	for _, d := range b {
		found := false
		for i := range a {
			if o := &a[i]; o.CPU == d.CPU {
				o.User, o.System, o.Idle, found = o.User+d.User, o.System+d.System, o.Idle+d.Idle, true
			}
		}
		if !found {
			a = append(a, d)
		}
	}
	return a
}

// share is a CPU's idle time in percent.
func share(d workload.CPUDelta) float64 {
	all := d.User + d.System + d.Idle
	if all <= 0 {
		return 0
	}
	return 100 * float64(d.Idle) / float64(all)
}

// system is the mean over the CPUs.
func (i *idleness) system() float64 {
	sum := 0.0
	for _, d := range i.cpus {
		sum += share(d)
	}
	return sum / float64(max(len(i.cpus), 1))
}

// calibrate times fio's unit of work: writing each byte of a page (calibrate_unit in its idletime.c).
func (i *idleness) calibrate() {
	const runs, scale = 10, 100
	var page [4096]byte
	var took [runs]float64
	for r := range took {
		begin := time.Now()
		for j := range scale {
			for k := range page {
				page[(k+j)%len(page)] = byte(k)
			}
		}
		took[r] = float64(time.Since(begin).Nanoseconds()) / 1e3 / scale
		i.unit += took[r] / runs
	}
	for _, t := range took {
		i.deviation += (t - i.unit) * (t - i.unit) / (runs - 1)
	}
	i.deviation = math.Sqrt(i.deviation)
}

// json is fio's cpu_idleness.
func (i *idleness) json() object {
	o := object{{"system", float(i.system())}}
	if i.perCPU {
		for _, d := range i.cpus {
			o = append(o, member{fmt.Sprintf("cpu-%d", d.CPU), float(share(d))})
		}
	}
	return append(o, member{"unit_mean", float(i.unit)}, member{"unit_stddev", float(i.deviation)})
}

// text is what fio prints.
func (i *idleness) text(w *bytes.Buffer) {
	fmt.Fprintf(w, "\nCPU idleness:\n  system: %.2f%%\n", i.system())
	for k, d := range i.cpus {
		switch {
		case !i.perCPU:
		case k == 0:
			fmt.Fprintf(w, "  percpu: %.2f%%", share(d))
		default:
			fmt.Fprintf(w, ", %.2f%%", share(d))
		}
	}
	if i.perCPU && len(i.cpus) > 0 {
		w.WriteByte('\n')
	}
	i.unitText(w)
}

func (i *idleness) unitText(w io.Writer) {
	fmt.Fprintf(w, "  unit work: mean=%.2fus, stddev=%.2f\n", i.unit, i.deviation)
}
