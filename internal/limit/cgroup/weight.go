package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/weight"
)

// A weightScale is a kind of weight that a kernel may have.
type weightScale struct {
	// by is what uses the weight, in package weight's terms.
	by string
	// files may have the weight for all devices; the first that exists counts. device may have those of single
	// devices, "" for the same file.
	files  []string
	device string
	// normal is the default weight.
	normal int64
	// to converts from io.weight's scale.
	to func(int64) (int64, bool)
	// from converts to it.
	from func(int64) int64
	// resets is set if writing the weight for all devices removes those of single ones (bfq_io_set_weight_legacy in
	// the kernel's block/bfq-cgroup.c; seen with 6.18).
	resets bool
}

// weightScales are the scales of a version.
func weightScales(version int) []weightScale {
	same := func(w int64) (int64, bool) { return w, true }
	as := func(w int64) int64 { return w }
	if version == 2 {
		return []weightScale{
			{by: weight.ByBFQ, files: weight.Files(2, weight.ByBFQ), normal: limit.DefaultWeight, to: limit.BFQWeight, from: as, resets: true},
			{by: weight.ByIOCost, files: weight.Files(2, weight.ByIOCost), normal: limit.DefaultWeight, to: same, from: as},
		}
	}
	return []weightScale{
		{by: weight.ByBFQ, files: weight.Files(1, weight.ByBFQ), normal: limit.DefaultWeight, to: limit.BFQWeight, from: as, resets: true},
		{by: weight.ByCFQ, files: weight.Files(1, weight.ByCFQ), device: "blkio.weight_device", normal: limit.DefaultCFQWeight, to: limit.CFQWeight, from: limit.FromCFQWeight},
	}
}

// A weights is the content of a scale's files.
type weights struct {
	// file has the weight for all devices, and device those of single ones.
	file, device string
	normal       int64
	devices      deviceValues
}

// weight plans the weight. For all devices it is written to every such file of the kernel, because each disk decides
// which one is effective, and that may change; for one device only the effective one is written.
func (p *planner) weight(g *hierarchy.Group, keys []limit.Key) error {
	setting := !p.removing(keys...)
	if setting {
		for _, d := range p.want.WeightDevices {
			if err := p.device(d, keys...); err != nil {
				return err
			}
			if e := p.host.WeightEffect(g, d); !e.Works() {
				return &Fault{Keys: keys, Device: d, Why: e.Why, Fix: e.Fix, Err: ErrUnsupported}
			}
		}
	}
	found := 0
	for _, s := range weightScales(g.Version) {
		now, err := p.weights(g, s)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		found++
		if len(p.want.WeightDevices) > 0 {
			p.deviceWeights(g, s, now, keys)
		} else {
			p.allWeights(g, s, now, keys)
		}
	}
	switch {
	case !setting:
	case found == 0:
		return p.noWeight(g, keys)
	case len(p.want.WeightDevices) == 0:
		p.note("a weight acts on disks that bfq schedules or that iocost is enabled for, and on no others")
	}
	return nil
}

// noWeight is the fault where no file for weights exists.
func (p *planner) noWeight(g *hierarchy.Group, keys []limit.Key) error {
	err := p.host.missing(g, weightScales(g.Version)[0].files[0], fs.ErrNotExist, keys...)
	var f *Fault
	if errors.As(err, &f) && errors.Is(f.Err, ErrUnsupported) && !g.IsRoot() {
		f.Why, f.Fix = "this kernel has no weights for groups", "load bfq (modprobe bfq) and let it schedule the disk, or give rates"
	}
	return err
}

// weights reads a scale's files. The error is fs.ErrNotExist if the kernel has none.
func (p *planner) weights(g *hierarchy.Group, s weightScale) (w weights, err error) {
	for _, file := range s.files {
		if w, err = p.weightFile(g, file); err == nil {
			w.file, w.device = file, file
			break
		}
	}
	if err != nil || s.device == "" {
		return w, err
	}
	d, err := p.weightFile(g, s.device)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	w.device, w.devices = s.device, d.devices
	return w, nil
}

func (p *planner) weightFile(g *hierarchy.Group, file string) (weights, error) {
	b, err := p.read(g, file)
	if err != nil {
		return weights{}, err
	}
	w, err := parseWeights(b)
	if err != nil {
		return w, fmt.Errorf("%s: %w", filepath.Join(g.Dir, file), err)
	}
	return w, nil
}

// parseWeights reads "100", or "default 100" and lines for single devices, "254:0 200".
func parseWeights(b []byte) (weights, error) {
	var w weights
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) == 0 || strings.HasPrefix(f[0], "(") {
			continue
		}
		n, err := strconv.ParseInt(f[len(f)-1], 10, 64)
		if err != nil || n < 0 || len(f) > 2 {
			return weights{}, fmt.Errorf("can't read %q as a weight", line)
		}
		d, err := device.ParseNumber(f[0])
		switch {
		case len(f) == 1 || f[0] == "default":
			w.normal = n
		case err == nil:
			w.devices = append(w.devices, deviceValue{d, uint64(n)})
		default:
			return weights{}, fmt.Errorf("can't read %q as a weight", line)
		}
	}
	return w, nil
}

// converted is the wanted weight on a scale, 0 for none.
func (p *planner) converted(s weightScale, file string) int64 {
	asked := p.want.Change.Set.Weight
	if asked == 0 {
		return 0
	}
	v, exact := s.to(asked)
	if !exact {
		p.note("a weight of %d is %d in %s, which is the nearest that it takes", asked, v, file)
	}
	return v
}

// allWeights plans the weight for all devices. Removing it also removes those of single devices.
func (p *planner) allWeights(g *hierarchy.Group, s weightScale, now weights, keys []limit.Key) {
	want, kept := p.converted(s, now.file), now.devices
	if want == 0 {
		want = s.normal
		if now.normal == want || !s.resets {
			for _, v := range now.devices {
				p.deviceWeight(g, now, v.device, 0, keys)
			}
		}
		kept = nil
	}
	if now.normal == want {
		p.diff.Held++
		return
	}
	text, was := []string{strconv.FormatInt(want, 10)}, []string{strconv.FormatInt(now.normal, 10)}
	if s.resets {
		for _, v := range kept {
			text = append(text, weightLine(v.device, int64(v.value)))
		}
		for _, v := range now.devices {
			was = append(was, weightLine(v.device, int64(v.value)))
		}
	}
	p.edit(g, now.file, device.Number{}, keys, text, was)
}

// deviceWeights plans the weight of the wanted devices.
func (p *planner) deviceWeights(g *hierarchy.Group, s weightScale, now weights, keys []limit.Key) {
	for _, d := range p.want.WeightDevices {
		switch {
		case p.removing(keys...):
			p.deviceWeight(g, now, d, 0, keys)
		case p.host.WeightEffect(g, d).By == s.by:
			p.deviceWeight(g, now, d, p.converted(s, now.device), keys)
		}
	}
}

// deviceWeight plans the weight of one device; 0 is none.
func (p *planner) deviceWeight(g *hierarchy.Group, now weights, d device.Number, want int64, keys []limit.Key) {
	has, _ := now.devices.of(d)
	if int64(has) == want {
		p.diff.Held++
		return
	}
	p.edit(g, now.device, d, keys, []string{weightLine(d, want)}, []string{weightLine(d, int64(has))})
}

func weightLine(d device.Number, w int64) string {
	if w == 0 {
		return d.String() + " default"
	}
	return d.String() + " " + strconv.FormatInt(w, 10)
}
