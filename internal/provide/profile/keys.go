package profile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
)

// The bounds of values. Those of capacity, IOPS and bandwidth are the widest of Storidge's pages, but for the least capacity: there it is
// 1 GB, and a volume for some settings needs less.
const (
	MinCapacity  = int64(16) << 20
	MaxCapacity  = int64(64) << 40
	MinIOPS      = int64(10)
	MaxIOPS      = int64(10_000_000)
	MinBandwidth = int64(1e6)
	MaxBandwidth = int64(1e12)
	MaxLevel     = 3
	// MaxSnapshots is how many are kept at most.
	MaxSnapshots = 99
)

// section is the table of a profile's keys: from it come the reader, the writer and the schema.
func section() strict.Section[Profile] {
	type P = Profile
	return strict.Section[P]{What: "a profile", Check: check, Fields: []strict.Field[P]{
		strict.Key("description", "What the profile is for.", as("!!str", strict.Words("a text", 4096, true)), func(p *P) *string { return &p.Description }),
		strict.Key("capacity", "The volume's size. A bare number counts GB of 10^9 bytes.", gigabytes.quantity(MinCapacity, MaxCapacity), func(p *P) *int64 { return &p.Capacity }),
		strict.Key("directory", "A folder of the host in which the data is kept.", folder(), func(p *P) *string { return &p.Directory }),
		strict.Key("filesystem", "The volume's file system.", choice(nil, Ext4, XFS, Btrfs), func(p *P) *string { return &p.Filesystem }),
		part("iops", "Reads and writes a second, together.", rangeSection("iops", whole(MinIOPS, MaxIOPS)), func(p *P) *Range { return &p.IOPS }),
		part("bandwidth", "Bytes a second, read and written together. A bare number counts MB of 10^6 bytes.", rangeSection("bandwidth", megabytes.quantity(MinBandwidth, MaxBandwidth)), func(p *P) *Range { return &p.Bandwidth }),
		strict.Key("labels", "Labels of the volume.", strict.TextMap{}, func(p *P) *map[string]string { return &p.Labels }),
		strict.Key("level", "How many copies a write goes to before it is acknowledged.", whole(1, MaxLevel), func(p *P) *int { return &p.Level }),
		strict.Key("local", "Only disks of the machine that mounts the volume.", toggle(false), func(p *P) *bool { return &p.Local }),
		strict.Key("node", "The machine that has the data.", words("the name of a machine"), func(p *P) *string { return &p.Node }),
		strict.Key("provision", "Whether space is taken as data is written (thin), or at once (thick).", choice(nil, Thin, Thick), func(p *P) *string { return &p.Provision }),
		strict.Key("type", "The kind of disk.", choice(map[string]string{"nvme": SSD}, SSD, HDD), func(p *P) *string { return &p.Type }),
		strict.Key("shared", "Several machines can mount the volume at once.", toggle(false), func(p *P) *bool { return &p.Shared }),
		part("interface", "How the volume is offered to other machines.", interfaceSection(), func(p *P) *Interface { return &p.Interface }),
		part("service", "What is done to the volume in the background, or below its file system.", serviceSection(), func(p *P) *Service { return &p.Service }),
		strict.Key("optional", "The keys that a backend may leave out.", strict.List[string]{What: "keys", Item: promiseKey(), One: true}, func(p *P) *[]string { return &p.Optional }),
	}}
}

// part is the field of a section, which is left out if all of it is zero.
func part[T any, V comparable](name, doc string, s strict.Value[V], of func(*T) *V) strict.Field[T] {
	f := strict.Key(name, doc, s, of)
	encode := f.Encode
	f.Encode = func(src *T) *yaml.Node {
		var zero V
		if *of(src) == zero {
			return nil
		}
		return encode(src)
	}
	return f
}

// A rangeValue is a section that says in its faults how else it can be written.
type rangeValue struct{ strict.Section[Range] }

func (r rangeValue) Decode(d *strict.Decoder, n *yaml.Node, path string, dst *Range) {
	if n.Kind != yaml.MappingNode {
		d.FailAt(n, path, "wants {min: 100, max: 5000} or 100,5000, got %s", strict.Describe(n))
		return
	}
	r.Section.Decode(d, n, path, dst)
}

func rangeSection(what string, value strict.Scalar[int64]) rangeValue {
	return rangeValue{strict.Section[Range]{What: what, Fields: []strict.Field[Range]{
		strict.Key("min", "What is guaranteed.", value, func(r *Range) *int64 { return &r.Min }),
		strict.Key("max", "What is not exceeded.", value, func(r *Range) *int64 { return &r.Max }),
	}, Check: func(d *strict.Decoder, path string, r *Range) {
		if r.Max > 0 && r.Min > r.Max {
			d.Fail(path, "min is more than max: %s > %s", value.Format(r.Min).Value, value.Format(r.Max).Value)
		}
	}}}
}

func interfaceSection() strict.Section[Interface] {
	type I = Interface
	return strict.Section[I]{What: "interface", Fields: []strict.Field[I]{
		strict.Must(strict.Key("type", "The protocol.", choice(nil, "nfs"), func(i *I) *string { return &i.Type })),
		strict.Key("driver", "The driver of its network.", words("a driver"), func(i *I) *string { return &i.Driver }),
		strict.Key("network", "Its network.", words("the name of a network"), func(i *I) *string { return &i.Network }),
		strict.Key("name", "Its name there.", words("a name"), func(i *I) *string { return &i.Name }),
		strict.Key("conf", "A line of the server's configuration.", words("a line of the server's configuration"), func(i *I) *string { return &i.Conf }),
	}}
}

func serviceSection() strict.Section[Service] {
	type S = Service
	return strict.Section[S]{What: "service", Fields: []strict.Field[S]{
		part("autoexpand", "Grows the volume when it is nearly full.", strict.Section[Autoexpand]{What: "autoexpand", Fields: []strict.Field[Autoexpand]{
			enabled(func(a *Autoexpand) *bool { return &a.Enabled }),
			strict.Key("threshold", "How full it is then, in percent. Default: 80.", whole(1, 99), func(a *Autoexpand) *int { return &a.Threshold }),
			strict.Key("increment", "By how much it grows, in percent. Default: 25.", whole(1, 100), func(a *Autoexpand) *int { return &a.Increment }),
			strict.Key("limit", "How often it grows at most. Default: 3.", whole(1, 99), func(a *Autoexpand) *int { return &a.Limit }),
		}}, func(s *S) *Autoexpand { return &s.Autoexpand }),
		part("backup", "Makes backups.", strict.Section[Backup]{What: "backup", Fields: []strict.Field[Backup]{
			enabled(func(b *Backup) *bool { return &b.Enabled }),
			strict.Key("interval", "The time between two. A bare number counts hours. Default: 24h.", interval(60, "hours"), func(b *Backup) *int { return &b.Minutes }),
			strict.Key("max", "How many are kept. Default: 10.", whole(1, 9999), func(b *Backup) *int { return &b.Max }),
			strict.Key("provider", "The kind of store that has them.", choice(nil, "aws", "minio"), func(b *Backup) *string { return &b.Provider }),
		}}, func(s *S) *Backup { return &s.Backup }),
		part("compression", "Compresses the data.", strict.Section[Compression]{What: "compression", Fields: []strict.Field[Compression]{
			enabled(func(c *Compression) *bool { return &c.Enabled }),
			strict.Key("algorithm", "How. Default: zstd.", choice(nil, "lzo", "zlib", "zstd"), func(c *Compression) *string { return &c.Algorithm }),
		}}, func(s *S) *Compression { return &s.Compression }),
		strict.Key("dedupe", "Stores equal data once.", toggle(false), func(s *S) *bool { return &s.Dedupe }),
		part("encryption", "Encrypts the data.", strict.Section[Encryption]{What: "encryption", Check: checkEncryption, Fields: []strict.Field[Encryption]{
			strict.Must(strict.Key("enabled", "Whether it is done.", secret(toggle(true)), func(e *Encryption) *bool { return &e.Enabled })),
			strict.Key("key_file", "The file that holds the key.", secretPath(), func(e *Encryption) *string { return &e.KeyFile }),
			strict.Key("key_command", "The command that prints the key.", secret(words("a command that prints the key")), func(e *Encryption) *string { return &e.KeyCommand }),
		}}, func(s *S) *Encryption { return &s.Encryption }),
		part("replication", "Copies the volume to another machine.", strict.Section[Replication]{What: "replication", Check: checkReplication, Fields: []strict.Field[Replication]{
			enabled(func(r *Replication) *bool { return &r.Enabled }),
			strict.Key("destination", "The other machine.", destination(), func(r *Replication) *string { return &r.Destination }),
			strict.Key("interval", "The time between two copies that are asynchronous. A bare number counts minutes. Default: 2h.", interval(1, "minutes"), func(r *Replication) *int { return &r.Minutes }),
			strict.Key("type", "Whether a write waits for the other machine. Default: synchronous.", choice(map[string]string{"async": Asynchronous, "sync": Synchronous}, Synchronous, Asynchronous), func(r *Replication) *string { return &r.Type }),
		}}, func(s *S) *Replication { return &s.Replication }),
		part("snapshot", "Takes snapshots.", strict.Section[Snapshot]{What: "snapshot", Fields: []strict.Field[Snapshot]{
			enabled(func(p *Snapshot) *bool { return &p.Enabled }),
			strict.Key("interval", "The time between two. A bare number counts minutes. Default: 1h.", interval(1, "minutes"), func(p *Snapshot) *int { return &p.Minutes }),
			strict.Key("max", "How many are kept. Default: 10.", whole(1, MaxSnapshots), func(p *Snapshot) *int { return &p.Max }),
		}}, func(s *S) *Snapshot { return &s.Snapshot }),
	}}
}

// enabled is the key that each service needs: its other settings alone would do nothing, silently.
func enabled[T any](of func(*T) *bool) strict.Field[T] {
	return strict.Must(strict.Key("enabled", "Whether it is done.", toggle(true), of))
}

// destination is the name of a machine; Storidge's files have none for none.
func destination() strict.Scalar[string] {
	s := words("the name of a machine")
	parse := s.Parse
	s.Parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if v == none {
			v = ""
		}
		return v, err
	}
	return s
}

// secretPath is the path of a key's file.
func secretPath() strict.Scalar[string] {
	s := folder()
	s.Want = "the absolute path of a file that holds the key"
	return secret(s)
}

// promiseKey is a key that can be optional, in any spelling.
func promiseKey() strict.Scalar[string] {
	keys := promiseKeys()
	s := strict.Choice(keys...)
	parse := s.Parse
	s.Want = "a key of a profile, such as iops.min"
	s.Parse = func(n *yaml.Node) (string, error) {
		c := *n
		if key := spelled(c.Value); key != "" {
			c.Value = key
		}
		if slices.Contains(keys, c.Value) {
			return parse(&c)
		}
		return "", fmt.Errorf("%s is not a key that can be optional%s (there are %s)", strict.Short(n.Value), strict.DidYouMean(c.Value, keys), strings.Join(keys, ", "))
	}
	return s
}

// check looks at a whole profile, and fills its services.
func check(d *strict.Decoder, _ string, p *Profile) {
	p.Service.fill()
	slices.Sort(p.Optional)
	p.Optional = slices.Compact(p.Optional)
	if p.Interface.Type != "" && !p.Shared {
		d.Fail("interface", "it offers the volume to other machines: add shared: true")
	}
}

func checkEncryption(d *strict.Decoder, path string, e *Encryption) {
	switch {
	case e.KeyFile != "" && e.KeyCommand != "":
		d.Fail(path, "has two sources of the key: leave out key_file or key_command")
	case e.Enabled && e.KeyFile+e.KeyCommand == "":
		d.Fail(path, "needs key_file or key_command, the source of the key")
	}
}

func checkReplication(d *strict.Decoder, path string, r *Replication) {
	if r.Enabled && r.Destination == "" && r.Type == Asynchronous {
		d.Fail(path, "needs a destination, the other machine")
	}
}
