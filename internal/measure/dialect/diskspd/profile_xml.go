package diskspd

func (w *printer) profileXML(p *Profile) {
	w.block("Profile", func() {
		w.v("Progress", p.Progress)
		if p.ExperimentFlags != 0 {
			w.v("ExperimentFlags", p.ExperimentFlags)
		}
		format := "text"
		if p.XML {
			format = "xml"
		}
		w.v("ResultFormat", format)
		w.v("Verbose", p.Verbose)
		if p.VerboseStats {
			w.v("VerboseStats", true)
		}
		if p.Precreate != "" {
			w.v("PrecreateFiles", p.Precreate)
		}
		w.block("TimeSpans", func() {
			for i := range p.Spans {
				w.block("TimeSpan", func() { w.inputXML(&p.Spans[i]) })
			}
		})
	})
}

func (w *printer) inputXML(s *Span) {
	w.v("CompletionRoutines", s.CompletionRoutines)
	w.v("MeasureLatency", s.Latency)
	w.v("CalculateIopsStdDev", s.IOPS)
	w.v("DisableAffinity", s.NoAffinity)
	w.v("Duration", s.Duration)
	w.v("Warmup", s.Warmup)
	w.v("Cooldown", s.Cooldown)
	w.v("ThreadCount", s.Threads)
	w.v("RequestCount", s.Requests)
	w.v("IoBucketDuration", s.Bucket)
	w.v("RandSeed", s.Seed)
	if s.RandomWrites {
		// DiskSpd reads this but forgets to write it, so that its own profiles lose -Zr.
		w.v("RandomWriteData", true)
	}
	if len(s.Affinity) > 0 {
		w.block("Affinity", func() {
			for _, a := range s.Affinity {
				w.line("<AffinityGroupAssignment Group=\"%d\" Processor=\"%d\"/>", a.Group, a.Number)
			}
		})
	}
	w.block("Targets", func() {
		for i := range s.Targets {
			w.block("Target", func() { w.targetXML(&s.Targets[i]) })
		}
	})
}

func (w *printer) targetXML(t *Target) {
	w.v("Path", t.Path)
	w.v("BlockSize", t.Block)
	w.v("BaseFileOffset", t.Base)
	w.v("SequentialScan", t.SequentialScan)
	w.v("RandomAccess", t.RandomAccess)
	w.v("TemporaryFile", t.Temporary)
	w.v("UseLargePages", t.LargePages)
	switch t.Cache {
	case NoLocalCache:
		w.v("DisableLocalCache", true)
	case NoOSCache:
		w.v("DisableOSCache", true)
	}
	if t.WriteThrough {
		w.v("WriteThrough", true)
	}
	if t.MemoryMapped {
		w.v("MemoryMappedIo", true)
	}
	if t.FlushType != "" {
		w.v("FlushType", t.FlushType)
	}
	w.block("WriteBufferContent", func() { w.contentXML(t) })
	w.v("ParallelAsyncIO", t.Parallel)
	if t.UseBurst {
		w.v("BurstSize", t.Burst)
	}
	if t.UseThink {
		w.v("ThinkTime", t.Think)
	}
	if t.Create {
		w.v("FileSize", t.FileSize)
	}
	w.placesXML(t)
	w.v("ThreadStride", t.ThreadStride)
	w.v("MaxFileSize", t.Max)
	w.v("RequestCount", t.Outstanding)
	w.v("WriteRatio", t.WriteRatio)
	if t.IOPS > 0 {
		w.line("<Throughput unit=\"IOPS\">%d</Throughput>", t.IOPS)
	} else {
		w.v("Throughput", t.BytesPerMS)
	}
	w.v("ThreadsPerFile", t.Threads)
	w.v("IOPriority", t.Priority)
	w.v("Weight", t.Weight)
	if len(t.ThreadTargets) == 0 {
		return
	}
	w.block("ThreadTargets", func() {
		for _, tt := range t.ThreadTargets {
			w.block("ThreadTarget", func() {
				w.v("Thread", tt.Thread)
				if tt.Weight != 0 {
					w.v("Weight", tt.Weight)
				}
			})
		}
	})
}

func (w *printer) contentXML(t *Target) {
	switch {
	case t.Zero:
		w.v("Pattern", "zero")
	case t.RandomSize == 0:
		w.v("Pattern", "sequential")
	default:
		w.v("Pattern", "random")
		w.block("RandomDataSource", func() {
			w.v("SizeInBytes", t.RandomSize)
			if t.RandomFile != "" {
				w.v("FilePath", t.RandomFile)
			}
		})
	}
}

func (w *printer) placesXML(t *Target) {
	if t.RandomRatio == 0 {
		w.v("StrideSize", t.align())
		w.v("InterlockedSequential", t.Interlocked)
		return
	}
	w.v("Random", t.align())
	if t.RandomRatio != 100 {
		w.v("RandomRatio", t.RandomRatio)
	}
	if len(t.Ranges) == 0 {
		return
	}
	kind := "Percent"
	if t.Absolute {
		kind = "Absolute"
	}
	w.block("Distribution", func() {
		w.block(kind, func() {
			for _, r := range t.Ranges {
				w.line("<Range IO=\"%d\">%d</Range>", r.IO, r.Size)
			}
		})
	})
}
