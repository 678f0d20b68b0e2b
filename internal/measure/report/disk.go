package report

import (
	"fmt"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
)

// diskOf sums the bytes of all measured trials, of the application and of the device.
func diskOf(trials []*record.Trial) Disk {
	d := Disk{Read: Unknown, Write: Unknown}
	var appRead, appWritten, devRead, devWritten int64
	for _, t := range trials {
		if t.Status != record.Done {
			continue
		}
		for _, g := range t.DeviceUses() {
			d.Memory = d.Memory || device.IsMemory(g.Where.FSType) || g.Where.InMemory != ""
			truth := g.Truth
			if truth.DeviceWhy != "" {
				d.Why = truth.DeviceWhy
			}
			if g.Where.InMemory != "" {
				d.Why = g.Where.InMemory
			}
			if truth.Device == "" {
				continue
			}
			d.Device = truth.Device
			if truth.AppRead > 0 && truth.DeviceRead >= 0 {
				appRead += truth.AppRead
				devRead += truth.DeviceRead
			}
			if truth.AppWritten > 0 && truth.DeviceWritten >= 0 {
				appWritten += truth.AppWritten
				devWritten += truth.DeviceWritten
			}
		}
	}
	if appRead > 0 {
		d.Read = Num(float64(devRead) / float64(appRead))
	}
	if appWritten > 0 {
		d.Write = Num(float64(devWritten) / float64(appWritten))
	}
	return d
}

// String is the short form for tables: "100 %", "r 3 %, w 101 %", "memory", "?".
func (d Disk) String() string {
	switch {
	case d.Memory:
		return "memory"
	case d.Read.Known() && d.Write.Known():
		return fmt.Sprintf("r %s, w %s", percent(d.Read), percent(d.Write))
	case d.Read.Known():
		return percent(d.Read)
	case d.Write.Known():
		return percent(d.Write)
	}
	return "?"
}

// percent prints a share, with one decimal only where it matters: 0.4 %. A share of 1,000 % or more is printed as a factor:
// a write of 64 bytes may cost a page and a journal block.
func percent(n Num) string {
	p := float64(n) * 100
	switch {
	case p == 0:
		return "0 %"
	case p < 0.05:
		return "<0.1 %"
	case p < 1:
		return fmt.Sprintf("%.1f %%", p)
	case p < 1000:
		return fmt.Sprintf("%.0f %%", p)
	}
	return fmt.Sprintf("%.0fx", p/100)
}
