package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
)

// dialectFlags are Plimsoll's own flags beside the tool's.
type dialectFlags struct {
	engine, place, image string
	network, isolation   string
	limits               limit.Limits
	record, help, quiet  bool
	destructive          []string
	// notes say what was read otherwise than it stands there.
	notes []string
}

// dialectHelp describes them.
func dialectHelp(tool dialectTool) string {
	where := `
  --place KIND[:PATH]        where the files are: dir, layer, bind, volume or tmpfs; they are made there
                             and removed afterwards. Without it, paths are those of this machine`
	leave := `
  --destructive PATH         allow writing over this file or device; its data is then lost`
	if tool.web {
		where = `
  --network NAME             network of the docker engine's container: a network of the daemon,
                             container:NAME for that of another container, or host`
		leave = ""
	}
	return `

Plimsoll's own flags may stand anywhere between the tool's:
  --engine host|oci|docker|vm
                             where the load runs (default host): a container of a runtime or a daemon, or a
                             virtual machine` + where + `
  --image NAME               an image of the engine to run in, instead of an empty one
  --memory SIZE              limits of the container: memory with its page cache (64m, as Docker reads it),
  --cpus N                   processors (0.5),
  --cpu-shares N             and weight on busy processors (1024 is normal)
  --read-bps, --write-bps RATE, --read-iops, --write-iops N, --weight N, --latency TIME
                             limits of the device under the place (10MiB, 500, 200, 5ms)
  --device-wide              hold the rates at the device too: what the kernel writes back later
  --io-maxiops N, --io-maxbandwidth RATE, --isolation process|hyperv
                             of a Windows container: limits of its system drive, and its isolation
  --record                   keep it as a run: 'plimsoll report last' shows it with its doubts
  --quiet                    no notes and doubts on standard error, as for '2>&1 | jq'` + leave
}

// ownFlags are the names of Plimsoll's own flags beside a tool's line.
func ownFlags() []string {
	own := []string{"--engine", "--place", "--image", "--network", "--isolation", "--destructive", "--state", "--record", "--quiet", "--help"}
	for _, key := range plan.LimitKeys() {
		own = append(own, limit.Key(key).Flag())
	}
	return own
}

// splitDialect takes Plimsoll's own flags out of a tool's arguments.
func (a *app) splitDialect(args []string) (f dialectFlags, rest []string, err error) {
	text := func(to *string) func(string, string) error {
		return func(_, v string) error { *to = v; return nil }
	}
	values := map[string]func(flag, value string) error{
		"--engine": text(&f.engine), "--place": text(&f.place), "--image": text(&f.image),
		"--state": func(flag, v string) error {
			if v == "" {
				return fmt.Errorf("%s: %w", flag, errEmpty)
			}
			a.stateDir = v
			return nil
		},
		"--network": text(&f.network),
		"--isolation": func(flag, v string) error {
			f.isolation = v
			if v != plan.Process && v != plan.HyperV {
				return fmt.Errorf("%s %s: use %s or %s", flag, v, plan.Process, plan.HyperV)
			}
			return nil
		},
		"--destructive": func(_, v string) error { f.destructive = append(f.destructive, v); return nil },
	}
	for _, key := range plan.LimitKeys() {
		if key == "device_wide" {
			continue // It has no value.
		}
		values["--"+strings.ReplaceAll(key, "_", "-")] = func(flag, v string) error {
			from := flag + " " + v
			if limit.Key(key) == limit.Memory || limit.Key(key) == limit.SystemBPS {
				v = f.dockerSize(limit.Key(key), v)
			}
			err := plan.SetLimit(&f.limits, key, v, from)
			f.limits.Name = f.limits.String() // No plan names it.
			return err
		}
	}
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, glued := strings.Cut(args[i], "=")
		set := values[name]
		switch {
		case args[i] == "--record":
			f.record = true
			continue
		case args[i] == "--device-wide":
			f.limits.DeviceWide = true
			f.limits.Name = f.limits.String()
			continue
		case args[i] == "--quiet":
			f.quiet = true
			continue
		case args[i] == "--help":
			f.help = true
			continue
		case set == nil && dockerOnly[name] != "":
			return f, nil, usageError("%s is Docker's, and Plimsoll's line has no such flag: %s", name, dockerOnly[name])
		case set == nil:
			rest = append(rest, args[i])
			continue
		case glued:
		case i+1 == len(args) || strings.HasPrefix(args[i+1], "--"):
			return f, nil, usageError("%s needs a value", name)
		default:
			i++
			value = args[i]
		}
		if other, ok := given[name]; ok && other != value && name != "--destructive" {
			return f, nil, usageError("%s is given twice, as %s and as %s: leave out one", name, other, value)
		}
		given[name] = value
		if err := set(name, value); err != nil {
			return f, nil, usageError("%w", err)
		}
	}
	if err := f.limits.Check(); err != nil {
		return f, nil, usageError("%w", err)
	}
	return f, rest, nil
}

// dockerOnly are flags of docker run in published lines that are none of a tool's, and what to write here.
var dockerOnly = map[string]string{
	"--device-read-bps": "use --read-bps RATE", "--device-write-bps": "use --write-bps RATE, as in 1MiB; it limits the device under the place",
	"--device-read-iops": "use --read-iops N", "--device-write-iops": "use --write-iops N; it limits the device under the place",
	"--blkio-weight": "use --weight N, from 1 to 10000",
	"--volume":       "use --place bind:PATH or --place volume", "--mount": "use --place bind:PATH, volume or tmpfs", "--tmpfs": "use --place tmpfs",
	"--cpu-quota": "use --cpus N, which is quota/period", "--cpu-period": "use --cpus N, which is quota/period",
	"--rm": "leave it out; files that a line makes in a container are removed at its end",
}

// dockerSize is the value of a flag that is Docker's, as Docker reads it (opts.MemBytes): "4G", "5m" and "4GB" count in powers of 1024.
// It says so where Plimsoll's own sizes are written otherwise. What Docker refuses stays as it is.
func (f *dialectFlags) dockerSize(k limit.Key, v string) string {
	n, err := units.RAMInBytes(v)
	if err != nil {
		return v
	}
	plain := strconv.FormatInt(n, 10)
	docker, err := limit.Parse(k, plain)
	if err != nil {
		return v
	}
	if own, err := limit.Parse(k, v); err != nil || own != docker {
		f.notes = append(f.notes, fmt.Sprintf("%s %s is read as Docker reads it: %s", k.Flag(), v, docker.Text(k)))
	}
	return plain
}

// dialectPlace reads --place. A line that uses no storage gets a place that costs nothing.
func dialectPlace(tool dialectTool, f dialectFlags, kind string) (place.Spec, error) {
	if tool.web && kind != plan.Host {
		return place.Spec{Name: string(place.Tmpfs), Kind: place.Tmpfs}, nil
	}
	if f.place == "" {
		if kind == plan.Host {
			return place.Spec{Name: string(place.Dir), Kind: place.Dir}, nil
		}
		if kind == plan.OCI {
			return place.Spec{Name: string(place.Bind), Kind: place.Bind}, nil // It has no volumes.
		}
		return place.Spec{Name: string(place.Volume), Kind: place.Volume}, nil
	}
	name, path, _ := strings.Cut(f.place, ":")
	if !slices.Contains(place.Kinds, place.Kind(name)) {
		return place.Spec{}, usageError("--place %s: use one of %v, with a folder as in bind:/srv/data", f.place, place.Kinds)
	}
	if path != "" && name != string(place.Dir) && name != string(place.Bind) {
		return place.Spec{}, usageError("--place %s: only dir and bind take a folder", f.place)
	}
	if path != "" {
		switch st, err := os.Stat(path); {
		case errors.Is(err, os.ErrNotExist):
			return place.Spec{}, usageError("--place %s: %s does not exist: make the folder first", f.place, path)
		case err != nil:
			return place.Spec{}, usageError("--place %s: %w", f.place, err)
		case !st.IsDir():
			return place.Spec{}, usageError("--place %s: %s is not a folder", f.place, path)
		}
	}
	return place.Spec{Name: name, Kind: place.Kind(name), Path: path}, nil
}

// dialectNetwork is what the connections of a line go over, "" if it makes none.
func dialectNetwork(tool dialectTool, f dialectFlags, kind string) string {
	switch {
	case !tool.web || f.network != "":
		return f.network
	case kind == plan.Docker:
		return engine.DefaultNetwork
	}
	return engine.HostNetwork
}

// refuseFlags says which of the flags mean nothing for the tool.
func refuseFlags(tool dialectTool, f dialectFlags) error {
	switch {
	case tool.web && (f.place != "" || len(f.destructive) > 0):
		return usageError("%s asks a server and uses no storage: leave out --place and --destructive", tool.name)
	case tool.web && f.limits.IO():
		return usageError("%s asks a server and uses no storage: leave out the limits on I/O", tool.name)
	case f.limits.IO() && f.place == "" && (f.engine == "" || f.engine == plan.Host):
		return usageError("limits on I/O need the device under a place, and this line has no place: give --place dir:PATH, or --engine oci or docker")
	case !tool.web && f.network != "":
		return usageError("%s uses no network: leave out --network", tool.name)
	}
	return nil
}

// here reports whether a line that asks a server does so from this process: nothing was said of where else, nor is
// anything to be kept.
func (f dialectFlags) here() bool {
	return f.engine == "" && f.image == "" && f.network == "" && f.isolation == "" && !f.record && f.limits.IsZero()
}
