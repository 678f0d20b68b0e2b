package limit

import (
	"fmt"
	"slices"

	"plimsoll/internal/text/size"
)

// An Implied is what the rates of one direction let through in I/Os of one size.
type Implied struct {
	// Direction is "read" or "write"; "both" for a rate of reads and writes together.
	Direction string `json:"direction"`
	// BlockSize is the size of an I/O in bytes.
	BlockSize int64 `json:"block_size"`
	// BPS and IOPS are the most that is let through a second, in bytes and in I/Os of that size.
	BPS  int64   `json:"bps"`
	IOPS float64 `json:"iops"`
	// By is the key that binds at this size.
	By Key `json:"by"`
	// Largest is whether BlockSize is the largest I/O that the device takes whole. BPS is then
	// the highest bandwidth that the limit allows.
	Largest bool `json:"largest"`
}

// Implied returns what the rates of l let through in I/Os of the given sizes, and of the largest size that the
// device takes, in bytes (max_sectors_kb of its queue, times 1024; 0: not known). A direction
// without rates has no entry.
//
// The kernel counts each part of an I/O that it had to split (since Linux 5.18; before, it
// counted the whole as one), so the largest I/O decides what an IOPS limit means for bandwidth: 100 a second
// with 4 MiB each were 422 MB/s when measured.
func (l Limits) Implied(sizes []int64, maxIO int64) []Implied {
	var out []Implied
	for _, d := range []struct {
		name      string
		bps, iops int64
		kb, ki    Key
	}{{"read", l.ReadBPS, l.ReadIOPS, ReadBPS, ReadIOPS}, {"write", l.WriteBPS, l.WriteIOPS, WriteBPS, WriteIOPS}, {"both", l.SystemBPS, l.SystemIOPS, SystemBPS, SystemIOPS}} {
		if d.bps <= 0 && d.iops <= 0 {
			continue
		}
		at := slices.Clone(sizes)
		// A limit in bytes is the same at any size; only for IOPS does the largest add information.
		if maxIO > 0 && d.iops > 0 {
			at = append(at, maxIO)
		}
		slices.Sort(at)
		for _, bs := range slices.Compact(at) {
			if bs <= 0 {
				continue
			}
			i := Implied{Direction: d.name, BlockSize: bs, By: d.kb, IOPS: float64(d.bps) / float64(bs), Largest: bs == maxIO && d.iops > 0}
			parts := int64(1)
			if maxIO > 0 {
				parts = (bs + maxIO - 1) / maxIO
			}
			i.BPS = d.bps
			if whole := float64(d.iops) / float64(parts); d.iops > 0 && (d.bps <= 0 || whole < i.IOPS) {
				i.By, i.IOPS, i.BPS = d.ki, whole, int64(whole*float64(bs))
			}
			out = append(out, i)
		}
	}
	return out
}

// String is a sentence without a full stop: "write_iops lets 400 KiB/s through in I/Os of 4KiB".
func (i Implied) String() string {
	of := size.Format(i.BlockSize)
	if i.By == ReadIOPS || i.By == WriteIOPS || i.By == SystemIOPS {
		if i.Largest {
			return fmt.Sprintf("%s lets up to %s through: the device takes I/Os of up to %s", i.By, size.Rate(float64(i.BPS)), of)
		}
		return fmt.Sprintf("%s lets %s through in I/Os of %s", i.By, size.Rate(float64(i.BPS)), of)
	}
	return fmt.Sprintf("%s lets %s I/Os of %s a second through", i.By, size.Count(i.IOPS), of)
}
