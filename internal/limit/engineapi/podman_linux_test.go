package engineapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// A podmanFake is a Podman that stores updates, as 5.1 and later do. The words of its answers are those of podman,
// pkg/api/handlers/compat/{version,containers}.go and libpod/container_inspect_linux.go; what it does with an update is that of
// libpod/container_internal.go, update: 5.1 to 5.3 put it in the place of all that is stored, later ones in the place of the keys that it has.
type podmanFake struct {
	version string
	merges  bool
	stored  specs.LinuxResources
	paths   map[string]string
	updates int
}

func (f *podmanFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Api-Version", "1.41")
	w.Header().Set("Libpod-Api-Version", f.version)
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/_ping"):
	case strings.HasSuffix(path, "/version"):
		answer(map[string]any{"Version": f.version, "ApiVersion": "1.41", "Os": "linux", "Components": []any{map[string]any{"Name": "Podman Engine", "Version": f.version}}})
	case strings.HasSuffix(path, "/info"):
		answer(map[string]any{"OSType": "linux", "NCPU": 4, "CPUShares": true, "CpuCfsQuota": true, "MemoryLimit": true, "CgroupVersion": "2"})
	case strings.HasSuffix(path, "/containers/web/json"):
		answer(map[string]any{"Id": "web", "State": map[string]any{"Running": true}, "HostConfig": f.hostConfig()})
	case path == "/v4.0.0/libpod/containers/web/update":
		f.updates++
		var got specs.LinuxResources
		if f.merges {
			got = f.stored
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			answer(map[string]any{"cause": err.Error(), "message": err.Error(), "response": 500})
			return
		}
		f.stored = got
		w.WriteHeader(http.StatusCreated)
		answer("web")
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(map[string]any{"cause": "no such container", "message": "no such thing: " + path, "response": 404})
	}
}

// hostConfig is the stored settings as inspect shows them.
func (f *podmanFake) hostConfig() map[string]any {
	h := map[string]any{}
	if m := f.stored.Memory; m != nil && m.Limit != nil {
		h["Memory"] = *m.Limit
		if m.Swap != nil {
			h["MemorySwap"] = *m.Swap
		}
	}
	if c := f.stored.CPU; c != nil {
		if c.Shares != nil {
			h["CpuShares"] = *c.Shares
		}
		if c.Quota != nil {
			h["CpuQuota"], h["CpuPeriod"] = *c.Quota, *c.Period
		}
	}
	if p := f.stored.Pids; p != nil && p.Limit != nil {
		h["PidsLimit"] = *p.Limit
	}
	if b := f.stored.BlockIO; b != nil {
		for key, list := range map[string][]specs.LinuxThrottleDevice{"BlkioDeviceReadBps": b.ThrottleReadBpsDevice, "BlkioDeviceWriteBps": b.ThrottleWriteBpsDevice, "BlkioDeviceReadIOps": b.ThrottleReadIOPSDevice, "BlkioDeviceWriteIOps": b.ThrottleWriteIOPSDevice} {
			var told []any
			for _, d := range list {
				told = append(told, map[string]any{"Path": f.paths[numbered(d.Major, d.Minor).String()], "Rate": d.Rate})
			}
			h[key] = told
		}
	}
	return h
}

// TestPodmanStores: Podman stores an update from 5.1 on, and what was stored before it stays, also where the update is refused. An update whose devices the
// runtime passed over had 5.1 forget memory and CPUs.
func TestPodmanStores(t *testing.T) {
	disk, other := loop(t), loop(t)
	for _, row := range []struct {
		version string
		merges  bool
		keeps   bool
	}{{"4.9.4", false, false}, {"5.0.3", false, false}, {"5.1.2", false, true}, {"5.4.0", true, true}, {"5.8.2", true, true}, {"6.0.0-rc1", true, true}} {
		t.Run(row.version, func(t *testing.T) {
			limit, swap, shares, pids := int64(64<<20), int64(128<<20), uint64(300), int64(99)
			at := func(d Device) string { return d.Number.String() }
			f := &podmanFake{version: row.version, merges: row.merges, paths: map[string]string{at(disk): disk.Path, at(other): other.Path}}
			rate := specs.LinuxThrottleDevice{Rate: 7 << 20}
			rate.Major, rate.Minor = int64(other.Number.Major), int64(other.Number.Minor)
			f.stored = specs.LinuxResources{
				Memory: &specs.LinuxMemory{Limit: &limit, Swap: &swap}, CPU: &specs.LinuxCPU{Shares: &shares}, Pids: &specs.LinuxPids{Limit: &pids},
				BlockIO: &specs.LinuxBlockIO{ThrottleWriteBpsDevice: []specs.LinuxThrottleDevice{rate}},
			}
			s := httptest.NewServer(f)
			t.Cleanup(s.Close)
			a, err := Open(t.Context(), "tcp://"+strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { a.Close() })
			if keeps := a.Keeps(Resources{CPUs: 1}) == nil; keeps != row.keeps {
				t.Errorf("Keeps() = %v, want %v", keeps, row.keeps)
			}
			if !row.keeps {
				return
			}
			before, err := a.Stored(t.Context(), "web")
			if err != nil {
				t.Fatal(err)
			}
			disk := disk
			disk.WriteBPS = 5 << 20
			// Whether the kernel has it can't be found out, so that it is taken back.
			a.daemon.Elsewhere = ""
			if _, err := a.Set(t.Context(), "web", Resources{Devices: []Device{disk}, CPUs: 0.5}); err == nil {
				t.Error("Set of a container that can't be found: no error")
			}
			after, err := a.Stored(t.Context(), "web")
			for _, w := range before.Words() {
				if !strings.Contains("|"+strings.Join(after.Words(), "|")+"|", "|"+w+"|") {
					t.Errorf("refused: stored %q lacks %q, %v", after.Words(), w, err)
				}
			}
			if strings.Contains(strings.Join(after.Words(), "|"), disk.Path) {
				t.Errorf("refused: stored %q", after.Words())
			}
			a.daemon.Elsewhere = "the kernel isn't asked"
			o, err := a.Set(t.Context(), "web", Resources{Devices: []Device{disk}, CPUs: 0.5})
			if err != nil {
				t.Error(err)
			}
			if !o.Live || !o.Stored {
				t.Errorf("Set: live %v, stored %v", o.Live, o.Stored)
			}
			if len(o.Notes) > 0 {
				t.Errorf("Set notes %q", o.Notes)
			}
			after, err = a.Stored(t.Context(), "web")
			for _, w := range append(before.Words(), "cpus=0.5", "write_bps=5MiB on "+disk.Path) {
				if !strings.Contains("|"+strings.Join(after.Words(), "|")+"|", "|"+w+"|") {
					t.Errorf("stored %q lacks %q, %v", after.Words(), w, err)
				}
			}
			if got := f.stored.Pids; got == nil || *got.Limit != pids {
				t.Errorf("the limit of processes is stored as %+v", got)
			}
			if left, err := a.Forget(t.Context(), "web", Which{}); err != nil || len(left.Words()) != len(after.Words()) {
				t.Errorf("Forget = %q, %v; no update of Podman's takes anything back", left.Words(), err)
			}
		})
	}
}
