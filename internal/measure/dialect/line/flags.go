package line

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/usage"
)

// Flags are Plimsoll's own flags beside the tool's.
type Flags struct {
	Engine, Place, Image string
	Network, Isolation   string
	Limits               limit.Limits
	Record, Help, Quiet  bool
	Destructive          []string
	// State is the state folder; "" if the line names none.
	State string
	// Notes say what was read otherwise than it stands there.
	Notes []string
}

// Help describes them.
func Help(tool Tool) string {
	where := `
  --place KIND[:PATH]        where the files are: dir, layer, bind, volume or tmpfs; they are made there
                             and removed afterwards. Without it, paths are those of this machine`
	leave := `
  --destructive PATH         allow writing over this file or device; its data is then lost`
	if tool.Web {
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
  --memory SIZE              limit of the container's memory with its page cache (64m, as Docker reads it)
  --cpus N                   limit of the container's CPUs (0.5)
  --cpu-shares N             the container's share of busy CPUs (1024 is normal)
  --read-bps, --write-bps RATE, --read-iops, --write-iops N, --weight N, --latency TIME
                             limits of the device under the place (10MiB, 500, 200, 5ms)
  --device-wide              limit the device too, which holds buffered writes
  --io-maxiops N, --io-maxbandwidth RATE, --isolation process|hyperv
                             for a Windows container: limits of its system drive, and its isolation
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

// Split takes Plimsoll's own flags out of a tool's arguments.
func Split(args []string) (f Flags, rest []string, err error) {
	text := func(to *string) func(string, string) error {
		return func(_, v string) error { *to = v; return nil }
	}
	values := map[string]func(flag, value string) error{
		"--engine": text(&f.Engine), "--place": text(&f.Place), "--image": text(&f.Image),
		"--state": func(flag, v string) error {
			if v == "" {
				return fmt.Errorf("%s: %w", flag, usage.ErrEmpty)
			}
			f.State = v
			return nil
		},
		"--network": text(&f.Network),
		"--isolation": func(flag, v string) error {
			f.Isolation = v
			if v != plan.Process && v != plan.HyperV {
				return fmt.Errorf("%s %s: use %s or %s", flag, v, plan.Process, plan.HyperV)
			}
			return nil
		},
		"--destructive": func(_, v string) error { f.Destructive = append(f.Destructive, v); return nil },
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
			err := plan.SetLimit(&f.Limits, key, v, from)
			f.Limits.Name = f.Limits.String() // No plan names it.
			return err
		}
	}
	seen := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, glued := strings.Cut(args[i], "=")
		set := values[name]
		switch {
		case args[i] == "--record":
			f.Record = true
			continue
		case args[i] == "--device-wide":
			f.Limits.DeviceWide = true
			f.Limits.Name = f.Limits.String()
			continue
		case args[i] == "--quiet":
			f.Quiet = true
			continue
		case args[i] == "--help":
			f.Help = true
			continue
		case set == nil && dockerOnly[name] != "":
			return f, nil, usage.Errorf("%s is Docker's, and Plimsoll's line has no such flag: %s", name, dockerOnly[name])
		case set == nil:
			rest = append(rest, args[i])
			continue
		case glued:
		case i+1 == len(args) || strings.HasPrefix(args[i+1], "--"):
			return f, nil, usage.Errorf("%s needs a value", name)
		default:
			i++
			value = args[i]
		}
		if other, ok := seen[name]; ok && other != value && name != "--destructive" {
			return f, nil, usage.Errorf("%s is given twice, as %s and as %s: leave out one", name, other, value)
		}
		seen[name] = value
		if err := set(name, value); err != nil {
			return f, nil, usage.Errorf("%w", err)
		}
	}
	if err := f.Limits.Check(); err != nil {
		return f, nil, usage.Errorf("%w", err)
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
func (f *Flags) dockerSize(k limit.Key, v string) string {
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
		f.Notes = append(f.Notes, fmt.Sprintf("%s %s is read as Docker reads it: %s", k.Flag(), v, docker.Text(k)))
	}
	return plain
}
