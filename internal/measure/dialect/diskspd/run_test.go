package diskspd

import (
	"bytes"
	"context"
	"encoding/xml"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/texttest"
)

// runLine runs a line in dir and returns what it printed and the session.
func runLine(t *testing.T, dir string, line ...string) (stdout, stderr string, s *dialecttest.Local) {
	t.Helper()
	test, err := Parse(line, ParseOptions{ReadFile: dialecttest.ReadFile})
	if err != nil {
		t.Fatal(err)
	}
	s = &dialecttest.Local{Dir: dir}
	var out, errs bytes.Buffer
	if err := test.Run(context.Background(), s, RunOptions{}, &out, &errs); err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), s
}

// TestKnownComparison runs the line of a known comparison of container runtimes, shorter and smaller.
func TestKnownComparison(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	out, _, s := runLine(t, dir, "-b8K", "-d1", "-W0", "-o4", "-t8", "-h", "-r", "-w25", "-L", "-Z1M", "-c5M", `C:\iotest.dat`)
	texttest.Has(t, out, []string{
		"Command Line: diskspd -b8K", "\tpath: 'C:\\iotest.dat'\n", "software cache disabled", "hardware write cache disabled, writethrough on",
		"performing mix test (read/write ratio: 75/25)", "using random I/O (alignment: 8KiB)", "thread count:\t\t8\n",
		"thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n",
		" | C:\\iotest.dat (5MiB)\n", "\nTotal latency distribution:\n",
	})
	res := s.Results[0].Stage[0]
	t.Logf("(%s)\n%s", res.Engine, out)
	got := [...]any{res.Job.Direct, res.Job.Sync, res.Job.IODepth, len(res.Jobs)}
	if want := [...]any{true, "dsync", 4, 8}; got != want {
		t.Errorf("direct, sync, depth and jobs are %v, want %v", got, want)
	}
	rows := regexp.MustCompile(`(?m)^ +([0-7]) \| +(\d+) \| +(\d+) \| +[\d.]+ \| +[\d.]+ \| +[\d.]+ \| +[\d.N/A]+ \| C:`).FindAllStringSubmatch(out, -1)
	if len(rows) != 24 {
		t.Fatalf("%d rows of threads, want 8 in each of 3 tables", len(rows))
	}
	var ops int64
	for _, r := range rows[:8] {
		n, _ := strconv.ParseInt(r[3], 10, 64)
		ops += n
	}
	if ops != res.Ops() || ops == 0 {
		t.Errorf("the rows' I/Os add up to %d, the run did %d", ops, res.Ops())
	}
}

// The fields that Process-DiskSpd.ps1 and VM Fleet take from the XML, by their paths.
type fleetXML struct {
	XMLName xml.Name `xml:"Results"`
	System  struct {
		ComputerName string
		RunTime      string
	}
	Profile struct {
		TimeSpans struct {
			TimeSpan []struct {
				DisableAffinity string
				Targets         struct {
					Target []struct {
						Path                                            string
						WriteRatio, RequestCount, BlockSize, StrideSize int
						Random                                          int
					}
				}
			}
		}
	}
	TimeSpan []struct {
		TestTimeSeconds float64
		ThreadCount     int
		ProcCount       int
		CPUUtilization  struct {
			CPU     []struct{ UsagePercent, KernelPercent float64 }
			Average struct{ UsagePercent, UserPercent, KernelPercent, IdlePercent float64 }
		} `xml:"CpuUtilization"`
		Latency struct {
			AverageReadMilliseconds, AverageWriteMilliseconds float64
			Bucket                                            []struct {
				Percentile                                             string
				ReadMilliseconds, WriteMilliseconds, TotalMilliseconds float64
			}
		}
		Iops struct {
			ReadIopsStdDev, WriteIopsStdDev, IopsStdDev float64
			Bucket                                      []struct {
				SampleMillisecond int        `xml:",attr"`
				Read              float64    `xml:",attr"`
				Total             float64    `xml:",attr"`
				All               []xml.Attr `xml:",any,attr"`
			}
		}
		Thread []struct {
			ID     int `xml:"Id"`
			Target []struct {
				Path                                                                        string
				ReadCount, WriteCount, ReadBytes, WriteBytes, BytesCount, IOCount, FileSize int64
			}
		}
	}
}

func TestXMLIsWhatProgramsRead(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	a, b := filepath.Join(dir, "a & b.dat"), filepath.Join(dir, "c.dat")
	out, _, s := runLine(t, dir, "-b4K", "-d1", "-W0", "-t2", "-r", "-w50", "-L", "-D100", "-Rxml", "-c2M", a, b)
	if !strings.HasPrefix(out, "<Results>\n  <System>\n") {
		t.Errorf("begins with %.60q", out)
	}
	var x fleetXML
	if err := xml.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	if x.System.ComputerName == "" || len(x.Profile.TimeSpans.TimeSpan) != 1 || x.Profile.TimeSpans.TimeSpan[0].Targets.Target[1].Random != 4096 {
		t.Errorf("system or profile: %+v %+v", x.System, x.Profile)
	}
	ts := x.TimeSpan[0]
	if ts.TestTimeSeconds < 0.99 || ts.TestTimeSeconds > 1.01 {
		t.Errorf("the time span took %v s, want 1", ts.TestTimeSeconds)
	}
	if ts.ThreadCount != 4 || len(ts.Thread) != 4 {
		t.Fatalf("%d threads are announced and %d listed, want 4", ts.ThreadCount, len(ts.Thread))
	}
	if first, last := ts.Thread[0].Target[0].Path, ts.Thread[3].Target[0].Path; first != a || last != b {
		t.Errorf("the first thread uses %s and the last one %s, want %s and %s", first, last, a, b)
	}
	var reads, writes, bytes int64
	for _, th := range ts.Thread {
		reads, writes, bytes = reads+th.Target[0].ReadCount, writes+th.Target[0].WriteCount, bytes+th.Target[0].BytesCount
		if th.Target[0].FileSize != 2<<20 {
			t.Errorf("thread %d: a file of %d bytes", th.ID, th.Target[0].FileSize)
		}
	}
	r := s.Results[0]
	got := [...]int64{reads, writes, bytes}
	if want := [...]int64{r.Classes[0].Ops, r.Classes[1].Ops, r.Classes[0].Bytes + r.Classes[1].Bytes}; got != want || reads == 0 {
		t.Errorf("the threads have reads, writes and bytes %d, the run %d", got, want)
	}
	if n := len(ts.Latency.Bucket); n != 108 {
		t.Fatalf("%d percentiles, want 108", n)
	}
	for i, want := range map[int]string{99: "99", 100: "99.9", 107: "100"} {
		if got := ts.Latency.Bucket[i].Percentile; got != want {
			t.Errorf("percentile %d is of %s, want %s", i, got, want)
		}
	}
	for i, q := range ts.Latency.Bucket[1:] {
		if q.TotalMilliseconds < ts.Latency.Bucket[i].TotalMilliseconds {
			t.Errorf("the latency at %s is less than at %s", q.Percentile, ts.Latency.Bucket[i].Percentile)
		}
	}
	if len(ts.Iops.Bucket) != 10 || ts.Iops.Bucket[9].SampleMillisecond != 1000 || ts.Iops.IopsStdDev <= 0 {
		t.Errorf("series: %+v", ts.Iops)
	}
	if n := len(ts.Iops.Bucket[0].All); n != 12-3 {
		t.Errorf("an interval has %d attributes, want 12", n+3)
	}
	sum := 0.0
	for _, e := range ts.Iops.Bucket {
		sum += e.Total / 10
	}
	if total := float64(reads + writes); sum < 0.98*total-10 || sum > total+10 {
		t.Errorf("the intervals hold %v I/Os of %v", sum, total)
	}
	if len(ts.CPUUtilization.CPU) != ts.ProcCount || ts.CPUUtilization.Average.IdlePercent > 100 {
		t.Errorf("processors: %+v", ts.CPUUtilization)
	}
}
