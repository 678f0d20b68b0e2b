// Package profile is what a volume promises: its capacity, its rates, its copies and its services.
//
// A profile is a YAML file. Parse reads it in any spelling that Storidge CIO, the only earlier product with such profiles, had in
// its documentation; Marshal writes one spelling. In between is Profile, in one unit each. Some profiles are built in, and a user adds others to
// a Store. The options of "docker volume create -o" change a profile for one volume: Store.FromOptions.
//
// A backend makes volumes. Whether it keeps a promise differs: Check asks a Backend for each key that a profile has, and the answer is
// enforced, advisory or unsupported, with the reason. A volume is refused if a key is unsupported, unless the profile marks it optional.
//
// Easily got wrong: a bare number has a unit. It is GB of 10^9 bytes for capacity, MB of 10^6 bytes a second for bandwidth, minutes for
// the intervals of snapshots and replication, and hours for that of backups, as in Storidge's files. And zero means "not asked", in
// each field: a profile without an iops.max has no limit.
//
// The keys are those of the pages profiles.md and cio_cli/profile.md of https://github.com/Storidge/cio-user-docs.
package profile

// A Profile is what a volume promises. A zero field is not asked for. Its JSON is kept in records of volumes.
type Profile struct {
	// Name is that of the profile; "" if it was read from a file that is in no Store.
	Name string `json:"name,omitempty"`
	// Description is for people.
	Description string `json:"description,omitempty"`
	// Capacity is in bytes.
	Capacity int64 `json:"capacity,omitempty"`
	// Directory is a folder of the host, in which a backend keeps the volume's data. "": the backend's own.
	Directory string `json:"directory,omitempty"`
	// Filesystem is Ext4, XFS or Btrfs.
	Filesystem string `json:"filesystem,omitempty"`
	// IOPS are reads and writes a second, together.
	IOPS Range `json:"iops,omitzero"`
	// Bandwidth is in bytes a second, reads and writes together.
	Bandwidth Range             `json:"bandwidth,omitzero"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Level is the number of copies that are written before a write is acknowledged, 1 to 3.
	Level int `json:"level,omitempty"`
	// Local asks for disks of the machine that mounts the volume.
	Local bool `json:"local,omitempty"`
	// Node names the machine that has the data.
	Node string `json:"node,omitempty"`
	// Provision is Thin or Thick.
	Provision string `json:"provision,omitempty"`
	// Type is SSD or HDD.
	Type string `json:"type,omitempty"`
	// Shared asks that several machines can mount the volume at once.
	Shared    bool      `json:"shared,omitempty"`
	Interface Interface `json:"interface,omitzero"`
	Service   Service   `json:"service,omitzero"`
	// Optional lists the keys that a backend may leave out, such as "level" and "service.snapshot".
	Optional []string `json:"optional,omitempty"`
}

// Values of a profile's keys.
const (
	Ext4         = "ext4"
	XFS          = "xfs"
	Btrfs        = "btrfs"
	Thin         = "thin"
	Thick        = "thick"
	SSD          = "ssd"
	HDD          = "hdd"
	Synchronous  = "synchronous"
	Asynchronous = "asynchronous"
)

// A Range is what is guaranteed, and what is not exceeded.
type Range struct {
	Min int64 `json:"min,omitempty"`
	Max int64 `json:"max,omitempty"`
}

// An Interface is how a volume is offered to other machines.
type Interface struct {
	// Type is "nfs".
	Type string `json:"type,omitempty"`
	// Driver and Network are those of the network on which it is offered, Name the name there.
	Driver  string `json:"driver,omitempty"`
	Network string `json:"network,omitempty"`
	Name    string `json:"name,omitempty"`
	// Conf is a line of the server's configuration.
	Conf string `json:"conf,omitempty"`
}

// A Service is the work that is done on a volume in the background, or below its file system. The settings of a service that is not Enabled are
// kept, for a volume that enables it.
type Service struct {
	Autoexpand  Autoexpand  `json:"autoexpand,omitzero"`
	Backup      Backup      `json:"backup,omitzero"`
	Compression Compression `json:"compression,omitzero"`
	Dedupe      bool        `json:"dedupe,omitempty"`
	Encryption  Encryption  `json:"encryption,omitzero"`
	Replication Replication `json:"replication,omitzero"`
	Snapshot    Snapshot    `json:"snapshot,omitzero"`
}

// Autoexpand grows a volume by Increment percent once Threshold percent of it are used, at most Limit times.
type Autoexpand struct {
	Enabled   bool `json:"enabled,omitempty"`
	Threshold int  `json:"threshold,omitempty"`
	Increment int  `json:"increment,omitempty"`
	Limit     int  `json:"limit,omitempty"`
}

// A Backup is made each Minutes; the latest Max are kept.
type Backup struct {
	Enabled bool `json:"enabled,omitempty"`
	Minutes int  `json:"minutes,omitempty"`
	Max     int  `json:"max,omitempty"`
	// Provider is the kind of store that has them: "aws" or "minio".
	Provider string `json:"provider,omitempty"`
}

// Compression is that of the file system.
type Compression struct {
	Enabled bool `json:"enabled,omitempty"`
	// Algorithm is "lzo", "zlib" or "zstd".
	Algorithm string `json:"algorithm,omitempty"`
}

// Encryption says where the key comes from: KeyFile holds it, or KeyCommand prints it. A profile never holds the key.
type Encryption struct {
	Enabled    bool   `json:"enabled,omitempty"`
	KeyFile    string `json:"key_file,omitempty"`
	KeyCommand string `json:"key_command,omitempty"`
}

// Replication copies a volume to another machine.
type Replication struct {
	Enabled bool `json:"enabled,omitempty"`
	// Destination is the other machine.
	Destination string `json:"destination,omitempty"`
	// Minutes is the time between two copies that are Asynchronous.
	Minutes int `json:"minutes,omitempty"`
	// Type is Synchronous or Asynchronous.
	Type string `json:"type,omitempty"`
}

// A Snapshot is taken each Minutes; the latest Max are kept.
type Snapshot struct {
	Enabled bool `json:"enabled,omitempty"`
	Minutes int  `json:"minutes,omitempty"`
	Max     int  `json:"max,omitempty"`
}

// fill sets what a profile leaves open in its services that are enabled, to the values of Storidge's documentation.
func (s *Service) fill() {
	if a := &s.Autoexpand; a.Enabled {
		or(&a.Threshold, 80)
		or(&a.Increment, 25)
		or(&a.Limit, 3)
	}
	if b := &s.Backup; b.Enabled {
		or(&b.Minutes, 24*60)
		or(&b.Max, 10)
	}
	if c := &s.Compression; c.Enabled {
		or(&c.Algorithm, "zstd")
	}
	if r := &s.Replication; r.Enabled {
		or(&r.Type, Synchronous)
		if r.Type == Asynchronous {
			or(&r.Minutes, 120)
		}
	}
	if p := &s.Snapshot; p.Enabled {
		or(&p.Minutes, 60)
		or(&p.Max, 10)
	}
}

// or sets a field that is zero.
func or[V comparable](field *V, otherwise V) {
	var zero V
	if *field == zero {
		*field = otherwise
	}
}
