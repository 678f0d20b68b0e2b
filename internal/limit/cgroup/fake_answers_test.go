package cgroup

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"plimsoll/internal/host/device"
)

// answer is what a file reads after a write.
func (f *fake) answer(dir, name, now, text string) (string, error) {
	switch {
	case strings.HasPrefix(name, "blkio.throttle."):
		return f.throttle(name, now, text)
	case name == "io.max":
		return f.max(now, text)
	case name == "io.latency":
		return f.keyed(now, text, func(_ string, rest string) (string, error) {
			v, ok := strings.CutPrefix(rest, "target=")
			if v == "max" || v == "0" {
				return "", nil
			}
			if _, err := strconv.ParseUint(v, 10, 64); err != nil || !ok {
				return "", syscall.EINVAL
			}
			return rest, nil
		})
	case strings.Contains(name, "weight") && strings.Contains(name, "io."):
		return f.weight(dir, name, now, text)
	case strings.HasPrefix(name, "io.cost."):
		return f.cost(now, text)
	case name == "cpu.max":
		return f.cpuMax(text)
	case strings.HasPrefix(name, "cpu.cfs_"):
		return f.cfs(dir, name, text)
	case name == "cpu.weight":
		return bounded(text, 1, 10000)
	case name == "cpu.shares":
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return "", syscall.EINVAL
		}
		return fmt.Sprintln(min(max(n, 2), 1<<18)), nil
	case strings.HasPrefix(name, "memory."):
		return f.memory(dir, name, text)
	case name == "scheduler":
		return strings.ReplaceAll(strings.NewReplacer("[", "", "]", "").Replace(now), text, "["+text+"]"), nil
	case name == "cgroup.procs":
		return now + text + "\n", nil
	}
	f.t.Errorf("write to %s", name)
	return "", syscall.EINVAL
}

// keyed changes the line of the device that text begins with; an empty value removes it.
func (f *fake) keyed(now, text string, value func(dev, rest string) (string, error)) (string, error) {
	dev, rest, ok := strings.Cut(text, " ")
	d, err := device.ParseNumber(dev)
	if !ok || err != nil {
		return "", syscall.EINVAL
	}
	if f.has(f.root, "sys/dev/block/"+dev+"/partition") || !f.has(f.root, "sys/dev/block/"+dev) && d != f.hidden {
		return "", syscall.ENODEV
	}
	v, err := value(d.String(), rest)
	if err != nil {
		return "", err
	}
	out := ""
	for line := range strings.Lines(now) {
		if !strings.HasPrefix(line, dev+" ") {
			out += line
		}
	}
	if v != "" {
		out += dev + " " + v + "\n"
	}
	return out, nil
}

func (f *fake) throttle(name, now, text string) (string, error) {
	return f.keyed(now, text, func(_, rest string) (string, error) {
		v, err := strconv.ParseUint(rest, 10, 64)
		if err != nil {
			return "", syscall.EINVAL
		}
		if strings.Contains(name, "iops") && v != 0 {
			v = uint64(uint32(v))
			if v == math.MaxUint32 {
				return "", nil
			}
			return strconv.FormatUint(v, 10), nil
		}
		if v == 0 || v == math.MaxUint64 {
			return "", nil
		}
		return strconv.FormatUint(v, 10), nil
	})
}

func (f *fake) max(now, text string) (string, error) {
	return f.keyed(now, text, func(dev, rest string) (string, error) {
		values := map[string]string{"rbps": "max", "wbps": "max", "riops": "max", "wiops": "max"}
		for line := range strings.Lines(now) {
			if l, ok := strings.CutPrefix(line, dev+" "); ok {
				for _, kv := range strings.Fields(l) {
					k, v, _ := strings.Cut(kv, "=")
					values[k] = v
				}
			}
		}
		for _, kv := range strings.Fields(rest) {
			k, v, _ := strings.Cut(kv, "=")
			if values[k] == "" {
				return "", syscall.EINVAL
			}
			n, err := strconv.ParseUint(v, 10, 64)
			switch {
			case v == "max":
			case err != nil || n == 1:
				return "", syscall.EINVAL
			case n == 0:
				return "", syscall.ERANGE
			case strings.HasSuffix(k, "iops") && n >= math.MaxUint32:
				v = "max"
			}
			values[k] = v
		}
		line := fmt.Sprintf("rbps=%s wbps=%s riops=%s wiops=%s", values["rbps"], values["wbps"], values["riops"], values["wiops"])
		if strings.Count(line, "=max") == 4 {
			line = ""
		}
		return line, nil
	})
}

// weight is the kernel's many weights; version 1's two files of bfq show the same.
func (f *fake) weight(dir, name, now, text string) (string, error) {
	top := 1000
	if name == "io.weight" {
		top = 10000
	}
	if !strings.Contains(text, ":") {
		text = strings.TrimPrefix(text, "default ")
		v, err := bounded(text, 1, top)
		if err != nil && name == "io.weight" {
			err = syscall.EINVAL
		}
		if err != nil || name == "blkio.weight" {
			return v, err
		}
		other := map[string]string{"blkio.bfq.weight": "blkio.bfq.weight_device", "blkio.bfq.weight_device": "blkio.bfq.weight"}[name]
		if other != "" && f.has(dir, other) {
			content := v
			if other == "blkio.bfq.weight_device" {
				content = "default " + v
			}
			if err := os.WriteFile(filepath.Join(dir, other), []byte(content), 0o644); err != nil {
				return "", err
			}
		}
		if name == "blkio.bfq.weight" {
			return v, nil
		}
		if name == "io.weight" {
			_, rest, _ := strings.Cut(now, "\n")
			return "default " + v + rest, nil
		}
		return "default " + v, nil
	}
	return f.keyed(now, text, func(dev, rest string) (string, error) {
		sched, _ := os.ReadFile(filepath.Join(f.root, "sys/dev/block", dev, "queue/scheduler"))
		if strings.Contains(name, "bfq") && !strings.Contains(string(sched), "[bfq]") || name == "io.weight" && !f.iocost[dev] {
			return "", syscall.EOPNOTSUPP
		}
		if rest == "default" {
			return "", nil
		}
		v, err := bounded(rest, 1, top)
		return strings.TrimSpace(v), err
	})
}

// bounded is a number within bounds, with an end of line.
func bounded(text string, low, high int) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", syscall.EINVAL
	}
	if n < low || n > high {
		return "", syscall.ERANGE
	}
	return fmt.Sprintln(n), nil
}

func (f *fake) cost(now, text string) (string, error) {
	return f.keyed(now, text, func(dev, rest string) (string, error) {
		values, order := map[string]string{}, []string{}
		put := func(k, v string) {
			if _, ok := values[k]; !ok {
				order = append(order, k)
			}
			values[k] = v
		}
		put("enable", "0")
		put("ctrl", "auto")
		for _, part := range []string{now, dev + " " + rest} {
			for line := range strings.Lines(part) {
				if l, ok := strings.CutPrefix(line, dev+" "); ok {
					for _, kv := range strings.Fields(l) {
						k, v, _ := strings.Cut(kv, "=")
						put(k, v)
						if k != "enable" && k != "ctrl" && part != now {
							values["ctrl"] = "user"
						}
					}
				}
			}
		}
		if strings.Contains(rest, "ctrl=auto") {
			values["ctrl"] = "auto"
		}
		f.iocost[dev] = true
		line := ""
		for _, k := range order {
			line += " " + k + "=" + values[k]
		}
		return strings.TrimSpace(line), nil
	})
}

func (f *fake) cpuMax(text string) (string, error) {
	q, err := parseQuota(text)
	if err != nil || (q.quota >= 0 && q.quota < 1000) {
		return "", syscall.EINVAL
	}
	return q.text() + "\n", nil
}

// cfs holds a group under the one above it, and above those below it.
func (f *fake) cfs(dir, name, text string) (string, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", syscall.EINVAL
	}
	if name == cfsPeriod {
		return fmt.Sprintln(n), nil
	}
	if n < 0 {
		return "-1\n", nil
	}
	if n < 1000 {
		return "", syscall.EINVAL
	}
	of := func(dir string) quota {
		q, _ := os.ReadFile(filepath.Join(dir, cfsQuota))
		p, _ := os.ReadFile(filepath.Join(dir, cfsPeriod))
		v, _ := parseQuota(string(q) + " " + string(p))
		return v
	}
	want := quota{n, of(dir).period}.cpus()
	for up := filepath.Dir(dir); f.has(up, cfsQuota); up = filepath.Dir(up) {
		if has := of(up).cpus(); has > 0 && has < want {
			return "", syscall.EINVAL
		}
	}
	below, _ := filepath.Glob(filepath.Join(dir, "*", cfsQuota))
	for _, b := range below {
		if of(filepath.Dir(b)).cpus() > want {
			return "", syscall.EINVAL
		}
	}
	return fmt.Sprintln(n), nil
}

func (f *fake) memory(dir, name, text string) (string, error) {
	page, v1 := int64(os.Getpagesize()), strings.HasSuffix(name, "_in_bytes")
	all := int64(math.MaxInt64) - int64(math.MaxInt64)%page
	n, err := strconv.ParseInt(text, 10, 64)
	if (v1 && text == "-1") || (!v1 && text == "max") {
		n, err = all, nil
	}
	if err != nil || n < 0 {
		return "", syscall.EINVAL
	}
	n -= n % page
	if !v1 && n == all {
		return "max\n", nil
	}
	if v1 && f.has(dir, "memory.memsw.limit_in_bytes") {
		other := map[string]string{"memory.limit_in_bytes": "memory.memsw.limit_in_bytes", "memory.memsw.limit_in_bytes": "memory.limit_in_bytes"}[name]
		b, _ := os.ReadFile(filepath.Join(dir, other))
		has, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if c := cmp.Compare(n, has); (name == "memory.limit_in_bytes" && c > 0) || (name != "memory.limit_in_bytes" && c < 0) {
			return "", syscall.EINVAL
		}
	}
	return fmt.Sprintln(n), nil
}
