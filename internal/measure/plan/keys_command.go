package plan

import (
	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/website"
	"plimsoll/internal/measure/workload"
)

// commandFields is the table of the keys of a command.
func commandFields() []strict.Field[workload.Spec] {
	type W = workload.Spec
	// part returns the command of w, and makes it if there is none yet.
	part := func(w *W) *workload.CommandSpec {
		if w.Command == nil {
			w.Command = &workload.CommandSpec{}
		}
		return w.Command
	}
	argument := strict.Words("an argument", 4096, true)
	return []strict.Field[W]{
		strict.Must(strict.Key("argv", "The program and its arguments. {source} and {destination} stand for the folders that it reads and writes.", strict.List[string]{What: "arguments", Item: argument, Min: 1}, func(w *W) *[]string { return &part(w).Argv })),
		strict.Key("env", "Environment variables beside PATH, HOME and LANG. Default: none.", strict.TextMap{}, func(w *W) *map[string]string { return &part(w).Env }),
		strict.Key("dir", "Its working folder. Default: {destination}, which is empty.", strict.Words("a path", 4096, false), func(w *W) *string { return &part(w).Dir }),
		strict.Key("site", "A web site that is generated in the source folder before the command runs. Default: none.", strict.Optional[website.Spec]{Section: siteSection()}, func(w *W) **website.Spec { return &part(w).Site }),
		strict.Key("output", "How much is kept of the ends of its standard output and standard error. Default: 8KiB.", strict.Size(1, workload.MaxOutput), func(w *W) *int64 { return &part(w).Output }),
	}
}

// siteSection is the table of the keys of site: a generated web site's source, for a site generator such as Jekyll to
// build.
func siteSection() strict.Section[website.Spec] {
	type S = website.Spec
	return strict.Section[S]{What: "a site", Check: checkSite, Fields: []strict.Field[S]{
		strict.Key("posts", "How many of the site's files are posts. Default: 308.", strict.Integer(1, website.MaxFiles), func(s *S) *int { return &s.Posts }),
		strict.Key("files", "How many files the site has. Default: 3604.", strict.Integer(1, website.MaxFiles), func(s *S) *int { return &s.Files }),
		strict.Key("size", "The size of all files together. Default: 278MB.", strict.Size(1, website.MaxBytes), func(s *S) *int64 { return &s.Bytes }),
		strict.Key("seed", "Makes another site of the same size. Default: 1.", strict.Seed(), func(s *S) *uint64 { return &s.Seed }),
	}}
}

// checkCommand checks what the bounds of single keys don't cover.
func checkCommand(d *strict.Decoder, path string, w *workload.Spec) {
	if err := w.Validate(); err != nil {
		d.Fail(path, "%v", err)
	}
}

// checkSite checks what the bounds of single keys don't cover.
func checkSite(d *strict.Decoder, path string, s *website.Spec) {
	if err := s.Validate(); err != nil {
		d.Fail(path, "%v", err)
	}
}
