package check

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

const (
	// stillCached is the share of the sources in the page cache above which reads are not cold. It is not 0, because a
	// neighbour's readahead and mapped pages stay.
	stillCached = 0.1
	// mostCached is the share from which reads are warm.
	mostCached = 0.9
)

// shares are file systems with a cache of their own behind them: in the host of a virtual machine, a program or a server.
// Those of desktop products are among them.
var shares = []string{"9p", "virtiofs", "nfs", "nfs4", "cifs", "smb3", "vboxsf", "prl_fs", "fakeowner", "grpcfuse", "osxfs"}

// isShare reports whether a file system is a share, or is served by a program.
func isShare(fs string) bool {
	return slices.Contains(shares, fs) || fs == "fuse" || strings.HasPrefix(fs, "fuse.")
}

// checkWarm reports whether sources were read as cold or as warm as the job asked, and what that shows of a share.
func checkWarm(v *view) []record.Warning {
	reads := v.t.Spec.Reads
	if reads == "" {
		return nil
	}
	fs := v.where.FSType
	if f := v.where.From; f != nil {
		fs = f.FSType
	}
	if fs == "tmpfs" || fs == "ramfs" {
		return warning(Warm, record.Note, map[string]any{"fs": fs}, "The sources are in memory (%s): they can't be read cold.", fs)
	}
	least, most := 1.0, -1.0
	for i := range v.t.Results {
		if s := v.t.Results[i].Source; s != nil && s.Resident >= 0 {
			least, most = min(least, s.Resident), max(most, s.Resident)
		}
	}
	e := map[string]any{"reads": reads, "fs": fs, "least": least, "most": most}
	share := isShare(fs)
	switch {
	case reads == workload.Cold && most > stillCached:
		return warning(Warm, record.Doubt, e, "The job asked for cold reads, but %s of the sources' bytes were still in the page cache.", percent(most))
	case reads == workload.Warm && share:
		return warning(Warm, record.Note, e, "Warm reads of a share (%s) come from the host's cache, or from this kernel's, and don't show the cost of the boundary. Cold reads, writes and append show it.", fs)
	case reads == workload.Cold && share:
		return warning(Warm, record.Note, e, "The kernel that reads the sources on the share (%s) dropped them from its cache, but the host's own cache may still hold them.", fs)
	case reads == workload.Warm && most >= 0 && least < mostCached:
		return warning(Warm, record.Doubt, e, "The job asked for warm reads, but only %s of the sources' bytes were in the page cache: there is too little memory for them.", percent(least))
	}
	return nil
}
