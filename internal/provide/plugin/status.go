package plugin

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume"
)

// A status is what "docker volume inspect" shows of a volume. Nothing in it is secret: a profile holds the names of keys, and the status not even those.
type status struct {
	Backend string `json:"backend"`
	Profile string `json:"profile"`
	Folder  string `json:"folder"`
	// Promises are the values by level and key: enforced; advisory and unsupported, with the reason.
	Promises map[profile.Level]map[string]string `json:"promises"`
	Mounts   []volume.Use                        `json:"mounts"`
	Space    volume.Space                        `json:"space"`
	// Grown is how often autoexpand has made it larger.
	Grown int `json:"grown"`
	// Note says what isn't as the profile promises since it was mounted.
	Note string `json:"note,omitempty"`
	// Error says what is wrong with its data.
	Error string `json:"error,omitempty"`
}

// examineLimit bounds the look at a volume's data, which waits for a call that changes it, such as a long repair.
const examineLimit = time.Second

// status describes a volume.
func (p *Plugin) status(ctx context.Context, v volume.Volume) (*status, error) {
	report, err := p.Volumes.CheckVolume(v)
	if err != nil {
		return nil, err
	}
	s := &status{Backend: v.Backend, Profile: v.Profile.Name, Folder: v.Folder, Grown: v.Grown, Mounts: []volume.Use{}, Promises: map[profile.Level]map[string]string{}}
	for _, a := range report.Keys {
		if s.Promises[a.Level] == nil {
			s.Promises[a.Level] = map[string]string{}
		}
		text := a.Value
		if a.Level != profile.Enforced {
			text += ": " + a.Why
		}
		s.Promises[a.Level][a.Key] = text
	}
	users, err := p.Volumes.Users(v.Name)
	s.Mounts = append(s.Mounts, users...)
	if err == nil {
		s.Note, err = p.Volumes.Note(v.Name)
	}
	if err == nil {
		s.Space, err = p.Volumes.Space(v)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, examineLimit)
		defer cancel()
		err = p.Volumes.Examine(ctx, v)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.Error = err.Error()
	}
	return s, nil
}
