package record

import (
	"cmp"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/workload"
)

// A DeviceUse is the I/O of a trial's clients that share one device. A disk's counters include all of them, so only their
// sum can be compared with the disk's.
type DeviceUse struct {
	// Clients are the indexes of its clients in the trial's Results.
	Clients []int
	// Where is that of its first client.
	Where Where
	// Truth sums the bytes of its clients, their processes and their control groups. The device's bytes are those of the
	// client with the longest window.
	Truth Truth
}

// A deviceKey identifies a device: by machine and disk. If no disk is known, the file system's type and
// source stand for it.
type deviceKey struct {
	host       string
	known      bool
	number     device.Number
	fs, source string
}

func (w *Where) deviceKey() deviceKey {
	if d := w.Device; d != nil {
		return deviceKey{host: w.Host, known: true, number: d.Number}
	}
	return deviceKey{host: w.Host, fs: w.FSType, source: w.Source}
}

// DeviceUses groups the clients of t by their device, in the order of their first clients. A trial without results has
// none.
func (t *Trial) DeviceUses() []DeviceUse {
	var uses []DeviceUse
	var longest []time.Duration // the window of the client that Truth's device is of
	index := map[deviceKey]int{}
	for i := range max(len(t.Results), len(t.Where)) {
		where, truth, window := entry(t.Where, i), entry(t.Truth, i), entry(t.Results, i).Elapsed
		k := where.deviceKey()
		at, ok := index[k]
		if !ok {
			at = len(uses)
			index[k] = at
			uses, longest = append(uses, DeviceUse{Clients: []int{i}, Where: where, Truth: truth}), append(longest, window)
			continue
		}
		g := &uses[at]
		g.Clients = append(g.Clients, i)
		g.Truth.add(&truth, window > longest[at])
		longest[at] = max(longest[at], window)
	}
	return uses
}

// FirstWhere is the place of the first client's data; the zero value if it isn't known.
func (t *Trial) FirstWhere() Where {
	if len(t.Where) == 0 {
		return Where{}
	}
	return t.Where[0]
}

// CommandEnd says how the program of the first client ended; nil if it runs none.
func (t *Trial) CommandEnd() *workload.CommandEnd {
	if t.Command != nil {
		return t.Command
	}
	if len(t.Results) > 0 {
		return t.Results[0].Command
	}
	return nil
}

// entry is a client's entry, the zero value if a failed trial has none.
func entry[T any](list []T, client int) (e T) {
	if client < len(list) {
		return list[client]
	}
	return e
}

// add adds another client of the same device. longer means that its window is the longest so far, so that the device's
// counters are taken from it.
func (t *Truth) add(other *Truth, longer bool) {
	t.addBytes(other)
	known := other.DeviceRead >= 0 && other.DeviceWritten >= 0
	if unknown := t.DeviceRead < 0 || t.DeviceWritten < 0; known && (longer || unknown) {
		t.Device, t.DeviceWhy = other.Device, other.DeviceWhy
		t.DeviceRead, t.DeviceWritten, t.DeviceBusy = other.DeviceRead, other.DeviceWritten, other.DeviceBusy
	}
	if len(t.Layers) == 0 || longer && len(other.Layers) > 0 {
		t.Layers = other.Layers
	}
}

// addBytes sums the bytes that are counted for each client separately.
func (t *Truth) addBytes(other *Truth) {
	plus(&t.AppRead, other.AppRead)
	plus(&t.AppWritten, other.AppWritten)
	plus(&t.ProcRead, other.ProcRead)
	plus(&t.ProcWritten, other.ProcWritten)
	plus(&t.CgroupRead, other.CgroupRead)
	plus(&t.CgroupWritten, other.CgroupWritten)
}

// plus adds n to a sum; -1 is unknown.
func plus(sum *int64, n int64) {
	if *sum < 0 || n < 0 {
		*sum = -1
		return
	}
	*sum += n
}

// Total adds up the devices of t, for a table with one row for each trial. Several devices are joined ("vda + vdb") and
// their bytes summed; the busy time is that of the busiest.
func (t *Trial) Total() Truth {
	var total Truth
	for i, g := range t.DeviceUses() {
		if i == 0 {
			total = g.Truth
			continue
		}
		total.addBytes(&g.Truth)
		plus(&total.DeviceRead, g.Truth.DeviceRead)
		plus(&total.DeviceWritten, g.Truth.DeviceWritten)
		total.DeviceBusy = max(total.DeviceBusy, g.Truth.DeviceBusy)
		if total.Device != "" && g.Truth.Device != "" {
			total.Device += " + "
		}
		total.Device += g.Truth.Device
		total.DeviceWhy = cmp.Or(total.DeviceWhy, g.Truth.DeviceWhy)
	}
	return total
}
