package playground

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a word may be, besides a status.
const (
	wordTake  = "ok"
	wordHang  = "hang"
	wordReset = "reset"
	wordLost  = "lost"
)

// word is what becomes of one request.
type word struct {
	kind       string // one of the above, or empty
	status     int
	retryAfter string // seconds
}

func parseWord(text string) (word, error) {
	switch text {
	case wordTake, wordHang, wordReset, wordLost:
		return word{kind: text}, nil
	}
	code, after, asks := strings.Cut(text, "/")
	status, err := strconv.Atoi(code)
	if err != nil || status < 200 || status > 599 {
		return word{}, fmt.Errorf("%.20q is none of: a status from 200 to 599, with /seconds for Retry-After; %s, %s, %s, %s", text, wordHang, wordReset, wordLost, wordTake)
	}
	if seconds, err := strconv.ParseUint(after, 10, 32); asks && (err != nil || time.Duration(seconds)*time.Second > maxRetryAfter) {
		return word{}, fmt.Errorf("%.20q asks for no number of seconds up to a week", text)
	}
	return word{status: status, retryAfter: after}, nil
}

// plan is what becomes of the next requests.
type plan struct {
	mu    sync.Mutex
	words []word
}

// add plans on; nothing at all forgets what is planned. It returns how many words there
// are.
func (p *plan) add(text string) (int, error) {
	var words []word
	for part := range strings.FieldsSeq(text) {
		w, err := parseWord(part)
		if err != nil {
			return 0, err
		}
		words = append(words, w)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(words) == 0 {
		p.words = nil
	}
	if len(p.words)+len(words) > maxWords {
		return 0, fmt.Errorf("%d words are planned and %d more were sent; the limit is %d", len(p.words), len(words), maxWords)
	}
	p.words = append(p.words, words...)
	return len(p.words), nil
}

func (p *plan) next() word {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.words) == 0 {
		return word{kind: wordTake}
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}
