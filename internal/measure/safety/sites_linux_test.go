package safety

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
)

// A site is a place in which real programs confirm the check.
type site struct {
	name string
	// share and cache make it a folder that the host shares with a virtual machine.
	share, cache string
	// dir makes a folder of the host, for two of its processes; container gives it to two containers.
	dir       func(*testing.T) string
	container bool
	// short is set if it is tried in ordinary tests, too.
	short bool
}

// sites are all of them.
var sites = []site{
	{name: "ext4", dir: roomyDisk, short: true},
	{name: "tmpfs", dir: func(t *testing.T) string { return disktest.Tmpfs(t, "size=1g") }},
	{name: "overlay", dir: func(t *testing.T) string { return disktest.Overlay(t, roomyDisk(t)) }},
	{name: "bindfs", dir: func(t *testing.T) string { return disktest.BindFS(t, roomyDisk(t), false) }},
	{name: "bindfs direct", dir: func(t *testing.T) string { return disktest.BindFS(t, roomyDisk(t), false, "direct_io") }},
	{name: "container", dir: roomyDisk, container: true},
	{name: "9p", share: vm.Share9P},
	{name: "virtiofs none", share: vm.ShareVirtioFS, cache: "none"},
	{name: "virtiofs auto", share: vm.ShareVirtioFS, cache: "auto"},
	{name: "virtiofs always", share: vm.ShareVirtioFS, cache: "always"},
	{name: "nfs", share: vm.ShareNFS},
	{name: "smb", share: vm.ShareSMB},
}

// roomyDisk makes a disk with room for the logs that databases reserve.
func roomyDisk(t *testing.T) string {
	_, dir := disktest.Disk(t, disktest.Options{Size: 2 << 30, Direct: true})
	return dir
}

// An opened site has been checked.
type opened struct {
	*site
	*Report
	engine engine.Engine
	spec   place.Spec
}

// reports are the checks of sites that were made before in this process: each takes a machine half a minute.
var reports struct {
	sync.Mutex
	of map[string]*Report
}

// eachSite lets a program confirm the check in each site but those that without names: in ordinary tests on a disk, and in the
// others with PLIMSOLL_CAMPAIGN. It skips the test if one of the programs that it needs is not installed.
func eachSite(t *testing.T, programs, without []string, confirm func(*testing.T, *opened)) {
	for _, name := range append(programs, "busybox") {
		needProgram(t, name)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for i := range sites {
		s := &sites[i]
		if slices.Contains(without, s.name) || !s.short && os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
			continue
		}
		t.Run(s.name, func(t *testing.T) { confirm(t, s.open(t)) })
	}
}

// open makes the site and checks it.
func (s *site) open(t *testing.T) *opened {
	t.Helper()
	local := host.New(t.TempDir(), workertest.Source(t))
	o := &opened{site: s, engine: local, spec: place.Spec{Name: s.name, Kind: place.Bind}}
	switch {
	case s.share != "":
		o.engine, o.spec.Path = testMachine(t, s.share, s.cache), t.TempDir()
		o.engine.(*vm.Engine).Memory = 512 << 20
	case s.container:
		o.engine, o.spec.Path = oci.New(t.TempDir(), workertest.Source(t), exec.LookPath), s.dir(t)
	default:
		o.spec.Kind, o.spec.Path = place.Dir, s.dir(t)
	}
	reports.Lock()
	defer reports.Unlock()
	if o.Report = reports.of[s.name]; o.Report != nil {
		return o
	}
	var err error
	if o.Report, err = Check(t.Context(), Options{Engine: o.engine, Host: local, Place: o.spec}); err != nil {
		t.Fatal(err)
	}
	if reports.of == nil {
		reports.of = map[string]*Report{}
	}
	reports.of[s.name] = o.Report
	return o
}

// A party runs scripts in one process of a site's pairs.
type party struct {
	// between is its pair with the first party; empty for the first itself.
	between Between
	// dir is the place as the party sees it, and busybox its shell there.
	dir     string
	busybox program
	agent   *agent.Agent
	// guest is set in a virtual machine.
	guest bool
}

// parties open the site for scripts, which have the files that install puts into a folder. The first is the one whose other
// processes are Processes; others are on the other sides. data is the host's path.
func (o *opened) parties(ctx context.Context, t *testing.T, install func(dir string)) (data string, all []party) {
	t.Helper()
	first, _ := session(ctx, t, o.engine, engine.Spec{Place: o.spec})
	data = first.Info().HostPath
	busybox := copyProgram(t, data, "busybox")
	install(data)
	all = []party{{"", first.Hello.Dir, busybox, first, o.share != ""}, {Processes, first.Hello.Dir, busybox, first, o.share != ""}}
	if o.spec.Kind == place.Dir {
		return data, all
	}
	between := Machines
	if o.container {
		between = Sides
		second, _ := session(ctx, t, o.engine, engine.Spec{Place: o.spec, Beside: first.Session})
		all = append(all, party{Containers, second.Hello.Dir, busybox, second, false})
	}
	return data, append(all, party{between, data, busybox, nil, false})
}

// run runs a script of the shell in the place. Its applets are called by name, as in "$b sleep 1"; the host's may differ.
func (p party) run(ctx context.Context, t *testing.T, script string) (stdout string, err error) {
	t.Helper()
	argv := shell(p.busybox, p.dir, "b="+p.dir+"/busybox\ncd "+p.dir+"\n"+script)
	if p.agent != nil {
		end, err := run(ctx, t, p.agent, argv)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, lastLine(end.Stderr))
		}
		return end.Stdout, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLine(stderr.String()))
	}
	return string(out), err
}

// call is a program of the place as the party's shell calls it.
func (p party) call(of program, args ...string) string { return quoted(of.argv(p.dir, args...)) }

// both runs two scripts at the same time: by the first party and another, or both by the first in one session.
func both(ctx context.Context, t *testing.T, a, b party, first, second string) error {
	t.Helper()
	if b.between == Processes {
		_, err := a.run(ctx, t, "( "+first+" ) & other=$!\n( "+second+" ); status=$?\nwait $other && exit $status")
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := b.run(ctx, t, second)
		if err != nil {
			err = fmt.Errorf("the other (%s): %w", b.between, err)
		}
		ended <- err
	}()
	_, err := a.run(ctx, t, first)
	if other := <-ended; err == nil {
		err = other
	}
	return err
}

// harmless reports whether the check says that a use is safe between a pair. A place whose disk can't be seen, or forgets, is safe
// apart from that.
func (o *opened) harmless(t *testing.T, name string, between Between, but ...string) bool {
	t.Helper()
	but = append(but, "fsync")
	findings := slices.DeleteFunc(slices.Clone(o.Findings), func(f Finding) bool { return slices.Contains(but, f.Key) })
	i := slices.IndexFunc(uses, func(u use) bool { return u.name == name })
	needs := slices.DeleteFunc(slices.Clone(uses[i].needs), func(n need) bool { return slices.Contains(but, n.key) })
	u := use{name: name, needs: needs, across: uses[i].across}
	got := u.judge(findings)
	safe := got.Safe == Yes || got.Safe == Alone && !slices.Contains(got.Between, string(between))
	t.Logf("the check, between %s: safe %v (%s: %s)", between, safe, o.use(name).Safe, sentence(o.use(name)))
	return safe
}

// hour bounds the session of a program.
func hour(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// write writes a file of a test.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
