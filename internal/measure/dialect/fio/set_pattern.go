package fio

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/load"
)

func setRW(j *job, v string) error {
	word, number, has := strings.Cut(v, ":")
	switch word {
	case "readwrite":
		word = load.RW
	}
	w, err := oneOf(word, load.Read, load.Write, load.RandRead, load.RandWrite, load.RW, load.RandRW, load.Trim, load.RandTrim, load.TrimWrite, load.RandTrimWrite)
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
		return fmt.Errorf("%q: after the colon comes a number: how many I/Os follow each seek (randrw:8), or how many bytes to skip (read:4k); rw_sequencer sets the order", v)
	}
	if strings.HasPrefix(w, "rand") && (n < 1 || sign < 0) {
		return fmt.Errorf("%q: the number after a random pattern is how many sequential I/Os follow each seek (at least 1)", v)
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
		return fmt.Errorf("%q: the next file comes after each I/O (roundrobin, random) or when one is complete (sequential); leave out :%s", v, n)
	}
	w, err := oneOf(word, load.RoundRobin, load.Sequential, load.Random)
	if err == nil {
		j.service = w
	}
	return err
}

func wordService() setter { return setService }

func setSeed(j *job, v string) error {
	n, err := parseInt(v, 0, math.MaxInt64)
	if err == nil {
		j.randseed = uint64(n)
	}
	return err
}
