package profile

// nfs keeps each volume in a folder of an NFS server.
func nfs() Backend {
	server := unsupported("it is the server's, which isn't asked for it", "")
	network := unsupported("the kernel limits no I/O that goes over a network", "use the backend local")
	return Backend{Name: "nfs", here: Machine.NFS, rules: map[string]rule{
		"capacity":      always(advisory("the server decides how much it takes")),
		"directory":     always(unsupported("the data is on the server", "leave directory out")),
		"filesystem":    always(server),
		"iops.min":      always(network),
		"iops.max":      always(network),
		"bandwidth.min": always(network),
		"bandwidth.max": always(network),
		"level":         nfsLevel,
		"local":         always(unsupported("the data is on the server", "use the backend local")),
		"node":          always(unsupported("the data is on the server", "use the backend local")),
		"provision":     nfsProvision,
		"type":          always(advisory("the server's disks aren't known")),
		"shared":        always(enforced("each machine mounts the export")),
		"interface":     nfsInterface,

		"service.autoexpand":  always(server),
		"service.backup":      always(advisory("restic stores it, but the files may change meanwhile: an export can't be frozen")),
		"service.compression": always(server),
		"service.dedupe":      always(server),
		"service.encryption":  always(server),
		"service.replication": always(server),
		"service.snapshot":    always(server),
	}}
}

func nfsLevel(q question) Ability {
	if q.p.Level > 1 {
		return unsupported("how many copies the server keeps isn't known", "")
	}
	return enforced("one copy at least")
}

func nfsProvision(q question) Ability {
	if q.p.Provision == Thick {
		return unsupported("the server takes space as data is written", "use the backend local")
	}
	return advisory("the server decides when it takes space")
}

// nfsInterface: Plimsoll mounts an export and makes none.
func nfsInterface(q question) Ability {
	i := q.p.Interface
	if i.Driver+i.Network+i.Conf != "" {
		return advisory("the volume is on an NFS server; driver, network and conf are the server's")
	}
	return enforced("the volume is on an NFS server")
}
