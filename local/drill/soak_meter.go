package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// leastQuiet is how long a process must have lived for its memory to tell anything: its
// caches fill first.
const leastQuiet = 3 * time.Minute

// maxGrowth is how far memory may rise between the second and the last third of the
// time without kills: caches fill in the first, then it stays.
const maxGrowth = 1.5

// meter looks at the product's memory and at its folder.
type meter struct {
	s     *soaking
	began time.Time
	looks []look
}

type look struct {
	at      time.Duration
	start   int // which process
	memory  int64
	folder  int64
	stories int64
}

func newMeter(s *soaking) *meter { return &meter{s: s, began: time.Now()} }

func (m *meter) measure(ctx context.Context, over <-chan struct{}) {
	ticker := time.NewTicker(max(time.Second, m.s.long/60))
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.look()
		}
	}
}

func (m *meter) look() {
	m.s.world.RLock()
	defer m.s.world.RUnlock()
	l := look{at: time.Since(m.began), start: m.s.starts, stories: m.s.stories.Load()}
	l.memory = residentBytes(m.s.running.product.Pid())
	_ = filepath.WalkDir(m.s.data(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // a file that has just gone has no size
		}
		if info, err := d.Info(); err == nil {
			l.folder += info.Size()
		}
		return nil
	})
	m.looks = append(m.looks, l)
}

// residentBytes is the memory of a process, where the system tells; else 0.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, "VmRSS:"); is {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// report prints the looks, and is an error when memory rises without end.
func (m *meter) report(out io.Writer) error {
	const lines = 12
	step := max(1, len(m.looks)/lines)
	for i := len(m.looks) - 1; i >= 0; i-- {
		if (len(m.looks)-1-i)%step != 0 {
			continue
		}
		l := m.looks[i]
		driver.Tell(out, "  before the end by %5.0f s: process %3d, memory %6.1f MiB, folder %7.1f MiB, %6d stories", (m.looks[len(m.looks)-1].at - l.at).Seconds(), l.start, mib(l.memory), mib(l.folder), l.stories)
	}
	before, last := m.quiet()
	if before > 0 && float64(last) > maxGrowth*float64(before) {
		return fmt.Errorf("without kills memory rose from %.1f to %.1f MiB: want at most %.1f times", mib(before), mib(last), maxGrowth)
	}
	return nil
}

// quiet is the memory of the last process in the second and the last third of its life,
// 0 when it did not live long enough to tell.
func (m *meter) quiet() (before, last int64) {
	var of []look
	for _, l := range m.looks {
		if l.start == m.s.starts {
			of = append(of, l)
		}
	}
	third := len(of) / 3
	if third == 0 || of[len(of)-1].at-of[0].at < leastQuiet {
		return 0, 0
	}
	for _, l := range of[third : 2*third] {
		before = max(before, l.memory)
	}
	for _, l := range of[len(of)-third:] {
		last = max(last, l.memory)
	}
	return before, last
}

func (m *meter) summary() string {
	before, last := m.quiet()
	if len(m.looks) == 0 || before == 0 {
		return "too short to look at memory"
	}
	l := m.looks[len(m.looks)-1]
	return fmt.Sprintf("memory %.0f MiB and then %.0f MiB without kills, %.1f KiB on disk for a story", mib(before), mib(last), float64(l.folder)/1024/float64(max(1, l.stories)))
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
