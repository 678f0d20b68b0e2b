package plan

import (
	"plimsoll/internal/measure/website"
	"plimsoll/internal/measure/workload"
)

// commandFields is the table of the keys of a command.
func commandFields() []Field[workload.Spec] {
	type W = workload.Spec
	// part gives the command to a key, which makes one if there is none yet.
	part := func(w *W) *workload.CommandSpec {
		if w.Command == nil {
			w.Command = &workload.CommandSpec{}
		}
		return w.Command
	}
	argument := Words("an argument", 4096, true)
	return []Field[W]{
		Must(Key("argv", "The program and its arguments. {source} and {destination} stand for the folders of the two.", List[string]{What: "arguments", Item: argument, Min: 1}, func(w *W) *[]string { return &part(w).Argv })),
		Key("env", "More variables of its environment; it has PATH, HOME and LANG. Default: none.", TextMap{}, func(w *W) *map[string]string { return &part(w).Env }),
		Key("dir", "Its working folder. Default: {destination}, which is empty.", Words("a path", 4096, false), func(w *W) *string { return &part(w).Dir }),
		Key("site", "A web site that is made in the source before. Default: none.", Optional[website.Spec]{Section: siteSection()}, func(w *W) **website.Spec { return &part(w).Site }),
		Key("output", "How much of the ends of its standard output and of its standard error is kept. Default: 8KiB.", Size(1, workload.MaxOutput), func(w *W) *int64 { return &part(w).Output }),
	}
}

// siteSection is the table of the keys of a site.
func siteSection() Section[website.Spec] {
	type S = website.Spec
	return Section[S]{What: "a site", Check: checkSite, Fields: []Field[S]{
		Key("posts", "How many of its files are posts. Default: 308.", Integer(1, website.MaxFiles), func(s *S) *int { return &s.Posts }),
		Key("files", "How many files it has. Default: 3604.", Integer(1, website.MaxFiles), func(s *S) *int { return &s.Files }),
		Key("size", "What they hold together. Default: 278MB.", Size(1, website.MaxBytes), func(s *S) *int64 { return &s.Bytes }),
		Key("seed", "Makes another site of the same size. Default: 1.", Seed(), func(s *S) *uint64 { return &s.Seed }),
	}}
}

// checkCommand finds what the bounds of single keys don't say.
func checkCommand(d *Decoder, path string, w *workload.Spec) {
	if err := w.Validate(); err != nil {
		d.Fail(path, "%v", err)
	}
}

// checkSite finds what the bounds of single keys don't say.
func checkSite(d *Decoder, path string, s *website.Spec) {
	if err := s.Validate(); err != nil {
		d.Fail(path, "%v", err)
	}
}
