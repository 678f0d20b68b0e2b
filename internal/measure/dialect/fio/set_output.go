package fio

import (
	"fmt"
	"math"
	"strings"
	"time"
)

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

func setLogAvg(j *job, v string) error {
	n, err := parseInt(v, 0, math.MaxInt32)
	switch {
	case err != nil:
	case n != 0 && n < 10:
		err = fmt.Errorf("%q: the shortest interval is 10 ms", v)
	default:
		j.logAvg = time.Duration(n) * time.Millisecond
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
