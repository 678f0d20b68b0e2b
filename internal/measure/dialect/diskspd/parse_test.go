package diskspd

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/dialecttest"
	"plimsoll/internal/testkit/fuzztest"
	"plimsoll/internal/testkit/golden"
)

// TestParseRefuses: the error names the argument and says what would mend it.
func TestParseRefuses(t *testing.T) {
	var sheet golden.Sheet
	for _, line := range []string{
		"",
		"-b4K",
		"-b 4K f",
		"-b4Q f",
		"-b0 f",
		"-b9999999999G f",
		"-d10 f -o4",
		"-q f",
		"-Q f",
		"--bs=4k f",
		"-A1 f",
		"-b4K -b8K f",
		"-w f",
		"-w101 f",
		"-d5s f",
		"-t2 -F4 f",
		"-n -a0,1 f",
		"-b100 -Sh f",
		"-r -T4K -t2 f",
		"-p -r f",
		"-si -r f",
		"-r -s f",
		"-s -rs50 f",
		"-rs50 -rs60 f",
		"-r4K -r8K f",
		"-i5 f",
		"-j5 f",
		"-T4K f",
		"-si -T4K -t2 f",
		"-O4 f",
		"-F2 -O4 -g5 f",
		"-F2 -O4 -i5 -j5 f",
		"-F2 -O4 -D f g",
		"-g100 -x f",
		"-g10j f",
		"-Z4K -b64K f",
		"-Z -Zr f",
		"-h -Sb f",
		"-Sub f",
		"-Sq f",
		"-Sum f",
		"-Sm -Nn f",
		"-Sr f",
		"-Nv f",
		"-f4K -B0:8K f",
		"-B8K -f4K f",
		"-frs f",
		"-ft f",
		"-fx f",
		"-c1M -B1M f",
		"-B1M -f1025K f",
		"-I1 f",
		"-I4 f",
		"-eDISK_IO f",
		"-yrgo f",
		"-vs f",
		"-:1 f",
		"-w5 -Z1M,/does/not/exist f",
		"-w5 -Z1M,/dev/null f",
		"-w5 -Zr -Z1M,file f",
		"-d0 f",
		"-ag1,0 f",
		"-a0,x f",
		"-ag0 f",
		"-r -rdpct90/10:20/90 f",
		"-r -rdpct90/100 f",
		"-r -rdpct90 f",
		"-r -rdabs50/1G f",
		"-r -b4K -rdabs50/1K -c1G f",
		"-rdpct50/50 f",
		"-rs50 -r8K -b4K f",
		"-R f",
		"-Rjson f",
		"-t1000 f g",
		"-D10 -d36000 -t8 f",
		"-D9 f",
		"*1",
		"#0",
		`\\.\PhysicalDrive1`,
		`\.physicaldrive12`, // As a shell leaves it.
		`\\.\C:`,
		`\\?\Volume{4c1b02c1-d990-11dc-99ae-806e6f6e6963}\`,
		"C:",
		"-Xnone.xml",
		"-X/dev/zero",
		"-Xa.xml -o4",
	} {
		_, err := Parse(strings.Fields(line), ParseOptions{ReadFile: dialecttest.ReadFile})
		var u *dialect.UsageError
		if !errors.As(err, &u) {
			t.Errorf("%q: %v, want a UsageError", line, err)
		}
		sheet.Add(line, err)
	}
	sheet.Check(t, "refused.txt")
}

// target is one with DiskSpd's defaults, changed.
func target(change func(*Target)) Target {
	t := newTarget("f")
	change(&t)
	return t
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line string
		want func(s *Span, t *Target)
	}{
		{"f", func(*Span, *Target) {}},
		{"/b8K /d30 -w25 -o4 -t8 -h -r -L -Z1G -c5G f", func(s *Span, t *Target) {
			s.Duration, s.Latency = 30, true
			t.Block, t.WriteRatio, t.Outstanding, t.Threads, t.Cache, t.WriteThrough = 8192, 25, 4, 8, NoOSCache, true
			t.RandomRatio, t.Align, t.RandomSize, t.Create, t.FileSize = 100, 8192, 1<<30, true, 5<<30
		}},
		{"-T2b -t4 -s4b -b4k f", func(_ *Span, t *Target) {
			t.Block, t.ThreadStride, t.Threads, t.Align = 4096, 8192, 4, 16384
		}},
		{"-si64K -B1G:2g -g80i -Sw f", func(_ *Span, t *Target) {
			t.Interlocked, t.Align, t.Base, t.Max, t.IOPS, t.WriteThrough = true, 65536, 1<<30, 3<<30, 80, true
		}},
		{"-W0 -C3 -D -z7 -n -x -S -i3 -j20 -g5 f", nil},
		{"-W0 -C3 -D -z7 -n -S -i3 -j20 -g5 f", func(s *Span, t *Target) {
			s.Warmup, s.Cooldown, s.IOPS, s.Seed, s.NoAffinity = 0, 3, true, 7, true
			t.Cache, t.UseBurst, t.Burst, t.UseThink, t.Think, t.BytesPerMS = NoOSCache, true, 3, true, 20, 5
		}},
		{"-z -D250 -a0,3 -ag0,1 -Zr -w100 f", func(s *Span, t *Target) {
			s.Seed, s.IOPS, s.Bucket, s.Affinity, s.RandomWrites = 86400000, true, 250, []Processor{{0, 0}, {0, 3}, {0, 1}}, true
			t.WriteRatio = 100
		}},
		{"-r -rdpct90/10:0/10:5/20 -rs40 f", func(_ *Span, t *Target) {
			t.RandomRatio, t.Align, t.Ranges = 40, 65536, []Range{{90, 10}, {0, 10}, {5, 20}, {5, 60}}
		}},
		{"-rs100 -rdabs90/10G:0/10G -f20G f", func(_ *Span, t *Target) {
			t.RandomRatio, t.Absolute, t.Max, t.Ranges = 100, true, 20<<30, []Range{{90, 10 << 30}, {0, 10 << 30}, {10, 0}}
		}},
	} {
		got, err := Parse(strings.Fields(c.line), ParseOptions{Now: func() time.Time { return time.Unix(86400, 0) }})
		if c.want == nil {
			if err == nil {
				t.Errorf("%q is accepted", c.line)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
			continue
		}
		want := newSpan()
		want.Targets = []Target{newTarget("f")}
		c.want(&want, &want.Targets[0])
		if d := cmp.Diff([]Span{want}, got.Profile.Spans); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.line, d)
		}
	}
}

// TestSlashesAndPaths: a slash begins an option or a path.
func TestSlashesAndPaths(t *testing.T) {
	got, err := Parse([]string{"/t4", "/r", "/rdpct90/10", "/Sh", "/dev/sdb", "/data.bin", "/tmp/x"}, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, g := range got.Profile.Spans[0].Targets {
		paths = append(paths, g.Path)
	}
	if d := cmp.Diff([]string{"/dev/sdb", "/data.bin", "/tmp/x"}, paths); d != "" {
		t.Error(d)
	}
}

func TestWarnings(t *testing.T) {
	var said golden.Sheet
	for _, line := range []string{"-t2 f", "-si f", "-t2 -r f", "-t2 -T1M f", "-Rp -p -o1 f"} {
		got, err := Parse(strings.Fields(line), ParseOptions{})
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		said.Add(line, strings.Join(got.Warnings, "\n"))
	}
	said.Check(t, "warnings.txt")
}

// profileFile makes a reader of one profile.
func profileFile(text string) ParseOptions {
	return ParseOptions{ReadFile: func(string, int64) ([]byte, error) { return []byte(text), nil }}
}

// TestProfilesComeBack: what is printed of a profile says the same when it is read.
func TestProfilesComeBack(t *testing.T) {
	for _, line := range []string{
		"f", "-b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G f g", "-F4 -O8 -n -Zr -w100 f", "-Rpxml -Sm -Nv -l -I1 -frst -Z1M,src #3",
		"-si64K -t2 -B1G:2g -g80i -Sw -D100 -v -P5 f", "-i3 -j20 -g5 -a0,1 -z7 f", "-r -rdpct90/10:0/10:5/20 -rs40 f", "-r -rdabs90/10G -f20G f", "-Rpxml -p -o4 *1",
	} {
		a, err := Parse(strings.Fields(line), ParseOptions{})
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		args := []string{"-Xp.xml"}
		if a.Profile.Only {
			args = append(args, "-Rp")
		}
		text := ProfileXML(&a.Profile)
		b, err := Parse(args, profileFile(text))
		if err != nil {
			t.Errorf("%q: %v\n%s", line, err, text)
			continue
		}
		b.Profile.CommandLine = a.Profile.CommandLine
		for i := range a.Profile.Spans {
			for k := range a.Profile.Spans[i].Targets {
				g := &a.Profile.Spans[i].Targets[k]
				g.Align = g.align() // what is written is in force
			}
		}
		if d := cmp.Diff(a.Profile, b.Profile); d != "" {
			t.Errorf("%q (-line +profile):\n%s", line, d)
		}
	}
}

func TestXMLProfile(t *testing.T) {
	text := `<?xml version="1.0" encoding="utf-16"?>
<Profile>
  <TimeSpans>
    <TimeSpan>
      <Duration>60</Duration>
      <MeasureLatency>1</MeasureLatency>
      <Targets>
        <Target><Path>*1</Path><Random>4096</Random><StrideSize>9</StrideSize><BlockSize>4096</BlockSize></Target>
        <Target><Path>*2</Path><DisableAllCache>true</DisableAllCache></Target>
      </Targets>
    </TimeSpan>
    <TimeSpan><Targets><Target><Path>*1</Path></Target></Targets></TimeSpan>
  </TimeSpans>
  <Progress>0</Progress>
</Profile>`
	got, err := Parse([]string{"-Xp.xml", "-d5", "-W1", "-z3", "-Rxml", "one", "two"}, profileFile(text))
	if err != nil {
		t.Fatal(err)
	}
	a, b := newSpan(), newSpan()
	a.Duration, a.Warmup, a.Seed, a.Latency = 5, 1, 3, true
	b.Duration, b.Warmup, b.Seed = 5, 1, 3
	one := target(func(t *Target) { t.Path, t.RandomRatio, t.Align, t.Block = "one", 100, 4096, 4096 })
	two := target(func(t *Target) { t.Path, t.Cache, t.WriteThrough = "two", NoOSCache, true })
	a.Targets, b.Targets = []Target{one, two}, []Target{target(func(t *Target) { t.Path = "one" })}
	want := Profile{CommandLine: "diskspd -Xp.xml -d5 -W1 -z3 -Rxml one two", XML: true, Spans: []Span{a, b}}
	if d := cmp.Diff(want, got.Profile); d != "" {
		t.Error(d)
	}
	if _, err := Parse([]string{"-Xp.xml", "one"}, profileFile(text)); err == nil || !strings.Contains(err.Error(), "*2 was not replaced") {
		t.Errorf("a template too many: %v", err)
	}
	if _, err := Parse([]string{"-Xp.xml", "1", "2", "3"}, profileFile(text)); err == nil || !strings.Contains(err.Error(), "no template *3") {
		t.Errorf("a target too many: %v", err)
	}
}

func TestXMLProfileRefuses(t *testing.T) {
	in := func(s string) string {
		return "<Profile><TimeSpans><TimeSpan><Targets><Target>\n<Path>f</Path>" + s + "</Target></Targets></TimeSpan></TimeSpans></Profile>"
	}
	var sheet golden.Sheet
	for _, text := range []string{
		"",
		"<Results/>",
		"<Profile>",
		"<Profile/>",
		"<Profile/><Profile/>",
		in("odd<BlockSize>4096</BlockSize>"),
		in("<BlockSise>5</BlockSise>"),
		in("<BlockSize>x</BlockSize>"),
		in("<BlockSize>4096</BlockSize><BlockSize>4096</BlockSize>"),
		in("<WriteRatio>101</WriteRatio>"),
		in("<RandomRatio>50</RandomRatio>"),
		in("<Random>4096</Random><RandomRatio>100</RandomRatio>"),
		in("<Throughput unit='MB'>5</Throughput>"),
		in("<WriteBufferContent><Pattern>random</Pattern></WriteBufferContent>"),
		in("<Random>65536</Random><Distribution><Percent><Range IO='90'>10</Range></Percent><Absolute/></Distribution>"),
		in("<Random>65536</Random><Distribution><Percent><Range>10</Range></Percent></Distribution>"),
		in("<DisableOSCache>yes</DisableOSCache>"),
		in("<TemporaryFile>true</TemporaryFile>"),
		strings.Repeat("<a>", 50),
		"<Profile>" + strings.Repeat("<a/>", maxElements) + "</Profile>",
		strings.Repeat(" ", maxProfile+1),
	} {
		_, err := Parse([]string{"-Xp.xml"}, profileFile(text))
		var u *dialect.UsageError
		if !errors.As(err, &u) {
			t.Errorf("%.200q: %v, want a UsageError", text, err)
		}
		sheet.Add(fmt.Sprintf("%.200s", text), err)
	}
	sheet.Check(t, "refused-profiles.txt")
}

// FuzzParse: nothing panics or grows, errors are usage errors, and what is accepted can be
// printed and lowered.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"-b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G C:\\iotest.dat", "-Xp.xml f", "-r -rdpct90/10:0/10:5/20 f", "/rdabs1/1G -f5 f", "-F2 -O4 -a0,1,g0,2 f", "-B1:2 -si -T5 f",
	} {
		f.Add(line, "<Profile><TimeSpans><TimeSpan><Targets><Target><Path>*1</Path><Random>5</Random><Distribution><Absolute><Range IO='5'>50</Range></Absolute></Distribution></Target></Targets></TimeSpan></TimeSpans></Profile>")
	}
	f.Fuzz(tryLine)
}

// TestHostileLines: what is much too long or nested is answered too, in bounds.
func TestHostileLines(t *testing.T) {
	for _, hostile := range []string{
		"-a" + strings.Repeat("0,", 1<<16) + "0 f", "-r -rdpct" + strings.Repeat("1/1:", 1<<16) + " f", strings.Repeat("-L ", 1<<16) + "f", strings.Repeat("f ", 1<<16), "-t1000 -D10 -d100000 f",
	} {
		tryLine(t, hostile, "")
	}
	for _, hostile := range []string{
		"<Profile>" + strings.Repeat("<a>", 1<<16), "<Profile><TimeSpans>" + strings.Repeat("<TimeSpan/>", 1<<15), "<Profile " + strings.Repeat("a='b' ", 1<<16) + "/>", "<Profile>" + strings.Repeat("x", 9e5) + strings.Repeat("y<!---->", 9900) + "</Profile>", "<!DOCTYPE a [<!ENTITY b 'bb'>]><Profile>&b;</Profile>", strings.Repeat("<!--x-->", 1<<16),
	} {
		tryLine(t, "-Xp.xml f", hostile)
	}
}

// tryLine parses a line within bounds, and prints and lowers what it asks for.
func tryLine(t *testing.T, line, profile string) {
	fuzztest.Bounded(t, []string{line, profile}, func() { parseAndLower(t, line, profile) })
}

func parseAndLower(t *testing.T, line, profile string) {
	opt := profileFile(profile)
	opt.Now = func() time.Time { return time.Unix(1, 0) }
	test, err := Parse(strings.Split(line, " "), opt)
	if err != nil {
		dialecttest.Usage(t, err)
		return
	}
	if len(test.Profile.printed()) == 0 {
		t.Fatal("nothing is printed")
	}
	if test.Profile.Only {
		return
	}
	r := Results{Spans: make([]SpanResult, len(test.Profile.Spans))}
	for i := range test.Profile.Spans {
		for _, j := range test.Profile.Spans[i].stage(here{}, nil) {
			if err := j.Job.Validate(); err != nil && !strings.Contains(err.Error(), "512") && !strings.Contains(err.Error(), "1 TiB") {
				t.Fatalf("%q is refused later: %v", line, err)
			}
		}
	}
	_ = test.Profile.report(&r)
}

// TestLastSize: the last of several -c counts, as in DiskSpd.
func TestLastSize(t *testing.T) {
	test, err := Parse(strings.Fields("-c1G -b4K -c8M f"), ParseOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if got := test.Profile.Spans[0].Targets[0].FileSize; got != 8<<20 {
		t.Errorf("%d bytes, want 8 MiB", got)
	}
}
