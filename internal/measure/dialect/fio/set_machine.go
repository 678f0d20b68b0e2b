package fio

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/load"
)

// engines maps fio's I/O engines to those that do their work here.
var engines = map[string]string{
	"io_uring": load.IOUring, "libaio": load.LinuxAIO, "posixaio": load.PSync, "null": load.Null,
	"mmap": load.MMap, "psync": load.PSync, "sync": load.PSync, "vsync": load.PSync, "pvsync": load.PSync, "pvsync2": load.PSync,
}

// synchronous engines have a depth of 1, whatever iodepth says.
var synchronous = map[string]bool{"mmap": true, "psync": true, "sync": true, "vsync": true, "pvsync": true, "pvsync2": true}

func setEngine(j *job, v string) error {
	switch v {
	case "windowsaio", "solarisaio":
		return fmt.Errorf("%s is not supported; use io_uring, libaio or psync", v)
	}
	w, err := oneOf(v, "io_uring", "libaio", "psync", "sync", "pvsync", "pvsync2", "vsync", "posixaio", "mmap", "null")
	if err == nil {
		j.ioengine = w
	}
	return err
}

func setSync(j *job, v string) error {
	words := map[string]string{"0": "", "none": "", "1": "sync", "sync": "sync", "dsync": "dsync"}
	w, ok := words[v]
	if !ok {
		return fmt.Errorf("%q must be none, sync, dsync, 0 or 1", v)
	}
	j.sync = w
	return nil
}

func setCPUMask(j *job, v string) error {
	n, err := parseInt(v, 1, math.MaxInt64)
	if err != nil {
		return err
	}
	j.cpus = nil
	for i := range 63 {
		if n>>i&1 == 1 {
			j.cpus = append(j.cpus, i)
		}
	}
	return nil
}

func setFileSize(j *job, v string) error {
	least, most := v, v
	if i := strings.IndexAny(v, "-:,"); i > 0 {
		least, most = v[:i], v[strings.LastIndexAny(v, "-:,/")+1:] // Parts between them have no effect, as in fio.
	}
	a, err := parseSize(least, j.kbBase)
	if err != nil {
		return err
	}
	b, err := parseSize(most, j.kbBase)
	switch {
	case err != nil:
		return err
	case b < a:
		return fmt.Errorf("%q: the second size is less than the first", v)
	}
	j.filesize, j.filesizeMost = a, b
	return nil
}

func setOffsetAlign(j *job, v string) error {
	n, err := parseSize(v, j.kbBase)
	switch {
	case err != nil:
	case n < 0 || n > 1<<30:
		err = fmt.Errorf("%q must be from 0 to 1g", v)
	default:
		j.offsetAlign = n
	}
	return err
}

func setCPUs(j *job, v string) error {
	cpus, err := parseCPUs(v)
	if err == nil {
		j.cpus = cpus
	}
	return err
}

func setPolicy(j *job, v string) error {
	w, err := oneOf(v, "shared", "split")
	if err == nil {
		j.splitCPUs = w == "split"
	}
	return err
}

func setHint(j *job, v string) error {
	w, err := oneOf(v, "0", "1", "random", "sequential")
	if err == nil {
		j.hint = map[string]string{"0": "", "1": byPattern, "random": load.Random, "sequential": load.Sequential}[w]
	}
	return err
}
