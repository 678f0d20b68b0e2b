package fio

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/load"
)

// Setters of the common kinds.
type setter = func(*job, string) error

func boolTo(f func(*job) *bool) setter {
	return func(j *job, v string) error {
		b, err := parseBool(v)
		if err == nil {
			*f(j) = b
		}
		return err
	}
}

func notBool(f func(*job) *bool) setter {
	return func(j *job, v string) error {
		b, err := parseBool(v)
		if err == nil {
			*f(j) = !b
		}
		return err
	}
}

func intTo(f func(*job) *int, least, most int64) setter {
	return func(j *job, v string) error {
		n, err := parseInt(v, least, most)
		if err == nil {
			*f(j) = int(n)
		}
		return err
	}
}

func longTo(f func(*job) *int64, least, most int64) setter {
	return func(j *job, v string) error {
		n, err := parseInt(v, least, most)
		if err == nil {
			*f(j) = n
		}
		return err
	}
}

func timeTo(f func(*job) *time.Duration, bare time.Duration) setter {
	return func(j *job, v string) error {
		d, err := parseTime(v, bare)
		if err == nil {
			*f(j) = d
		}
		return err
	}
}

func amountTo(f func(*job) *amount) setter {
	return func(j *job, v string) error {
		a, err := parseAmount(v, j.kbBase)
		if err == nil {
			*f(j) = a
		}
		return err
	}
}

func wordTo(f func(*job) *string, words ...string) setter {
	return func(j *job, v string) error {
		w, err := oneOf(v, words...)
		if err == nil {
			*f(j) = w
		}
		return err
	}
}

func textTo(f func(*job) *string) setter {
	return func(j *job, v string) error {
		if strings.ContainsRune(v, 0) {
			return fmt.Errorf("holds a NUL byte")
		}
		*f(j) = v
		return nil
	}
}

func pairTo(f func(*job) *pair, least, most int64) setter {
	return func(j *job, v string) error {
		p, err := parsePair(v, func(s string) (int64, error) {
			n, err := parseSize(s, j.kbBase)
			if err == nil && (n < least || n > most) {
				err = fmt.Errorf("%q has to be from %d to %d", s, least, most)
			}
			return n, err
		})
		if err == nil {
			f(j).set(p)
		}
		return err
	}
}

// splitTo reads both directions of bssplit or bsrange.
func splitTo(one func(string, int64) ([]load.SizeShare, error)) setter {
	return func(j *job, v string) error {
		parts := strings.Split(v, ",")
		if len(parts) > 3 {
			return fmt.Errorf("%q has more than three parts: reads, writes, trims", v)
		}
		for i, p := range parts {
			if p == "" {
				continue
			}
			s, err := one(p, j.kbBase)
			if err != nil {
				return err
			}
			switch i {
			case 0:
				j.readSplit = s
				if len(parts) == 1 {
					j.writeSplit, j.trimSplit = s, s
				}
			case 1:
				j.writeSplit = s
				if len(parts) == 2 {
					j.trimSplit = s
				}
			case 2:
				j.trimSplit = s
			}
		}
		return nil
	}
}

func setRW(j *job, v string) error {
	word, number, has := strings.Cut(v, ":")
	switch word {
	case "trimwrite", "randtrimwrite":
		return fmt.Errorf("trims and writes of the same blocks in turn are not supported; use trim or randtrim, and another job that writes")
	case "readwrite":
		word = load.RW
	}
	w, err := oneOf(word, load.Read, load.Write, load.RandRead, load.RandWrite, load.RW, load.RandRW, load.Trim, load.RandTrim)
	if err != nil {
		return err
	}
	j.rw, j.rwNumber, j.hasRWNumber = w, 0, has
	if !has {
		return nil
	}
	sign := int64(1)
	if strings.HasPrefix(number, "-") {
		sign, number = -1, number[1:]
	}
	n, err := parseSize(number, j.kbBase)
	if err != nil {
		return fmt.Errorf("%q: behind the colon stands a number: of I/Os that follow one another, as in randrw:8, or of bytes that are left out, as in read:4k; where they follow on is rw_sequencer", v)
	}
	if strings.HasPrefix(w, "rand") && (n < 1 || sign < 0) {
		return fmt.Errorf("%q: behind a random pattern stands how many I/Os follow one another, from 1 on", v)
	}
	j.rwNumber = sign * n
	return nil
}

func setMix(write bool) setter {
	return func(j *job, v string) error {
		n, err := parseInt(v, 0, 100)
		if err != nil {
			return err
		}
		if write {
			n = 100 - n
		}
		j.mixRead, j.hasMix = int(n), true
		return nil
	}
}

// engines are fio's names of I/O engines and what does their work here.
var engines = map[string]string{
	"io_uring": load.IOUring, "libaio": load.LinuxAIO, "posixaio": load.PSync, "null": load.Null,
	"mmap": load.MMap, "psync": load.PSync, "sync": load.PSync, "vsync": load.PSync, "pvsync": load.PSync, "pvsync2": load.PSync,
}

// synchronous engines do one I/O at a time whatever iodepth says.
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
		return fmt.Errorf("%q is none of none, sync, dsync, 0, 1", v)
	}
	j.sync = w
	return nil
}

func setDistribution(j *job, v string) error {
	if strings.ContainsRune(v, ',') {
		return fmt.Errorf("one distribution for reads and another for writes is not supported; use two jobs")
	}
	if _, err := load.ParseDistribution(v); err != nil {
		return err
	}
	j.distribution = v
	return nil
}

func setPercentageRandom(j *job, v string) error {
	p, err := parsePair(v, func(s string) (int64, error) { return parseInt(s, 0, 100) })
	if err != nil {
		return err
	}
	// In fio a direction without a value keeps its default.
	if !p.hasRead {
		p.read = 100
	}
	if !p.hasWrite {
		p.write = 100
	}
	if !p.hasTrim {
		p.trim = 100
	}
	j.percRandom = &p
	return nil
}

func setService(j *job, v string) error {
	word, n, has := strings.Cut(v, ":")
	switch word {
	case "zipf", "pareto", "normal", "gauss":
		return fmt.Errorf("%s is not supported for files; use roundrobin, sequential or random", word)
	}
	if has && n != "1" {
		return fmt.Errorf("%q: a file is left after each I/O (roundrobin, random) or when it is done (sequential); leave :%s out", v, n)
	}
	w, err := oneOf(word, load.RoundRobin, load.Sequential, load.Random)
	if err == nil {
		j.service = w
	}
	return err
}

// checksums are fio's words for what a stamp has of a block's data. Here it is CRC-32C in any case.
var checksums = []string{
	"crc32c", "crc32c-intel", "1", "md5", "crc64", "crc32", "crc16", "crc7", "xxhash", "sha1", "sha256", "sha512",
	"sha3-224", "sha3-256", "sha3-384", "sha3-512", "meta", "pattern_hdr",
}

func setVerify(j *job, v string) error {
	j.verify, j.patternOnly = slices.Contains(checksums, v) || v == "pattern", v == "pattern"
	switch {
	case j.verify && !j.patternOnly && !slices.Contains(checksums[:3], v):
		j.note("verify=%s: each block is stamped with its offset, number and CRC-32C, which finds the same damage", v)
	case v == "null":
		j.note("verify=null: nothing is verified")
	case !j.verify && v != "0":
		_, err := oneOf(v, append([]string{"0", "pattern", "null"}, checksums...)...)
		return err
	}
	return nil
}

func setVerifyPattern(j *job, v string) error {
	p, err := parsePattern(v)
	if err == nil {
		j.verifyPattern = p
	}
	return err
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

func setRate(f func(*job) *pair, most int64) setter {
	set := pairTo(f, 0, most)
	return func(j *job, v string) error {
		if strings.HasSuffix(v, "%") {
			return fmt.Errorf("%q: a rate is bytes or I/Os a second", v)
		}
		return set(j, v)
	}
}

func logTo(f func(*job) **string) setter {
	return func(j *job, v string) error {
		if strings.ContainsRune(v, 0) {
			return fmt.Errorf("holds a NUL byte")
		}
		*f(j) = &v
		return nil
	}
}

func setPercentileList(j *job, v string) error {
	p, err := parsePercentiles(v)
	if err == nil {
		j.percentiles = p
	}
	return err
}

func setFileSize(j *job, v string) error {
	if _, most, ok := strings.Cut(v, "-"); ok {
		return fmt.Errorf("%q: a range of sizes is not supported; the nearest is filesize=%s, or a job for each size", v, most)
	}
	n, err := parseSize(v, j.kbBase)
	if err == nil {
		j.filesize = n
	}
	return err
}

func wordService() setter { return setService }

func setOffsetAlign(j *job, v string) error {
	n, err := parseSize(v, j.kbBase)
	switch {
	case err != nil:
	case n < 0 || n > 1<<30:
		err = fmt.Errorf("%q has to be from 0 to 1g", v)
	default:
		j.offsetAlign = n
	}
	return err
}

func setSeed(j *job, v string) error {
	n, err := parseInt(v, 0, math.MaxInt64)
	if err == nil {
		j.randseed = uint64(n)
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

func setPattern(j *job, v string) error {
	p, err := parsePattern(v)
	if err == nil {
		j.pattern = p
	}
	return err
}

func setLogAvg(j *job, v string) error {
	n, err := parseInt(v, 0, math.MaxInt32)
	switch {
	case err != nil:
	case n != 0 && n < 10:
		err = fmt.Errorf("%q: 10 ms is the least interval", v)
	default:
		j.logAvg = time.Duration(n) * time.Millisecond
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

func setKBBase(j *job, v string) error {
	w, err := oneOf(v, "1024", "1000")
	if err == nil {
		j.kbBase = map[string]int64{"1024": 1024, "1000": 1000}[w]
	}
	return err
}

func setUnified(j *job, v string) error {
	w, err := oneOf(v, "none", "mixed", "both", "0", "1", "2")
	if err == nil {
		j.unified = map[string]unified{"none": apartOnly, "0": apartOnly, "mixed": mixedOnly, "1": mixedOnly, "both": apartAndMixed, "2": apartAndMixed}[w]
	}
	return err
}

func setSteady(j *job, v string) error {
	c, err := parseCriterion(v)
	if err == nil {
		j.steady = c
	}
	return err
}
