package fio

import "strings"

// nearest maps a refused option to the supported one that comes closest to it: one of fio's, or one of Plimsoll's
// own, which begins with two dashes. For options that are not listed, the error says that there is none.
var nearest = map[string]string{
	"thinktime_blocks_type": "thinktime_blocks", "thinktime_iotime": "thinktime_blocks",
	"rw_sequencer": "rw", "iodepth_low": "iodepth",
	"ss_interval":          "steadystate_duration",
	"log_store_compressed": "log_avg_msec",
	"log_alternate_epoch":  "log_unix_epoch", "log_alternate_epoch_clock_id": "log_unix_epoch",
	"significant_figures": "--output-format",
	"stats":               "group_reporting", "disk_util": "--output-format", "block_error_percentiles": "percentile_list", "unit_base": "kb_base",
	"max_latency": "percentile_list",

	"allow_file_create": "filename", "allow_mounted_write": "--destructive",
	"unique_filename": "filename_format",
	"sync_file_range": "fdatasync", "write_barrier": "fsync", "atomic": "direct", "uncached": "direct",
	"cmd_type": "ioengine", "force_async": "ioengine", "nowait": "ioengine",

	"cgroup": "--cpus", "cgroup_weight": "--cpu-shares", "cgroup_nodelete": "--cpus", "nice": "--cpu-shares",

	"replay_skip":         "rw",
	"merge_blktrace_file": "random_distribution", "merge_blktrace_scalars": "random_distribution", "merge_blktrace_iters": "loops",
	"trim_percentage": "rwmixwrite", "trim_verify_zero": "zero_buffers", "trim_backlog": "rwmixwrite", "trim_backlog_batch": "rwmixwrite",
	"zonecapacity":   "zonesize",
	"read_beyond_wp": "size", "max_open_zones": "nrfiles", "job_max_open_zones": "nrfiles", "ignore_zone_limits": "nrfiles",
	"zone_reset_threshold": "size", "zone_reset_frequency": "size",

	// Options of the command line.

	"bandwidth-log": "write_bw_log", "latency-log": "write_lat_log", "showcmd": "--parse-only",
	"client": "--engine", "server": "--engine", "remote-config": "--engine", "daemonize": "--engine",
	"trigger": "exitall", "trigger-file": "exitall", "trigger-timeout": "runtime", "trigger-remote": "exitall",
	"aux-path": "--output", "inflate-log": "log_avg_msec", "crctest": "verify", "merge-blktrace-only": "random_distribution",
	"cmdhelp": "--help", "enghelp": "--help",
}

// why is the reason why the option name is refused, and the nearest supported one.
func why(name, reason string) string {
	switch n := nearest[name]; {
	case n != "" && strings.Contains(reason, n):
		return reason // The reason already names an alternative.
	case n != "":
		return reason + "; the nearest supported option is " + n
	}
	return reason + "; there is no replacement"
}
