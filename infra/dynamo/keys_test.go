package dynamo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// keysOf are the keys that two names and two numbers make. What differs in any of
// them must differ in the keys.
func keysOf(a, b string, m, n uint64) map[string]key {
	ref := lifecycle.Ref{Tenant: a, Task: a2a.TaskID(b)}
	one := lifecycle.Ref{Tenant: "t", Task: "1"}
	m, n = m%(maxCount+1), n%(maxCount+1)
	return map[string]key{
		"head": headKey(ref), "submission": submissionKey(ledger.Key{Tenant: a, Hash: lifecycle.Digest(b)}), "entry": entryKey(ref, m),
		"receipt": receiptKey(one, a, b), "chunk": chunkKey(one, ledger.ChunkReceipt{Artifact: a2a.ArtifactID(a + b), Revision: int(m), Number: int(n)}),
		"effect": effectKey(one, m, a), "artifact": artifactKey(one, a2a.ArtifactID(a)), "rejection": rejectedKey(ref, int(m)), "producer": producerKey(one, a), "late": lateKey(ref, int(m)), "act": actKey(ref, int(m)), "parked": parkedKey(ref, int(m)),
		"expiry": expiryKey(ref), "list": {updatePartition(a, shard(3)), statusPlace(time.Unix(int64(m), 0), a2a.TaskID(b))},
		"context": {contextPartition(a, b), ""}, "due": {"", dueSort(time.Unix(int64(m), 0), ref)},
		"endpoint": endpointKey(one, a), "secret": secretKey(a), "delivery": {deliveryShard(ref, a), deliverySort(time.Unix(int64(m), 0), ref, a)},
		"finding": findingKey(one, a), "found": {findingPartition(a, shard(3)), findingSort(ref, time.Unix(int64(m)*60, 0))},
	}
}

// FuzzKeys: no two different names have one key, and no key of one kind is a key
// of another.
func FuzzKeys(f *testing.F) {
	f.Add("a", "b", "a", "c", uint64(1), uint64(2))
	f.Add("a#", "b", "a", "#b", uint64(1), uint64(1))
	f.Add("a%23", "b", "a#", "b", uint64(10), uint64(1))
	f.Add("", "a#b", "a", "b", uint64(0), uint64(0))
	f.Add("é", "\xff", "e\u0301", "\xff\xfe", uint64(9), uint64(10))
	f.Fuzz(func(t *testing.T, a, b, c, d string, m, n uint64) {
		m, n = m%(maxCount+1), n%(maxCount+1)
		first, second := keysOf(a, b, m, n), keysOf(c, d, n, m)
		for kind, k := range first {
			same := map[string]bool{
				"head": a == c && b == d, "submission": a == c && b == d, "receipt": a == c && b == d, "expiry": a == c && b == d, "context": a == c && b == d,
				"entry": a == c && b == d && m == n, "rejection": a == c && b == d && m == n, "parked": a == c && b == d && m == n, "late": a == c && b == d && m == n, "act": a == c && b == d && m == n, "producer": a == c, "list": a == c && b == d && m == n, "due": a == c && b == d && m == n,
				"chunk": a+b == c+d && m == n, "effect": a == c && m == n, "artifact": a == c, "endpoint": a == c, "secret": a == c, "delivery": a == c && b == d && m == n,
				"finding": a == c, "found": a == c && b == d && m == n,
			}[kind]
			if (k == second[kind]) != same {
				t.Errorf("%s keys %q and %q of %q %q %d and %q %q %d", kind, k, second[kind], a, b, m, c, d, n)
			}
		}
		inTasks := []string{"head", "entry", "chunk", "effect", "artifact", "receipt", "rejection", "producer", "late", "expiry", "submission"}
		inPrivate := []string{"parked", "endpoint", "finding", "secret"}
		for _, table := range [][]string{inTasks, inPrivate} {
			for _, x := range table {
				for _, y := range table {
					if x != y && first[x] == second[y] {
						t.Errorf("a %s and a %s have the key %q", x, y, first[x])
					}
				}
			}
		}
	})
}

// FuzzKeysRead: what was encoded is read back.
func FuzzKeysRead(f *testing.F) {
	f.Add("tenant", "task", uint64(7))
	f.Add("#%", "\x00\xffé", uint64(maxCount))
	f.Fuzz(func(t *testing.T, tenant, task string, n uint64) {
		ref := lifecycle.Ref{Tenant: tenant, Task: a2a.TaskID(task)}
		if got, err := taskOf(taskPartition(ref)); err != nil || got != ref {
			t.Errorf("%q is read as %q (%v)", ref, got, err)
		}
		n %= maxCount + 1
		if got, err := entrySeq(entrySort(n)); err != nil || got != n {
			t.Errorf("sequence %d is read as %d (%v)", n, got, err)
		}
		at := time.Unix(int64(n), int64(n%1_000_000_000)).UTC()
		if got, err := parseDue(dueSort(at, ref)); err != nil || got.Ref != ref || !got.DueAt.Equal(at) {
			t.Errorf("%q due at %s is read as %v (%v)", ref, at, got, err)
		}
		if got, err := endpointID(endpointKey(ref, tenant).sort); err != nil || got != tenant {
			t.Errorf("endpoint %q is read as %q (%v)", tenant, got, err)
		}
		if got, err := parseDelivery(deliverySort(at, ref, task)); err != nil || got.Ref != ref || got.ID != task || !got.DueAt.Equal(at) {
			t.Errorf("endpoint %q of %q due at %s is read as %v (%v)", task, ref, at, got, err)
		}
		h := lifecycle.Head{Tenant: tenant, Task: ref.Task, Agent: task, State: lifecycle.Completed, StatusAt: at, ExpiresAt: at.Add(time.Hour)}
		got, err := parseStatus(statusSort(h))
		if err != nil || got.task != h.Task || got.agent != h.Agent || got.state != h.State || !got.at.Equal(at) || !got.expires.Equal(h.ExpiresAt) {
			t.Errorf("%+v is read as %+v (%v)", h, got, err)
		}
	})
}

// FuzzOrder: numbers and instants sort in keys as they do.
func FuzzOrder(f *testing.F) {
	f.Add(uint64(9), uint64(10), int64(0), int64(1))
	f.Add(uint64(maxCount), uint64(1), int64(-1), int64(1_772_359_200_123_456_789))
	f.Fuzz(func(t *testing.T, m, n uint64, x, y int64) {
		m, n = m%(maxCount+1), n%(maxCount+1)
		if (m < n) != (entrySort(m) < entrySort(n)) {
			t.Errorf("%d and %d sort as %q and %q", m, n, entrySort(m), entrySort(n))
		}
		if (m < n) != (pad(m, visitDigits) < pad(n, visitDigits)) {
			t.Errorf("visits %d and %d are out of order", m, n)
		}
		a, b := time.Unix(0, max(x, 0)), time.Unix(0, max(y, 0))
		one := lifecycle.Ref{Tenant: "t", Task: "1"}
		if a.Truncate(time.Minute).Before(b.Truncate(time.Minute)) != (findingSort(one, a) < findingSort(one, b)) {
			t.Errorf("findings of %s and %s sort as %q and %q", a, b, findingSort(one, a), findingSort(one, b))
		}
		if a.Before(b) != (instantText(a) < instantText(b)) {
			t.Errorf("%s and %s sort as %q and %q", a, b, instantText(a), instantText(b))
		}
	})
}

func TestKeysDamaged(t *testing.T) {
	for _, k := range []string{"", "w", "p#a", "w#%", "w#a#b", "w#é"} {
		if id, err := endpointID(k); err == nil {
			t.Errorf("%q was read as endpoint %q", k, id)
		}
	}
	for _, k := range []string{"", dueSort(time.Unix(1, 0), lifecycle.Ref{}), "x#a#b#c", "00000000001.000000000#a#b#%"} {
		if c, err := parseDelivery(k); err == nil {
			t.Errorf("%q was read as the place of %v", k, c)
		}
	}
	for _, k := range []string{"", "T", "T#a", "K#a#b", "T#a#b#c", "T#a#%", "T#a#%zz", "T#a#%41", "T#a#é", "T#a#%2f"} {
		if ref, err := taskOf(k); err == nil {
			t.Errorf("%q was read as the partition of %q", k, ref)
		}
	}
	for _, k := range []string{"", "e#", "e#1", "e#00000000001", "e#-000000001", "f#0000000001"} {
		if seq, err := entrySeq(k); err == nil {
			t.Errorf("%q was read as sequence %d", k, seq)
		}
	}
}

// TestKeysBounded: names within the limits of package lifecycle fit, whatever
// they are made of; longer ones are refused before a request is made.
func TestKeysBounded(t *testing.T) {
	n := func(size int) string { return strings.Repeat("\xff", size) }
	name, id := n(lifecycle.MaxNameBytes), n(lifecycle.MaxIDBytes)
	ref := lifecycle.Ref{Tenant: id, Task: a2a.TaskID(id)}
	h := lifecycle.Head{Tenant: id, Task: ref.Task, ContextID: id, Agent: name, State: lifecycle.InputRequired}
	for _, k := range []key{
		headKey(ref), receiptKey(ref, name, id), effectKey(ref, 1<<63, name), artifactKey(ref, a2a.ArtifactID(name)),
		submissionKey(ledger.Key{Tenant: id, Hash: lifecycle.DigestBytes(nil)}), chunkKey(ref, ledger.ChunkReceipt{Artifact: a2a.ArtifactID(name)}),
		{updatePartition(id, shard(0)), statusSort(h)}, {contextPartition(id, id), statusSort(h)}, {shard(0), dueSort(time.Now(), ref)},
		findingKey(ref, name), {findingPartition(name, shard(0)), findingSort(ref, time.Now())},
		endpointKey(ref, id), producerKey(ref, name), {shard(0), deliverySort(time.Now(), lifecycle.Ref{Tenant: id, Task: a2a.NewTaskID()}, id)},
	} {
		if err := k.check(); err != nil {
			t.Errorf("%.40q, %.40q: %v", k.partition, k.sort, err)
		}
	}
	if (key{n(maxPartitionBytes + 1), ""}).check() == nil || (key{"", n(maxSortBytes + 1)}).check() == nil {
		t.Error("a key that DynamoDB does not take was accepted")
	}
}

// TestShards: every task is in a shard that readers ask.
func TestShards(t *testing.T) {
	seen := map[string]int{}
	for range 4_000 {
		ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
		p := updatePartition(ref.Tenant, shardOf(ref, listShards))
		if !slices.Contains(listSpan(ledger.ListQuery{Tenant: ref.Tenant}).partitions, p) {
			t.Fatalf("nobody asks partition %q", p)
		}
		if d := shardOf(ref, dueShards); !slices.Contains(dueSpan(time.Now(), nil, 0).partitions, d) {
			t.Fatalf("nobody asks partition %q", d)
		}
		if d := deliveryShard(ref, "endpoint"); !slices.Contains(deliverySpan(time.Now(), nil, 0).partitions, d) {
			t.Fatalf("nobody asks partition %q", d)
		}
		if d := findingShard(ref, "kind"); !slices.Contains(findingSpan(ledger.FindingQuery{Kind: "kind"}).partitions, d) {
			t.Fatalf("nobody asks partition %q", d)
		}
		seen[p]++
	}
	for p, n := range seen {
		if n < 4_000/listShards/2 {
			t.Errorf("partition %q has %d of 4,000 tasks", p, n)
		}
	}
}
