package fio

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/internal/testkit/golden"
)

func TestParseRefuses(t *testing.T) {
	ok := []string{"--name=a", "--rw=read", "--size=1m"}
	var sheet golden.Sheet
	for _, args := range [][]string{
		nil,
		{"--rw=read", "--size=1m"},
		{"--name=global", "--rw=read"},
		{"nothere.fio"},
		append(ok, "--sise=3"),
		append(ok, "--frobnicate=3"),
		append(ok, "--output-fromat=json"),
		append(ok, "--bs=4q"),
		append(ok, "--bs"),
		append(ok, "--direct=1", "--iodepth", "x"),
		append(ok, "--bs="),
		append(ok, "--rw=trimwrite", "--ioengine=libaio", "--iodepth=2"),
		append(ok, "--rw=trimwrite", "--rate_iops=7"),
		append(ok, "--flow=-8"),
		append(ok, "--rw=randtrimwrite", "--verify=md5"),
		append(ok, "--rw=reads"),
		append(ok, "--rw=randread:0"),
		append(ok, "--ioengine=mmap", "--direct=1"),
		append(ok, "--ioengine=libaoi"),
		append(ok, "--ioengine=rbd"),
		append(ok, "--latency_target=1ms"),
		append(ok, "--cgroup=x"),
		append(ok, "--terse-version=6"),
		append(ok, "--output-format=jsn"),
		append(ok, "--runtime=5q"),
		append(ok, "--rate_min=1m", "--rate_iops_min=5"),
		append(ok, "--rate_iops=5", "--rate_iops_min=6"),
		append(ok, "--rate_cycle=100"),
		append(ok, "--thinktime=1", "--thinktime_spin=2"),
		append(ok, "--rate=1m", "--rate_iops=5"),
		{"--name=a", "--rw=rw", "--size=1m", "--rate_iops=5,", "--rate=,1m"},
		{"--name=a", "--rw=write", "--size=1m", "--fsync=1", "--fdatasync=1"},
		append(ok, "--zero_buffers", "--buffer_pattern=0xff"),
		append(ok, "--direct=1", "--buffered=1"),
		append(ok, "--rwmixread=70", "--rwmixwrite=70"),
		append(ok, "--bssplit=4k/50:8k/50", "--bsrange=4k-16k"),
		append(ok, "--cpus_allowed=0", "--cpumask=3"),
		{"i.fio"},
		append(ok, "--steadystate=iops:1%"),
		append(ok, "--ss_dur=5"),
		append(ok, "--steadystate=iop:1%"),
		append(ok, "--steadystate=iops"),
		append(ok, "--verify=md6"),
		append(ok, "--verify=pattern"),
		append(ok, "--verify=pattern", "--verify_pattern=0x010203"),
		{"--name=a", "--rw=randwrite", "--size=1m", "--bssplit=1000/50:4k/50", "--verify=crc32c"},
		{"--name=a", "--rw=randwrite", "--size=1m", "--bssplit=6k/50:4k/50", "--verify=pattern", "--verify_pattern=0x010203"},
		{"--name=a", "--rw=write", "--size=1m", "--ioengine=posixaio", "--iodepth=4", "--verify=crc32c", "--verify_backlog=4"},
		{"--name=a", "--rw=write", "--size=1m", "--ioengine=posixaio", "--iodepth=4", "--thinktime=1ms"},
		append(ok, "--verify=crc32c", "--verify_backlog=-1"),
		append(ok, "--verify_only"),
		{"--name=a", "--rw=write", "--size=1m", "--verify=crc32c", "--filename=f", "--numjobs=2"},
		append(ok, "--verify=crc32c", "--randrepeat=0"),
		append(ok, "--percentile_list=1:101"),
		append(ok, "--numjobs=0"),
		append(ok, "--numjobs=2.9"),
		append(ok, "--iodepth=1.9"),
		append(ok, "--loops=1.5"),
		append(ok, "--numjobs=1k", "--name=b", "--numjobs=1k", "--size=1m"),
		append(ok, "--nrfiles=4k", "--numjobs=100"),
		append(ok, "--direct=2"),
		{"--name=x", "--size=1m", "--rw=randrw:sequential"},
		{"--name=x", "--size=1m", "--rw=read:x"},
		append(ok, "--thp=1"),
		append(ok, "--ignore_error=EWHAT"),
		append(ok, "--ignore_error=0"),
		append(ok, "--ignore_error=,,84"),
		append(ok, "--continue_on_error=some"),
		{"--name=a", "--size=64k", "--continue_on_error=all", "--rw=write", "--verify=md5"},
		append(ok, "--size=150%"),
		append(ok, "--size=1k"),
		append(ok, "--bsrange=4k"),
		append(ok, "--cpus_allowed=3-1"),
		append(ok, "--section=b"),
		append(ok, "--readonly", "--rw=write"),
		{"--name=a", "--rw=read"},
		{"--name=a", "--ioengine=null"},
		{"--name="},
		{"a.fio"},
		{"b.fio"},
		{"c.fio"},
		{"d.fio"},
		{"e.fio"},
		{"f.fio"},
		{"h.fio"},
	} {
		_, err := Parse(args, memory(map[string]string{
			"a.fio": "[a]\nblok_size=4k\n", "b.fio": "bs=4k\n", "c.fio": "[a]\nbs=${NOT}\n", "d.fio": "include d.fio\n",
			"e.fio": "[a\n", "f.fio": "[global]\nrw=read\nbs=x\n[a]\nsize=1m\n",
			"i.fio": "[global]\ndirect=1\nbuffered=1\n[a]\nsize=1m\n",
			"h.fio": strings.Repeat("[a]\nsize=1m\n", 2000),
		}, nil))
		var usage *dialect.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("Parse(%q) = %v, want a UsageError", args, err)
		}
		sheet.Add(strings.Join(args, " "), err)
	}
	sheet.Check(t, "refused.txt")
}

// Hostile files are read or refused in no time and little memory.
func TestParseIsBounded(t *testing.T) {
	globals := "[global]\n" + strings.Repeat("percentile_list="+strings.Repeat("50:", 15)+"50\n", 10000)
	for name, file := range map[string]string{
		"globals and jobs": globals + strings.Repeat("[a]\n", 1024),
		"globals":          globals,
		"a long value":     "[a]\nbssplit=" + strings.Repeat("4k/1:", 200000),
		"long names":       "[" + strings.Repeat("a", 1000000) + "]\nsize=1m\nnumjobs=1024\nnrfiles=16\n",
		"variables":        "[a]\nfilename=" + strings.Repeat("${A}", 10000),
		"clones":           strings.Repeat("[a]\nnumjobs=1024\nsize=1m\nnrfiles=16\ncpus_allowed=0-1023\n", 1),
		"includes":         strings.Repeat("include x.fio\n", 10000),
		"format":           "[" + strings.Repeat("a", 255) + "]\nsize=1g\nnrfiles=4096\nfilename_format=" + strings.Repeat("$jobname", 8000),
		"many filenames":   "[a]\nsize=1g\nnumjobs=1024\nfilename=" + manyNames(),
		"filenames":        "[a]\nsize=1g\nfilename=" + strings.Repeat("a:b:", 16000),
	} {
		fuzztest.Bounded(t, name, func() {
			_, err := Parse([]string{"x.fio"}, memory(map[string]string{"x.fio": file}, map[string]string{"A": strings.Repeat("b", 60000)}))
			if err != nil {
				dialecttest.Usage(t, err)
			}
		})
	}
}

func manyNames() string {
	var s []string
	for i := range 10000 {
		s = append(s, fmt.Sprint(i))
	}
	return strings.Join(s, ":")
}
