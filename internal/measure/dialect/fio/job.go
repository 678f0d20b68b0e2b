package fio

import (
	"fmt"
	"time"

	"plimsoll/internal/measure/steady"
	"plimsoll/load"
)

// job is the settings of one section.
type job struct {
	name        string
	section     string // the job's name unless name= sets another
	where       string
	own         []keyValue // the section's own options, as fio's JSON shows them
	description string

	rw            string
	rwNumber      int64
	hasRWNumber   bool
	bs            pair
	blockalign    pair
	readSplit     []load.SizeShare
	writeSplit    []load.SizeShare
	trimSplit     []load.SizeShare
	spans         [3]string // the sizes of reads, writes and trims, as the output shows them
	ioengine      string
	iodepth       int
	numjobs       int
	thread        bool
	direct        bool
	hint          string // random, sequential, "" for none, byPattern
	sync          string
	size, ioSize  amount
	filesize      int64
	filesizeMost  int64 // upper end of a range; otherwise equal to filesize
	openDir       string
	offset        amount
	offsetAlign   int64
	offsetInc     amount
	filename      string
	directory     string
	nrfiles       int
	used          int // how many files of filename are used; 0: all
	format        string
	service       string
	unlink        bool
	invalidate    bool
	preRead       bool
	mixRead       int
	hasMix        bool
	distribution  string
	percRandom    *pair
	norandommap   bool
	randrepeat    bool
	randseed      uint64
	rate, iops    pair
	rateMin       pair
	iopsMin       pair
	rateCycle     int64 // ms
	ignoreThink   bool
	rateProcess   string
	think         time.Duration
	thinkSpin     time.Duration
	thinkBlocks   int64
	fsync         int
	fdatasync     int
	endFsync      bool
	runtime       time.Duration
	ramp          time.Duration
	delay         time.Duration
	delayMost     time.Duration // upper end of a range; otherwise equal to delay
	timeBased     bool
	loops         int64
	numberIOs     int64
	verify        bool
	patternOnly   bool
	verifyPattern []byte
	doVerify      bool
	verifyOnly    bool
	backlog       int64
	backlogBatch  int64
	stonewall     bool
	waitFor       string
	newGroup      bool
	group         bool
	exitall       bool
	exitWhat      string
	createOnly    bool
	fill          bool
	appends       bool // file_append
	unlinkLoops   bool
	goOn          [2]bool // continue after errors of reads, of writes
	goOnVerify    bool
	ignored       [2][]int // the errors that goOn covers; nil: goOnAfter
	flow, flowID  int
	flowSleep     time.Duration
	cpus          []int
	cpuNodes      []int
	memPolicy     string
	memNodes      []int
	splitCPUs     bool
	zero          bool
	pattern       []byte
	compress      int
	scramble      bool
	dedupe        int
	refill        *bool // nil: other options decide
	percentiles   []float64
	clatPct       bool
	latPct        bool
	steady        steady.Criterion
	ssDur, ssRamp time.Duration
	bwLog         *string
	iopsLog       *string
	latLog        *string
	histLog       *string
	histEvery     time.Duration
	histStride    int
	logAvg        time.Duration
	perJobLogs    bool
	logOffset     bool
	logPrio       bool
	cmdPercent    pair
	cmdClass      pair
	cmdLevel      pair
	cmdSplit      string
	prioClass     int
	prioLevel     int
	hasPrio       bool // the job has a priority of its own
	unixEpoch     bool
	kbBase        int64
	unified       unified
	replay        replay
	target        load.LatencyTarget // without a Latency: none
	dedupeSet     bool
	dedupeShare   int64 // percent
	dedupeGlobal  bool
	strided       bool
	unaligned     bool
	seqRandSizes  bool
	logMax        bool
	lockFile      string
	zones         load.Zones // used if strided
	// notes are messages for the user about the job's options.
	notes []string
}

func (j *job) note(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// byPattern is the hint that follows from rw, fio's default.
const byPattern = "rw"

// A keyValue is an option as the user wrote it.
type keyValue struct{ Key, Value string }

// newJob returns a job with fio's defaults.
func newJob() *job {
	return &job{
		rw: load.Read, bs: pair{read: 4096, write: 4096, trim: 4096}, ioengine: "psync", iodepth: 1, numjobs: 1,
		nrfiles: 1, service: load.RoundRobin, invalidate: true, mixRead: 50, randrepeat: true,
		rateProcess: load.Linear, thinkBlocks: 1, loops: 1, doVerify: true, clatPct: true,
		hint: byPattern, rateCycle: 1000, percentiles: defaultPercentiles, perJobLogs: true, histStride: 1, kbBase: 1024, exitWhat: exitGroup, scramble: true,
		replay: replay{timeScale: 100}, dedupeShare: 5, target: load.LatencyTarget{Percent: 100},
	}
}

var defaultPercentiles = []float64{1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99}
