package profile

import "errors"

// directory keeps each volume in a folder of a file system that others use, too.
func directory() Backend {
	const shares = "the volume shares its disk with other data, so only a container as a whole can be limited there"
	return Backend{Name: "directory", here: hasFolders, rules: map[string]rule{
		"capacity":      directoryCapacity,
		"directory":     always(enforced("the data is kept there")),
		"filesystem":    directoryFilesystem,
		"iops.min":      always(advisory("nothing sets I/Os aside for it yet")),
		"iops.max":      always(advisory(shares)),
		"bandwidth.min": always(advisory("nothing sets bandwidth aside for it yet")),
		"bandwidth.max": always(advisory(shares)),
		"level":         oneCopy,
		"local":         always(enforced("the folder is on a disk of this machine")),
		"node":          thisNode,
		"provision":     directoryProvision,
		"type":          diskType,
		"shared":        always(unsupported("a folder is of one machine", "use the backend nfs")),
		"interface":     always(unsupported("a folder is of one machine", "use the backend nfs")),

		"service.autoexpand":  directoryAutoexpand,
		"service.backup":      always(advisory("restic stores it, but the files may change meanwhile: a folder can't be frozen")),
		"service.compression": always(unsupported("the folder is compressed as its file system is", "use the backend local")),
		"service.dedupe":      always(unsupported("the file system is shared with other data", "use the backend local")),
		"service.encryption":  always(unsupported("a folder has no device to encrypt", "use the backend local")),
		"service.replication": always(unsupported("a folder can't be frozen to copy it", "use the backend local")),
		"service.snapshot":    always(unsupported("a folder can't be frozen to copy it", "use the backend local")),
	}}
}

// hasFolders: each Linux has them.
func hasFolders(m Machine) error {
	if _, _, err := m.Below("/"); errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// directoryCapacity: without a quota the volume is as large as the file system, so the size is no promise.
func directoryCapacity(q question) Ability { return byQuota(q, "a project quota of the file system") }

// directoryAutoexpand: without a quota there is nothing to expand.
func directoryAutoexpand(q question) Ability { return byQuota(q, "the project quota grows") }

func byQuota(q question, why string) Ability {
	a := ask(q.m.Quota(q.folder), enforced(why))
	if a.Level == Unsupported {
		a.Level, a.Why = Advisory, "the volume can fill the whole file system: "+a.Why
	}
	return a
}

func directoryFilesystem(q question) Ability {
	kind, _, err := q.m.Below(q.folder)
	switch {
	case err != nil:
		return ask(err, Ability{})
	case kind != q.p.Filesystem:
		return unsupported(q.folder+" is on "+kind, "use a directory on "+q.p.Filesystem)
	}
	return enforced(q.folder + " is on it")
}

func directoryProvision(q question) Ability {
	if q.p.Provision == Thick {
		return unsupported("space is taken as data is written", "use the backend local")
	}
	return enforced("space is taken as data is written")
}
