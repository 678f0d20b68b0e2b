package check

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
)

// residentLeft is the share of the file that may be in the page cache after direct I/O: edges of the layout that the kernel
// has not released yet.
const residentLeft = 0.05

// checkDirect is check 2: was O_DIRECT refused, or accepted without effect? checkCache reports bytes that did not reach the
// device, and that O_DIRECT means nothing on tmpfs.
func checkDirect(v *view) []record.Warning {
	if !v.block || v.memory || !v.t.Spec.Job.Direct {
		return nil
	}
	for i := range v.results {
		f := v.results[i].File
		e := map[string]any{"open": f.DirectOpen, "error": f.DirectError, "dio_align": f.DIOAlign, "resident": f.Resident, "fs": v.where.FSType}
		switch {
		case !f.DirectAsked:
			continue // an engine without a file
		case !f.DirectOpen:
			return warning(Direct, record.Doubt, e, "O_DIRECT was refused (%s): the figure is that of buffered I/O.", orUnknown(f.DirectError))
		case f.DIOAlign == 0:
			return warning(Direct, record.Doubt, e, "O_DIRECT was accepted, but the file system reports no direct I/O for this file (statx dio_offset_align 0): the I/O was buffered.")
		case passesOn(v.where.FSType):
			return warning(Direct, record.Note, e, "%s accepted O_DIRECT, but passes requests on: Plimsoll can't see whether the storage behind it uses a cache.", v.where.FSType)
		case f.Resident > residentLeft && !v.arrived():
			return warning(Direct, record.Doubt, e, "O_DIRECT was accepted, but %s of the file was in the page cache afterwards: the I/O went through the cache.", percent(f.Resident))
		}
	}
	return nil
}

// arrived reports whether the device is known to have done all of the I/O. Pages in the cache are leftovers then, and
// served no read.
func (v *view) arrived() bool {
	all := func(f flow) bool { return f.app == 0 || f.share(v.slack) >= allReached }
	return v.onDisk() && all(v.read) && all(v.written)
}

// passers are file systems that hand their requests to a program, a host or a server.
var passers = []string{"9p", "virtiofs", "fuse", "cifs", "smb3", "nfs", "nfs4"}

// passesOn reports whether a file system is one of them.
func passesOn(fs string) bool {
	return slices.Contains(passers, fs) || strings.HasPrefix(fs, "fuse.")
}

func orUnknown(s string) string {
	if s == "" {
		return "no reason given"
	}
	return s
}
