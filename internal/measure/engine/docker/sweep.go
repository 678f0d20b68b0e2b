package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
)

// Sweep implements Engine. Without a daemon it removes only folders, and returns no error. A daemon that exists and does
// not answer is an error.
func (e *Engine) Sweep(ctx context.Context) ([]string, error) {
	var did []string
	var errs []error
	add := func(d []string, es []error) { did, errs = append(did, d...), append(errs, es...) }
	api, d, err := e.connect(ctx, true)
	var missing *dockerapi.Missing
	switch {
	case err == nil:
		// Containers first: they hold volumes and images.
		add(e.sweepContainers(ctx, api))
		add(e.sweepVolumes(ctx, api))
		add(e.sweepImages(ctx, api, d))
	case !errors.As(err, &missing) || missing.There:
		errs = append(errs, err)
	}
	folders, err := e.journal.SweepSessions(ctx, nil)
	did, errs = append(did, folders...), append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return did, fmt.Errorf("engine docker: sweep: %w", err)
	}
	return did, nil
}

// abandoned reports whether the owner of an object with these labels is gone, or is a closed session of this engine.
func (e *Engine) abandoned(labels map[string]string) bool {
	if labels[labelSession] == "" {
		return false
	}
	if e.owner.mine(labels) {
		return labels[labelEngine] == e.nonce && !e.lives(labels[labelSession])
	}
	return e.owner.dead(labels)
}

func (e *Engine) sweepContainers(ctx context.Context, api *client.Client) (did []string, errs []error) {
	list, err := api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", labelSession)})
	if err != nil {
		return nil, []error{daemonErr(err)}
	}
	for _, c := range list.Items {
		if !e.abandoned(c.Labels) {
			continue
		}
		if err := e.removeContainer(ctx, api, c.ID, nil); err != nil {
			errs = append(errs, err)
			continue
		}
		did = append(did, "container "+containerName(c.Labels[labelSession]))
	}
	return did, errs
}

func (e *Engine) sweepVolumes(ctx context.Context, api *client.Client) (did []string, errs []error) {
	list, err := api.VolumeList(ctx, client.VolumeListOptions{Filters: make(client.Filters).Add("label", labelSession)})
	if err != nil {
		return nil, []error{daemonErr(err)}
	}
	for _, v := range list.Items {
		if !e.abandoned(v.Labels) {
			continue
		}
		if err := e.removeVolume(ctx, api, v.Name); err != nil {
			errs = append(errs, err)
			continue
		}
		did = append(did, "volume "+v.Name)
	}
	return did, errs
}

// sweepImages removes the images of other versions of the worker, and nameless copies of this one's. An image that a
// container uses stays.
func (e *Engine) sweepImages(ctx context.Context, api *client.Client, d *daemonInfo) (did []string, errs []error) {
	worker, err := e.worker("linux", d.Arch)
	if err != nil {
		// Without a worker, old images can't be recognized.
		return nil, nil
	}
	hash := imageHash(worker)
	e.imageMu.Lock()
	defer e.imageMu.Unlock()
	list, err := api.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", labelWorker)})
	if err != nil {
		return nil, []error{daemonErr(err)}
	}
	keep, err := findImage(ctx, api, hash)
	if err != nil {
		return nil, []error{err}
	}
	for _, i := range list.Items {
		if i.ID == keep || !ownImage(i.RepoTags) {
			continue
		}
		_, err := api.ImageRemove(ctx, i.ID, client.ImageRemoveOptions{PruneChildren: true})
		switch {
		case err == nil:
			did = append(did, fmt.Sprintf("image %s:%.12s", repository, i.Labels[labelWorker]))
		case cerrdefs.IsNotFound(err), cerrdefs.IsConflict(err):
		default:
			errs = append(errs, fmt.Errorf("remove image %s: %w", i.ID, err))
		}
	}
	return did, errs
}

// ownImage reports whether an image has only names of Plimsoll's: an image that a user built on top of ours carries our
// label, too.
func ownImage(tags []string) bool {
	for _, t := range tags {
		repo, _, _ := strings.Cut(strings.TrimPrefix(t, "localhost/"), ":")
		if repo = strings.TrimPrefix(repo, "docker.io/library/"); repo != repository && t != "<none>:<none>" {
			return false
		}
	}
	return true
}
