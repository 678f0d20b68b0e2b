package verify

import (
	"fmt"
	"os"
	"time"

	"plimsoll/internal/host/inroot"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// members counts the devices that the data is on, each of which has the limit.
func (v subject) members() int {
	n := 0
	for _, d := range v.ground.Explanation.Hard {
		if !d.ReadsOnly {
			n++
		}
	}
	return n
}

// scratchID tells this process's scratch folders from others'.
func scratchID() string { return fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()) }

// room refuses where a scratch file as large as r needs would leave little. r is told how much there is.
func room(in engine.Inside, r *row.Request) error {
	free, err := inroot.Free(in.Root, in.Dir)
	if err != nil {
		return err
	}
	r.Free = max(free/2, 1)
	return roomIn(in.Dir, free, r.Room())
}

// roomIn is room where so many bytes are free.
func roomIn(dir string, free, need int64) error {
	// Other programs go on writing to the file system meanwhile.
	if free < 2*need {
		return &refusal.Error{Act: refusal.Tried, What: dir, Why: fmt.Sprintf("the scratch file takes %s, and twice that must be free, because others go on writing: %s are", size.Bytes(need), size.Bytes(free)),
			Fix: "free some, name another --path, or take less --time"}
	}
	return nil
}

// tooSlow refuses limits on writes under which the scratch file alone would take too long.
func tooSlow(what string, r row.Request) error {
	if t := r.LayOut(); t > row.MostLayOut {
		return &refusal.Error{Act: refusal.Tried, What: what, Why: fmt.Sprintf("under its limit on writes the scratch file of %s takes %s to be written", size.Bytes(r.Room()), size.Duration(t)),
			Fix: "try it with a greater limit on writes"}
	}
	return nil
}
