package asl

// memory remembers the latest names up to a fixed number: a ring that forgets the oldest for each new one.
type memory struct {
	limit int
	names map[string]struct{}
	ring  []string
	next  int // where the oldest is, once the ring is full
}

func newMemory(limit int) *memory {
	return &memory{limit: limit, names: map[string]struct{}{}}
}

// add remembers a name that is not in memory.
func (m *memory) add(name string) {
	m.names[name] = struct{}{}
	if len(m.ring) < m.limit {
		m.ring = append(m.ring, name)
		return
	}
	delete(m.names, m.ring[m.next])
	m.ring[m.next] = name
	m.next = (m.next + 1) % m.limit
}

func (m *memory) has(name string) bool {
	_, ok := m.names[name]
	return ok
}
