package guest

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/conf/controlfile"
)

// depFile is depmod's table of the modules that each module needs.
const depFile = "modules.dep"

// A MissingModuleError says that a kernel has no module of that name, neither as a file nor built in.
type MissingModuleError struct {
	Kernel, Module string
}

// Error implements error.
func (e *MissingModuleError) Error() string {
	return fmt.Sprintf("the kernel %s has no module %s", e.Kernel, e.Module)
}

// A modules holds depmod's tables of one kernel's modules, by names with _ for -.
type modules struct {
	kernel Kernel
	// files are the modules' files, relative to the folder; needs are the modules that must be loaded before.
	files map[string]string
	needs map[string][]string
	// builtin are built into the kernel.
	builtin map[string]bool
	// before are names that a module asks for when it is loaded; aliases are other names of a module.
	before  map[string][]string
	aliases map[string][]string
}

// Resolve returns the files of the modules that must be loaded for names to work, in that order, without those that are
// built in. The error is a *MissingModuleError if a name has no module.
func (k Kernel) Resolve(names ...string) ([]string, error) {
	if k.Modules == "" && k.unlisted != "" {
		// depmod(8) expects the folder above lib/modules.
		return nil, fmt.Errorf("the modules of kernel %s have no list (%s): create it with depmod -b %s %s", k.Version, depFile, filepath.Join(k.unlisted, "../../.."), k.Version)
	}
	if k.Modules == "" {
		return nil, fmt.Errorf("the modules of kernel %s can't be found: name their folder", k.Version)
	}
	m, err := readModules(k)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range names {
		if out, err = m.add(out, n, 0); err != nil {
			return nil, err
		}
	}
	for i := range out {
		out[i] = filepath.Join(k.Modules, out[i])
	}
	return out, nil
}

// maxDepth bounds the chain of modules that need each other, which could be a circle in a damaged file.
const maxDepth = 20

// add appends the files of a module and of the modules that it needs, those first.
func (m *modules) add(out []string, name string, depth int) ([]string, error) {
	name = moduleName(name)
	if m.builtin[name] || depth > maxDepth {
		return out, nil
	}
	file, ok := m.files[name]
	if !ok {
		return nil, &MissingModuleError{m.kernel.Version, name}
	}
	if slices.Contains(out, file) {
		return out, nil
	}
	for _, b := range m.before[name] {
		// This is a wish, not a need: take whatever exists of the modules that answer to the name.
		for _, a := range m.answering(b) {
			if more, err := m.add(out, a, depth+1); err == nil {
				out = more
			}
		}
	}
	// modules.dep lists all of them, the last one needed first.
	for _, f := range slices.Backward(m.needs[name]) {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return append(out, file), nil
}

// answering lists the modules with a name or an alias. It omits those for special processors, which refuse to be loaded
// on others.
func (m *modules) answering(name string) []string {
	name = moduleName(name)
	var out []string
	for _, n := range append([]string{name}, m.aliases[name]...) {
		if f, ok := m.files[n]; ok && !strings.HasPrefix(f, "kernel/arch/") {
			out = append(out, n)
		}
	}
	return out
}

// moduleName returns a module's name, from the path of its file, with _ for -.
func moduleName(s string) string {
	s = path.Base(s)
	for _, suffix := range []string{".gz", ".xz", ".zst", ".ko"} {
		s = strings.TrimSuffix(s, suffix)
	}
	return strings.ReplaceAll(s, "-", "_")
}

func readModules(k Kernel) (*modules, error) {
	m := &modules{kernel: k, files: map[string]string{}, needs: map[string][]string{}, builtin: map[string]bool{}, before: map[string][]string{}, aliases: map[string][]string{}}
	err := eachLine(filepath.Join(k.Modules, depFile), func(line string) {
		file, needs, ok := strings.Cut(line, ":")
		if ok {
			m.files[moduleName(file)] = file
			m.needs[moduleName(file)] = strings.Fields(needs)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("modules of kernel %s: %w", k.Version, err)
	}
	for name, read := range map[string]func(line string){
		"modules.builtin": func(line string) { m.builtin[moduleName(line)] = true },
		"modules.softdep": func(line string) {
			f := strings.Fields(line) // softdep ext4 pre: crypto-crc32c post: other
			if len(f) < 4 || f[0] != "softdep" || f[2] != "pre:" {
				return
			}
			pre := f[3:]
			if i := slices.Index(pre, "post:"); i >= 0 {
				pre = pre[:i]
			}
			m.before[moduleName(f[1])] = pre
		},
		"modules.alias": func(line string) {
			if f := strings.Fields(line); len(f) == 3 && !strings.ContainsAny(f[1], ":*") {
				m.aliases[moduleName(f[1])] = append(m.aliases[moduleName(f[1])], moduleName(f[2]))
			}
		},
	} {
		if err := eachLine(filepath.Join(k.Modules, name), read); err != nil && !notThere(err) {
			return nil, fmt.Errorf("modules of kernel %s: %w", k.Version, err)
		}
	}
	return m, nil
}

// maxTable is the maximum size of one of depmod's tables, and maxModule that of a module, in bytes: the largest of a
// distribution's have 2 MB and 15 MB.
const (
	maxTable  = 64 << 20
	maxModule = 256 << 20
)

// eachLine calls f for the lines of a file.
func eachLine(file string, f func(line string)) error {
	b, err := controlfile.Read(file, maxTable)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f(strings.TrimSpace(s.Text()))
	}
	return s.Err()
}

// readModule returns a module as the kernel loads it. From Linux 5.17 on, an unpacked module is the only kind that all
// kernels accept.
func readModule(file string) ([]byte, error) {
	b, err := controlfile.Read(file, maxModule)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".ko") {
		return b, nil
	}
	plain, err := decompress(b)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", file, err)
	}
	return plain, nil
}
