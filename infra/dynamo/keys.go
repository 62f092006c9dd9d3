package dynamo

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Every key of both tables is made in this file. A key is a list of parts joined
// by "#", which no part contains: escape sees to that, so no two lists of parts
// have the same key.
//
//	partition               sort                             item
//	T#tenant#task           #                                head
//	                        e#seq                            entry
//	                        a#artifact                       artifact
//	                        c#artifact#revision#number       chunk receipt
//	                        r#producer#event                 event receipt
//	                        q#producer                       how far an outside producer is
//	                        f#visit#name                     effect
//	                        x#number                         rejection
//	                        z#number                         quarantined output
//	                        o#number                         what an operator did
//	                        t#                               expiry marker
//	                        p#pause                          parked token (table private)
//	                        w#endpoint                       endpoint and its delivery (table private)
//	                        n#kind                           finding (table private)
//	K#tenant#hash           #                                submission key
//	S#name                  #                                secret (table private)
const (
	separator    = "#"
	taskPrefix   = "T"
	keyPrefix    = "K"
	secretPrefix = "S"
	findingIndex = "N"
	headSort     = "#"
	expirySort   = "t#"
	entryPrefix  = "e#"
	artifactPref = "a#"
	chunkPrefix  = "c#"
	receiptPref  = "r#"
	producerPref = "q#"
	effectPrefix = "f#"
	rejectedPref = "x#"
	latePrefix   = "z#"
	actPrefix    = "o#"
	parkedPrefix = "p#"
	endpointPref = "w#"
	// expiredPrefix begins the partitions of the index of what is due in which ended
	// tasks are.
	expiredPrefix = "x"
	findingPref   = "n#"
)

// What DynamoDB takes as a key (Quotas, developer guide).
const (
	maxPartitionBytes = 2048
	maxSortBytes      = 1024
)

// Numbers in keys are padded, so that their text sorts as they do. Sequences and
// counts have far fewer digits (lifecycle.MaxEntries); a visit may have all that
// there are.
const (
	countDigits = 10
	visitDigits = 20
	maxCount    = 9_999_999_999
)

// key is where an item is.
type key struct{ partition, sort string }

// check bounds a key: names within lifecycle's limits always fit.
func (k key) check() error {
	if len(k.partition) > maxPartitionBytes || len(k.sort) > maxSortBytes {
		return fmt.Errorf("names too long for a key: %d and %d bytes, DynamoDB takes %d and %d", len(k.partition), len(k.sort), maxPartitionBytes, maxSortBytes)
	}
	return nil
}

func taskPartition(ref lifecycle.Ref) string { return join(taskPrefix, ref.Tenant, string(ref.Task)) }

// taskOf reads a task's partition.
func taskOf(partition string) (lifecycle.Ref, error) {
	parts, err := split(partition)
	if err != nil || len(parts) != 3 || parts[0] != taskPrefix {
		return lifecycle.Ref{}, fmt.Errorf("%q is no task's partition", partition)
	}
	return lifecycle.Ref{Tenant: parts[1], Task: a2a.TaskID(parts[2])}, nil
}

func headKey(ref lifecycle.Ref) key   { return key{taskPartition(ref), headSort} }
func expiryKey(ref lifecycle.Ref) key { return key{taskPartition(ref), expirySort} }

func submissionKey(k ledger.Key) key {
	return key{join(keyPrefix, k.Tenant, string(k.Hash)), headSort}
}

func secretKey(name string) key { return key{join(secretPrefix, name), headSort} }

func entryKey(ref lifecycle.Ref, seq uint64) key { return key{taskPartition(ref), entrySort(seq)} }

func entrySort(seq uint64) string { return entryPrefix + pad(min(seq, maxCount), countDigits) }

// entrySeq reads an entry's sort key.
func entrySeq(sort string) (uint64, error) {
	digits, is := strings.CutPrefix(sort, entryPrefix)
	seq, err := strconv.ParseUint(digits, 10, 64)
	if !is || err != nil || len(digits) != countDigits {
		return 0, fmt.Errorf("%q is no entry's sort key", sort)
	}
	return seq, nil
}

func artifactKey(ref lifecycle.Ref, id a2a.ArtifactID) key {
	return key{taskPartition(ref), artifactPref + escape(string(id))}
}

func chunkKey(ref lifecycle.Ref, c ledger.ChunkReceipt) key {
	return key{taskPartition(ref), chunkPrefix + join(string(c.Artifact)) + separator + count(c.Revision) + separator + count(c.Number)}
}

func receiptKey(ref lifecycle.Ref, producer, eventID string) key {
	return key{taskPartition(ref), receiptPref + join(producer, eventID)}
}

func effectKey(ref lifecycle.Ref, visit uint64, name string) key {
	return key{taskPartition(ref), effectPrefix + pad(visit, visitDigits) + separator + escape(name)}
}

func rejectedKey(ref lifecycle.Ref, number int) key {
	return key{taskPartition(ref), rejectedPref + count(number)}
}

func producerKey(ref lifecycle.Ref, producer string) key {
	return key{taskPartition(ref), producerPref + escape(producer)}
}

func lateKey(ref lifecycle.Ref, number int) key {
	return key{taskPartition(ref), latePrefix + count(number)}
}

func actKey(ref lifecycle.Ref, number int) key {
	return key{taskPartition(ref), actPrefix + count(number)}
}

func parkedKey(ref lifecycle.Ref, pause int) key {
	return key{taskPartition(ref), parkedPrefix + count(pause)}
}

func endpointKey(ref lifecycle.Ref, id string) key {
	return key{taskPartition(ref), endpointPref + escape(id)}
}

// endpointID reads an endpoint's sort key.
func endpointID(sort string) (string, error) {
	name, is := strings.CutPrefix(sort, endpointPref)
	id, err := unescape(name)
	if !is || err != nil {
		return "", fmt.Errorf("%q is no endpoint's sort key", sort)
	}
	return id, nil
}

// count is a small number in a key.
func count(n int) string { return pad(uint64(max(n, 0)), countDigits) }

func pad(n uint64, digits int) string {
	s := strconv.FormatUint(n, 10)
	return strings.Repeat("0", max(0, digits-len(s))) + s
}

func join(parts ...string) string {
	for i, p := range parts {
		parts[i] = escape(p)
	}
	return strings.Join(parts, separator)
}

func split(joined string) ([]string, error) {
	parts := strings.Split(joined, separator)
	for i, p := range parts {
		var err error
		if parts[i], err = unescape(p); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// escape turns any string into printable ASCII without the separator. Everything
// that it writes sorts behind the separator, so a name that begins another one
// comes before it, whatever follows in the key.
func escape(s string) string {
	plain := true
	for i := range len(s) {
		plain = plain && keeps(s[i])
	}
	if plain {
		return s
	}
	const hexadecimal = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; keeps(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexadecimal[c>>4])
			b.WriteByte(hexadecimal[c&15])
		}
	}
	return b.String()
}

func keeps(c byte) bool { return c > '#' && c < 0x7f && c != '%' }

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%q ends within an escape", s)
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", fmt.Errorf("%q has an escape that is none", s)
		}
		b.WriteByte(byte(n))
		i += 2
	}
	if out := b.String(); escape(out) == s {
		return out, nil
	}
	return "", fmt.Errorf("%q was not made by this package", s)
}

// Shards of the indexes. A partition of an index takes 1,000 write units a
// second and holds up the table behind it (Best practices for designing and
// using partition keys effectively). The numbers are part of the format: readers
// ask every shard.
const (
	listShards    = 4  // of one tenant: a task that changes its status costs 2 units
	findingShards = 4  // of all tenants and each kind: a finding costs 2 units, once a minute
	dueShards     = 16 // of all tenants: every lease granted costs 2 units, of a task or of an endpoint
)

func shardOf(ref lifecycle.Ref, shards uint32) string { return hashed(taskPartition(ref), shards) }

func hashed(name string, shards uint32) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return shard(h.Sum32() % shards)
}

func shard(n uint32) string { return pad(uint64(n), 2) }

// updatePartition is where byUpdate keeps a shard of a tenant.
func updatePartition(tenant, shard string) string { return join(tenant) + separator + shard }

// contextPartition is where byContext keeps a conversation.
func contextPartition(tenant, contextID string) string { return join(tenant, contextID) }

// instantText is an instant in a key: it sorts as time does, to the nanosecond.
// What is outside of 1970 to 5138 comes first or last.
func instantText(t time.Time) string {
	const first, last = "00000000000.000000000", "99999999999.999999999"
	switch sec := t.Unix(); {
	case sec < 0:
		return first
	case sec > 99_999_999_999:
		return last
	default:
		return fmt.Sprintf("%011d.%09d", sec, t.Nanosecond())
	}
}

func parseInstant(s string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no instant of a key", s)
	}
	ns, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no instant of a key", s)
	}
	return time.Unix(sec, ns).UTC(), nil
}

// statusSort is a task's place in byUpdate and byContext: by the time of its
// status, then by its ID. What lists filter on follows, so that keys alone tell
// who is selected; all of it changes with the status only.
func statusSort(h lifecycle.Head) string {
	expires := never
	if h.Terminal() && !h.ExpiresAt.IsZero() {
		expires = instantText(h.ExpiresAt)
	}
	return statusPlace(h.StatusAt, h.Task) + separator + join(string(h.State), expires, h.Agent, strconv.Itoa(h.AgentVersion))
}

// never stands for the expiry of a task that has none.
const never = "-"

func statusPlace(at time.Time, task a2a.TaskID) string {
	return instantText(at) + separator + escape(string(task))
}

// duePartition and dueSort are a task's place in the index of what is due. Ended tasks
// stand apart, by their expiry: however many are to be purged, nobody who looks for live
// ones walks past them.
func duePartition(ref lifecycle.Ref) string     { return shardOf(ref, dueShards) }
func expiredPartition(ref lifecycle.Ref) string { return expiredPrefix + shardOf(ref, dueShards) }

func dueSort(at time.Time, ref lifecycle.Ref) string {
	return instantText(at) + separator + join(ref.Tenant, string(ref.Task))
}

// deliveryShard and deliverySort are an endpoint's place among those that are due.
func deliveryShard(ref lifecycle.Ref, id string) string {
	k := endpointKey(ref, id)
	return hashed(k.partition+separator+k.sort, dueShards)
}

func deliverySort(at time.Time, ref lifecycle.Ref, id string) string {
	return dueSort(at, ref) + separator + escape(id)
}

func findingKey(ref lifecycle.Ref, kind string) key {
	return key{taskPartition(ref), findingPref + escape(kind)}
}

// findingPartition is where the index keeps a shard of the findings of a kind; its
// first part keeps it apart from the shards of what is due.
func findingPartition(kind, shard string) string {
	return join(findingIndex, kind) + separator + shard
}

func findingShard(ref lifecycle.Ref, kind string) string {
	return findingPartition(kind, shardOf(ref, findingShards))
}

// findingSort is a finding's place there: its tenant's, by the minute, and its task.
func findingSort(ref lifecycle.Ref, at time.Time) string {
	return join(ref.Tenant) + separator + instantText(at.Truncate(time.Minute)) + separator + join(string(ref.Task))
}

// afterAll follows everything that has the given beginning.
func afterAll(beginning string) string { return beginning + "\x7f" }
