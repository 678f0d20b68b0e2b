package fio

import (
	"fmt"
	"strings"
	"time"
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
				err = fmt.Errorf("%q must be from %d to %d", s, least, most)
			}
			return n, err
		})
		if err == nil {
			f(j).set(p)
		}
		return err
	}
}

// setFlow reads a weight. Job files for older fio versions pair a positive weight with a negative one.
func setFlow(j *job, v string) error {
	if strings.HasPrefix(strings.TrimSpace(v), "-") {
		return fmt.Errorf("%q: a weight is from 0 to 1000; in fio 3.33 a negative one stops the other jobs of its flow", v)
	}
	return intTo(func(j *job) *int { return &j.flow }, 0, 1000)(j, v)
}
