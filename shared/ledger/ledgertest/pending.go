package ledgertest

var raceTests []test
