package volume

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/provide/volume/restic"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// A Store is where backups go. The user writes all of them in one file: see StoresFile.
type Store struct {
	// Name is that in the file. A profile's service.backup.provider is such a name.
	Name string
	restic.Repository
}

// defaultStore is the one of a profile that names no provider, unless there is only one.
const defaultStore = "default"

// storesExample is what a file of stores looks like.
const storesExample = "minio: {repository: 's3:https://HOST/BUCKET', password_file: /FILE, environment_file: /FILE}"

// storesMax is the size of a file of stores, in bytes.
const storesMax = 1 << 20

// storesDocument and storesSection are the form of a file of stores.
var storesDocument = strict.Document{What: "file of backup stores", Empty: "it needs a store, such as " + storesExample, MaxNodes: 2000}

func storesSection() strict.Named[Store] {
	return strict.Named[Store]{
		Name: func(s *Store) *string { return &s.Name },
		Entry: strict.Variants[Store]{What: "stores", Kinds: []strict.Variant[Store]{{Section: strict.Section[Store]{What: "a store", Check: checkStore, Fields: []strict.Field[Store]{
			strict.Must(strict.Key("repository", "A folder, or restic's URL of a store.", strict.Words("a folder or a URL", 4096, false), func(s *Store) *string { return &s.URL })),
			strict.Key("password_file", "The file with the password that encrypts the backups.", strict.Words("an absolute path", 4096, false), func(s *Store) *string { return &s.PasswordFile }),
			strict.Key("password_command", "The command that prints it.", strict.Words("a command", 4096, false), func(s *Store) *string { return &s.PasswordCommand }),
			strict.Key("environment_file", "A file of lines KEY=VALUE for restic, such as the keys of S3.", strict.Words("an absolute path", 4096, false), func(s *Store) *string { return &s.EnvironmentFile }),
		}}}}},
	}
}

func checkStore(d *strict.Decoder, path string, s *Store) {
	if (s.PasswordFile == "") == (s.PasswordCommand == "") {
		d.Fail(path, "needs password_file or password_command, one of them")
	}
	for key, file := range map[string]string{"password_file": s.PasswordFile, "environment_file": s.EnvironmentFile} {
		if file != "" && !filepath.IsAbs(file) {
			d.Fail(strict.Join(path, key), "wants an absolute path, got %s", strict.Short(file))
		}
	}
}

// StoresFile is the file of the stores of backups.
func (s *Volumes) StoresFile() string { return filepath.Join(s.state, "backups.yaml") }

// Stores reads the file of stores. Without it there are none.
func (s *Volumes) Stores() (list []Store, err error) {
	b, err := os.ReadFile(s.StoresFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b) > storesMax {
		return nil, usage.Errorf("%s has %d bytes: it may have %d", s.StoresFile(), len(b), storesMax)
	}
	f := &strict.Faults{File: s.StoresFile()}
	if root := storesDocument.Parse(f, b); root != nil {
		storesSection().Decode(strict.NewDecoder(f, nil), root, "", &list)
	}
	if err := f.Err(); err != nil {
		return nil, usage.Errorf("%w", err)
	}
	return list, nil
}

// Store returns the store of that name. An empty name is the only store there is, or the default one.
func (s *Volumes) Store(name string) (Store, error) {
	list, err := s.Stores()
	if err != nil {
		return Store{}, err
	}
	if name == "" && len(list) == 1 {
		return list[0], nil
	}
	var names []string
	for _, x := range list {
		if x.Name == cmp.Or(name, defaultStore) {
			return x, nil
		}
		names = append(names, x.Name)
	}
	slices.Sort(names)
	what := "a backup"
	if name != "" {
		what = "a backup in the store " + strict.Short(name)
	}
	why := "no store is configured"
	if names != nil {
		why = fmt.Sprintf("there are only the stores %s", strings.Join(names, ", "))
	}
	return Store{}, &refusal.Error{What: what, Why: why, Fix: "write it into " + s.StoresFile() + ": " + storesExample}
}
