package watch

import (
	"plimsoll/internal/host/device"
)

// A Service is the device's time that a subject's requests took: the columns await, aqu-sz and %util of iostat -x, for one
// container on one device.
//
// The kernel keeps these times by device and not by group (blkio.io_service_time was removed in Linux 5.0, except for
// BFQ). A Service is therefore the subject's share of the device's counters, by bytes, separately for reads and
// writes. It is exact, and Alone is set, if the subject did all of the device's I/O in the interval; otherwise it
// assumes that all requests on the device are alike. Time for which a limit holds I/O back is not included: it passes
// before the device.
type Service struct {
	// Await is the mean time of a request on the device, in milliseconds.
	Await float64 `json:"await_ms"`
	// Queue is the mean number of requests under way.
	Queue float64 `json:"queue"`
	// Util is the percentage of the interval with any request under way.
	Util float64 `json:"util"`
	// Alone is set if nothing else read or wrote there.
	Alone bool `json:"alone"`
}

// alone is the share of a device's bytes that counts as all: file systems and partition tables add a little that is
// charged to the root group.
const alone = 0.99

// service is a subject's share of a device's time. nil: it had no I/O there, or the device has no counters.
func service(c Charge, d DiskUse) *Service {
	if c.Read == nil || c.Write == nil || c.Read.IOs+c.Write.IOs == 0 {
		return nil
	}
	part := func(own, all int64) float64 {
		if own <= 0 || all <= 0 {
			return 0
		}
		return min(1, float64(own)/float64(all))
	}
	read, write := part(c.Read.Bytes, d.Read.Bytes), part(c.Write.Bytes, d.Write.Bytes)
	requests := read*d.ReadsS + write*d.WritesS
	if requests == 0 {
		return nil // All of it still waits, or was counted in the interval before.
	}
	// Milliseconds of requests, a second.
	own := read*d.ReadsS*d.ReadAw + write*d.WritesS*d.WriteAw
	all := d.ReadsS*d.ReadAw + d.WritesS*d.WriteAw + d.DiscardS*d.DiscAw + d.FlushesS*d.FlushAw
	s := &Service{Await: own / requests, Queue: own / 1000}
	s.Alone = (d.Read.Bytes == 0 || read >= alone) && (d.Write.Bytes == 0 || write >= alone)
	if all > 0 {
		s.Util = min(100, d.Util) * own / all
	} else {
		// Requests of less than a tick each: their number must do.
		s.Util = min(100, d.Util) * requests / (d.ReadsS + d.WritesS)
	}
	return s
}

// services fills in the device's time of each charge.
func services(list []Charge, devices []DiskUse) {
	by := make(map[device.Number]*DiskUse, len(devices))
	for i := range devices {
		by[devices[i].Number] = &devices[i]
	}
	for i := range list {
		if d := by[list[i].Number]; d != nil {
			list[i].Service = service(list[i], *d)
		}
	}
}
