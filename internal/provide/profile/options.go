package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/text/nearest"
	"plimsoll/internal/text/usage"
)

// Default is the profile of a volume whose options name none.
const Default = "BASIC"

// profileOption is the option that names a profile.
const profileOption = "profile"

// FromOptions returns the profile of a volume from the options of "docker volume create -o": the profile that they name, or Default, changed by the
// others as With does it. Errors of the user's are *usage.Errors.
func (s Store) FromOptions(options map[string]string) (*Profile, error) {
	name, by, rest := Default, "", map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		value := options[key]
		switch {
		case squeeze(key) != profileOption:
			rest[key] = value
			continue
		case by != "":
			return nil, usage.Errorf("option %s is the same as option %s: leave one out", shown(key), shown(by))
		case value == "":
			return nil, usage.Errorf("option %s: it is empty: name a profile", shown(key))
		}
		name, by = value, key
	}
	p, err := s.Lookup(name)
	if err != nil {
		return nil, err
	}
	return p.With(rest)
}

// none is the value that asks for nothing: of an option, which takes a key of the profile away, and of a destination.
const none = "none"

// With returns the profile with some keys changed, each in any spelling; "none" takes a key away. Errors are the user's, *usage.Errors, and
// name the options. None holds the value of an option that may be secret.
func (p *Profile) With(options map[string]string) (*Profile, error) {
	f := &strict.Faults{File: "profile " + p.Name}
	root, flags := section().Encode(p), map[*yaml.Node]string{}
	given := map[string]string{}
	var set []string
	for _, key := range slices.Sorted(maps.Keys(options)) {
		path := spelled(key)
		fault := ""
		switch {
		case path == "":
			fault = "there is no such option" + didYouMean(key)
		case path == "service":
			fault = "wants one setting of a service, such as service.snapshot.interval"
		case given[path] != "":
			fault = "is the same as option " + given[path] + ": leave one out"
		case options[key] == none:
			drop(root, strings.Split(path, ".")) // Before anything is set: the order of options means nothing.
		default:
			set = append(set, key)
		}
		if fault != "" {
			f.Add(strict.Error{Flag: "option " + shown(key), Message: fault})
		}
		given[path] = key
	}
	for _, key := range set {
		at := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: options[key]}
		if at.Value == "" {
			at.Tag = "!!null"
		}
		path := spelled(key)
		overlay(root, strings.Split(path, "."), long(path, at), func(n *yaml.Node) { flags[n] = "option " + key })
	}
	if err := f.Err(); err != nil {
		return nil, usage.Errorf("%w", err)
	}
	out, err := decode(f, root, flags)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	out.Name = p.Name
	return out, nil
}

// shown is the name of an option in a message.
func shown(option string) string {
	if strict.IsName(option) {
		return option
	}
	return strict.Short(option)
}

// overlay sets the value at a path below a map. A map changes the keys that it has. made is called for each new node.
func overlay(at *yaml.Node, path []string, v *yaml.Node, made func(*yaml.Node)) {
	for i := 0; i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value != path[0] {
			continue
		}
		there := at.Content[i+1]
		switch {
		case len(path) > 1:
			overlay(there, path[1:], v, made)
		case v.Kind == yaml.MappingNode && there.Kind == yaml.MappingNode:
			for j := 0; j+1 < len(v.Content); j += 2 {
				overlay(there, []string{v.Content[j].Value}, v.Content[j+1], made)
			}
		default:
			at.Content[i+1] = v
			walk(v, made)
		}
		made(at.Content[i]) // A fault of the whole is the option's.
		return
	}
	key := word(at, path[0])
	if len(path) > 1 {
		below := mapping(at)
		overlay(below, path[1:], v, made)
		v = below
	}
	at.Content = append(at.Content, key, v)
	made(key)
	walk(v, made)
}

// walk calls made for a node and all below it.
func walk(n *yaml.Node, made func(*yaml.Node)) {
	made(n)
	for _, c := range n.Content {
		walk(c, made)
	}
}

// drop removes the value at a path below a map, if there is one.
func drop(at *yaml.Node, path []string) {
	for i := 0; i+1 < len(at.Content); i += 2 {
		switch {
		case at.Content[i].Value != path[0]:
		case len(path) > 1:
			drop(at.Content[i+1], path[1:])
			return
		default:
			at.Content = slices.Delete(at.Content, i, i+2)
			return
		}
	}
}

// didYouMean names the key that an unknown option may mean.
func didYouMean(option string) string {
	all := slices.Sorted(maps.Keys(names()))
	best := names()[nearest.Word(squeeze(option), append(all, profileOption))]
	switch {
	case best != "":
		return fmt.Sprintf(", did you mean %s?", best)
	case nearest.Word(squeeze(option), []string{profileOption}) != "":
		return ", did you mean profile?"
	}
	return "; 'plimsoll profile schema' has all keys"
}
