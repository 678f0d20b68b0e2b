package load

// A SizeShare says that Percent of a job's I/Os have Size bytes.
type SizeShare struct {
	Size    int64   `json:"size"`
	Percent float64 `json:"percent"`
}

// meanSize returns the mean of the sizes in split, in bytes, or bs without a split.
func meanSize(bs int64, split []SizeShare) float64 {
	sum, total := 0.0, 0.0
	for _, s := range split {
		sum += float64(s.Size) * s.Percent
		total += s.Percent
	}
	if total == 0 {
		return float64(max(bs, 1))
	}
	return sum / total
}

// BlockSizes returns the least, the mean and the largest size of the job's I/Os in bytes.
func (j Job) BlockSizes() (least, mean, most int64) {
	j = j.WithDefaults()
	var reads float64
	switch {
	case !j.mixed() && j.reads():
		reads = 1
	case j.mixed() && j.hasWriteRate():
		r, w := j.offered()
		reads = r / (r + w)
	case j.mixed():
		reads = float64(*j.RWMixRead) / 100
	}
	sum := 0.0
	for _, o := range []struct {
		split []SizeShare
		share float64
	}{{j.ReadSplit, reads}, {j.WriteSplit, 1 - reads}} {
		if o.share == 0 {
			continue
		}
		split := o.split
		if len(split) == 0 {
			split = []SizeShare{{j.BS, 100}}
		}
		for _, s := range split {
			if least == 0 || s.Size < least {
				least = s.Size
			}
			most = max(most, s.Size)
		}
		sum += o.share * meanSize(j.BS, split)
	}
	return least, int64(sum), most
}

// MeanSizes returns the mean sizes in bytes of the job's reads and writes; 0 for a kind that it doesn't have.
func (j Job) MeanSizes() (read, write int64) {
	j = j.WithDefaults()
	share := 50
	if j.RWMixRead != nil {
		share = *j.RWMixRead
	}
	if j.reads() && share > 0 {
		read = int64(meanSize(j.BS, j.ReadSplit))
	}
	if j.writes() && (share < 100 || !j.mixed()) {
		write = int64(meanSize(j.BS, j.WriteSplit))
	}
	return read, write
}
