package fio

import (
	"slices"
)

// checksums are fio's words for a stamp's checksum. Here it is CRC-32C in any case.
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
		j.note("verify=null verifies nothing")
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

// setRefill sets whether each write gets new data, whatever other options imply.
func setRefill(j *job, v string) error {
	b, err := parseBool(v)
	if err == nil {
		j.refill = &b
	}
	return err
}

// setDedupe sets the share of copies. Like fio's, it turns refill_buffers on even if an earlier option turned it off.
func setDedupe(j *job, v string) error {
	err := intTo(func(j *job) *int { return &j.dedupe }, 0, 100)(j, v)
	if err == nil {
		j.refill = new(true)
	}
	return err
}

// refills reports whether each write gets new data. A repeated pattern costs next to nothing.
func (j *job) refills() bool {
	switch {
	case j.zero || len(j.pattern) > 0 || j.verify && len(j.verifyPattern) > 0:
		return false
	case j.refill != nil:
		return *j.refill
	}
	return j.compress > 0 && j.compress < 100 || j.verify
}

func setPattern(j *job, v string) error {
	p, err := parsePattern(v)
	if err == nil {
		j.pattern = p
	}
	return err
}
