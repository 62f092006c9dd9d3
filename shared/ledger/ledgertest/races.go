package ledgertest

// raceTests are the races, each with the outcomes that must be seen. Rounds are
// verified one by one: the entries fold to the head (I1), lifecycle.Check finds
// nothing, and there is at most one terminal entry (I2).
var raceTests = []test{
	{"32 creators of one key (I5, cases 2 and 3)", creators.run},
	{"a stale holder against another grant (I3, case 17)", staleHolder.run},
	{"the same holder twice (I3)", sameHolder.run},
	{"a reply against a grant (case 6)", replyGrant.run},
	{"a cancellation against a grant", cancelGrant.run},
	{"two replies to one question (case 62)", twoReplies.run},
	{"a lost answer, then somebody else's commit (I3, case 14)", lostCommit.run},
	{"a lost grant, then another one (I3, case 17)", lostGrant.run},
	{"complete against fail (I2, case 18)", completeFail.run},
	{"a cancel mark against the holder's progress", markProgress.run},
	{"a cancel mark against the holder's pause (I8)", markPause.run},
	{"a cancel mark against the holder's end (I2, case 18)", markEnd.run},
	{"a cancel mark against an intent (I7)", markIntent.run},
	{"a new generation against a grant", restartGrant.run},
	{"a parking execution against the answer", parkAnswer.run},
	{"many writers of one task", manyWriters.run},
	{"two workers of one producer, one sequence", sameSequence.run},
	{"one report twice", sameReport.run},
	{"a gap against what fills it", gapFilled.run},
	{"a claim twice", sameClaim.run},
	{"a report against a cancellation", reportCancel.run},
	{"two senders of one endpoint", twoSenders.run},
	{"more is wanted against going idle (I11)", wantIdle.run},
	{"a configuration against a removal", putDelete.run},
	{"a delivery against a removal", deliverDelete.run},
	{"many who want more, a configuration and a delivery", manyWanting.run},
	{"the last places for endpoints", lastPlaces.run},
	{"a purge against what comes late (I2, case 65)", purgeStraggler.run},
	{"two purges of one task", twoPurges.run},
	{"a purge against a resubmission (I5, case 65)", purgeResubmitted.run},
	{"two creators of a key that is forgotten (I5)", forgottenKey.run},
}
