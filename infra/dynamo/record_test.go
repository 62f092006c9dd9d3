package dynamo

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// fill sets every field to something that is not zero.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)))
		return
	case lifecycle.Digest:
		v.SetString(string(lifecycle.DigestBytes([]byte("x"))))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"é":1e400}`))
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i))
		}
	case reflect.Uint8:
		v.SetUint(0xff)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint64:
		v.SetUint(1<<53 + 1)
	default:
		v.SetInt(7)
	}
}

// TestRecords: every field of every record survives, whatever field is added.
func TestRecords(t *testing.T) {
	for _, c := range []struct {
		layout layout
		record any
	}{
		{headLayout, &lifecycle.Head{}}, {entryLayout, &lifecycle.Entry{}}, {plainLayout, &lifecycle.Effect{}}, {artifactLayout, &lifecycle.Artifact{}},
		{receiptLayout, &ledger.Receipt{}}, {plainLayout, &ledger.Rejected{}}, {plainLayout, &ledger.Acted{}}, {plainLayout, &ledger.KeyNote{}}, {chunkLayout, &ledger.ChunkReceipt{}}, {plainLayout, &lifecycle.CancelMark{}},
		{endpointLayout, &ledger.Endpoint{}}, {deliveryLayout, &ledger.Delivery{}},
	} {
		want := reflect.ValueOf(c.record).Elem()
		fill(want)
		it, err := c.layout.encode(want.Interface())
		if err != nil {
			t.Fatalf("%s: %v", want.Type(), err)
		}
		if names := c.layout.names(want.Interface()); len(names) != len(it) {
			t.Errorf("%s: %d attributes of the names %q", want.Type(), len(it), names)
		}
		for _, name := range []string{partitionName, sortName, updateName, contextName, statusName, dueName, dueSortName, ttlName, rejectionsName, incidentsName, hitsName, lateName, actsName} {
			if it[name] != nil {
				t.Errorf("%s: attribute %s belongs to the key or to an index", want.Type(), name)
			}
		}
		got := reflect.New(want.Type()).Elem()
		got.Set(want)
		for _, f := range c.layout.fields(got) {
			f.SetZero() // what the key tells is there already
		}
		if err := c.layout.decode(it, got.Addr().Interface()); err != nil || !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%s comes back as\n%+v (%v), want\n%+v", want.Type(), got, err, want)
		}
		empty := reflect.New(want.Type())
		if it, err := c.layout.encode(empty.Elem().Interface()); err != nil || len(it) > 0 {
			t.Errorf("an empty %s has %d attributes (%v)", want.Type(), len(it), err)
		}
	}
}

func TestInstants(t *testing.T) {
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(0, 1), time.Unix(1_772_359_200, 0), time.Unix(1_772_359_200, 120_000_000), time.Unix(99_999_999_999, 999_999_999),
		time.Date(1969, 12, 31, 23, 59, 59, 5, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.FixedZone("east", 7200)),
	} {
		got, err := decodeInstant(encodeInstant(at))
		if err != nil || !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%s comes back as %s (%v)", at, got, err)
		}
	}
}

// TestRecordsDamaged: what is not ours is an error, never a panic or a guess.
func TestRecordsDamaged(t *testing.T) {
	for name, v := range map[string]types.AttributeValue{
		"a text for a number":        text("1"),
		"a fraction":                 &types.AttributeValueMemberN{Value: "1.5"},
		"a negative one":             &types.AttributeValueMemberN{Value: "-1"},
		"a list":                     &types.AttributeValueMemberL{},
		"a map where a number stood": &types.AttributeValueMemberM{},
	} {
		var h lifecycle.Head
		if err := headLayout.decode(item{seqName: v}, &h); err == nil {
			t.Errorf("%s was read as sequence %d", name, h.Seq)
		}
	}
	if _, err := plainLayout.encode(ledger.KeyNote{Task: "\xff"}); err == nil {
		t.Error("bytes that are no text were taken for text")
	}
	for _, v := range []types.AttributeValue{&types.AttributeValueMemberN{Value: "1.1234567891"}, &types.AttributeValueMemberN{Value: "x"}, text("x"), &types.AttributeValueMemberBOOL{}} {
		if at, err := decodeInstant(v); err == nil {
			t.Errorf("%v was read as %s", v, at)
		}
	}
}

// TestHeadItemSize: an update is billed for the whole item, in units of 1 KiB.
// With ordinary names the head's item, its places in the indexes and its counters
// included, must be one.
func TestHeadItemSize(t *testing.T) {
	uuid := "0195a4b2-1111-7abc-8def-000000000042"
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC)
	n := func(size int) string { return strings.Repeat("n", size) }
	for kind, h := range map[string]lifecycle.Head{
		"ordinary": {Tenant: "acme-production", ContextID: uuid, Agent: "accessreview", Principal: strings.Repeat("f", 32), // as the door gives it, 128 bits
			Policy: "default@1", Step: "apply-revocations", Holder: uuid + "-g12", Op: uuid},
		"longest": {Tenant: n(128), ContextID: n(128), Agent: n(64), Principal: strings.Repeat("f", 64), Policy: n(64), Step: n(64), Holder: n(128), Op: uuid},
	} {
		h.Task, h.AgentVersion, h.State, h.StatusAt, h.AcceptedAt, h.LifeEndsAt, h.RetainSecs = a2a.TaskID(uuid), 999, lifecycle.AuthRequired, at, at, at, 2_592_000
		h.Seq, h.Chain, h.Visit, h.CheckpointSeq, h.MessageSeq, h.Attempt, h.Pauses, h.Artifacts, h.Unsealed = 9_999, lifecycle.DigestBytes(nil), 9_999, 9_999, 9_999, 9, 999, 300, 300
		h.LeaseSecs, h.PauseSecs, h.FailedSecs, h.CanceledSecs, h.RejectedSecs, h.ExportedSecs = 300, 2_592_000, 7_776_000, 2_592_000, 2_592_000, 604_800
		h.EntryFence, h.Fence, h.LeaseUntil, h.Grants, h.Generation, h.Untaken, h.Turns, h.DueAt, h.NextAt = 99_999, 99_999, at, 10, 9_999, 20, 1_500, at, at
		h.Cancel = &lifecycle.CancelMark{Principal: h.Principal, At: at}
		h.Pause = &lifecycle.Pause{Number: 999, DeadlineAt: at, Outcome: lifecycle.Canceled, Named: true}
		h.Challenge = &lifecycle.Challenge{Number: 999, Action: "revoke 14 grants", Audience: "system-owners", ExpiresAt: at}
		it, err := headItem(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, counter := range []string{rejectionsName, incidentsName, hitsName} {
			it[counter] = number(9_999)
		}
		it[actsName] = number(99) // and late output is of canceled tasks, which have little else of this
		size := itemSize(it)
		t.Logf("%s: %d bytes", kind, size)
		if kind == "ordinary" && size > writeUnitBytes {
			t.Errorf("a head with %s names and everything set has %d bytes, the limit is %d", kind, size, writeUnitBytes)
		}
	}
}
