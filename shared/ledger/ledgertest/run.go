package ledgertest

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// topic is a group of tests. Each test gets a ledger opened for it.
type topic struct {
	name  string
	tests []test
}

type test struct {
	name string
	run  func(b *bench)
}

// topics are in the order of the port's doc comments.
func topics() []topic {
	return []topic{
		{"create", createTests},
		{"commit", commitTests},
		{"guard", guardTests},
		{"cancel", cancelTests},
		{"acknowledge", acknowledgeTests},
		{"lease", leaseTests},
		{"artifacts", artifactTests},
		{"receipts", receiptTests},
		{"producers", producerTests},
		{"coordinates", coordinateTests},
		{"quarantine", quarantineTests},
		{"rejections", rejectionTests},
		{"acts", actTests},
		{"watch", watchTests},
		{"effects", effectTests},
		{"tokens", tokenTests},
		{"endpoints", endpointTests},
		{"deliveries", deliveryTests},
		{"findings", findingTests},
		{"list", listTests},
		{"due", dueTests},
		{"feed", feedTests},
		{"purge", purgeTests},
		{"expired", expiredTests},
		{"limits", limitTests},
		{"names", nameTests},
		{"tenants", tenantTests},
		{"races", raceTests},
	}
}

// Run is the conformance suite. open gives a ledger and cleans up after itself;
// it is called once for every test.
func Run(t *testing.T, open func(t *testing.T) ledger.Ledger) {
	t.Helper()
	for _, topic := range topics() {
		t.Run(topic.name, func(t *testing.T) {
			for _, test := range topic.tests {
				t.Run(test.name, func(t *testing.T) { test.run(newBench(t, open(t))) })
			}
		})
	}
}
