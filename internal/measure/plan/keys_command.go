package plan

import (
	"plimsoll/internal/measure/website"
	"plimsoll/internal/measure/workload"
)

// commandFields is the table of the keys of a command.
func commandFields() []field[workload.Spec] {
	type W = workload.Spec
	// part gives the command to a key, which makes one if there is none yet.
	part := func(w *W) *workload.CommandSpec {
		if w.Command == nil {
			w.Command = &workload.CommandSpec{}
		}
		return w.Command
	}
	argument := words("an argument", 4096, true)
	return []field[W]{
		must(key("argv", "The program and its arguments. {source} and {destination} stand for the folders of the two.", list[string]{what: "arguments", item: argument, min: 1}, func(w *W) *[]string { return &part(w).Argv })),
		key("env", "More variables of its environment; it has PATH, HOME and LANG. Default: none.", options{}, func(w *W) *map[string]string { return &part(w).Env }),
		key("dir", "Its working folder. Default: {destination}, which is empty.", words("a path", 4096, false), func(w *W) *string { return &part(w).Dir }),
		key("site", "A web site that is made in the source before. Default: none.", optional[website.Spec]{siteSection()}, func(w *W) **website.Spec { return &part(w).Site }),
		key("output", "How much of the ends of its standard output and of its standard error is kept. Default: 8KiB.", amount(1, workload.MaxOutput), func(w *W) *int64 { return &part(w).Output }),
	}
}

// siteSection is the table of the keys of a site.
func siteSection() section[website.Spec] {
	type S = website.Spec
	return section[S]{what: "a site", check: checkSite, fields: []field[S]{
		key("posts", "How many of its files are posts. Default: 308.", integer(1, website.MaxFiles), func(s *S) *int { return &s.Posts }),
		key("files", "How many files it has. Default: 3604.", integer(1, website.MaxFiles), func(s *S) *int { return &s.Files }),
		key("size", "What they hold together. Default: 278MB.", amount(1, website.MaxBytes), func(s *S) *int64 { return &s.Bytes }),
		key("seed", "Makes another site of the same size. Default: 1.", seed(), func(s *S) *uint64 { return &s.Seed }),
	}}
}

// checkCommand finds what the bounds of single keys don't say.
func checkCommand(d *decoder, path string, w *workload.Spec) {
	if err := w.Validate(); err != nil {
		d.fail(path, "%v", err)
	}
}

// checkSite finds what the bounds of single keys don't say.
func checkSite(d *decoder, path string, s *website.Spec) {
	if err := s.Validate(); err != nil {
		d.fail(path, "%v", err)
	}
}
