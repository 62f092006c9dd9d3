package webhook

import (
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Receivers remember, in one process, who was slow, whoever's task it was: the endpoints
// of a thousand tasks may lead to one receiver, and each of them would be waited for. The
// zero value remembers nobody yet; nil never does.
type Receivers struct {
	mu   sync.Mutex
	slow map[string]time.Time // when they were last, by origin
}

// note remembers how long an attempt took.
func (r *Receivers) note(who string, took time.Duration, now time.Time) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if took < slowTime {
		delete(r.slow, who)
		return
	}
	if r.slow == nil || len(r.slow) >= maxReceivers {
		r.slow = map[string]time.Time{}
	}
	r.slow[who] = now
}

// isSlow says whether an endpoint's receiver is. What it has seen of it since counts as well:
// others deliver to it meanwhile.
func (r *Receivers) isSlow(e ledger.Endpoint, now time.Time) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	who, d := e.Origin(), e.Delivery
	since, is := r.slow[who]
	if !is {
		return false
	}
	if n := len(d.Attempts); n > 0 {
		if a := d.Attempts[n-1]; !a.At.Before(since) && a.Error == "" && a.Millis < slowTime.Milliseconds() {
			delete(r.slow, who)
			return false
		}
	}
	if now.Sub(since) < slowFor {
		return true
	}
	delete(r.slow, who)
	return false
}
