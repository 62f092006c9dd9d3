// Package policy reads the documents by which tasks are judged, and settles tasks that
// have ended by what was recorded of them.
//
// A document has an owner, a name and a version, and never changes under its version: a
// change is a new version. Agents name the policy that their tasks are accepted under.
// What the document says is recorded with the task, with the digest of the document, and
// the task is judged by that record for as long as it is kept, whether the document is
// still there or not.
//
// A document is one JSON object:
//
//	{
//	  "name": "access-review", "version": 1,
//	  "owner": "identity governance",           who answers for it
//	  "leaseSeconds": 30,                       a holder's lease without renewal, 1 s to 15 min; absent: as the deployment says
//	  "longestLifeSeconds": 7776000,            of a task, 1 min to 365 days
//	  "longestPauseSeconds": 2592000,           one that is asked for longer is cut, 1 min to 30 days
//	  "retentionSeconds": {                     after the end, each 3 to 3650 days
//	    "completed": 2592000, "failed": 2592000, "canceled": 2592000, "rejected": 2592000,
//	    "afterExport": 604800                   once the export was acknowledged: an hour to the shortest of the others
//	  },
//	  "effects": {                              up to 32; a name that ends in * stands for all that begin so; absent: none
//	    "revoke-*": {"compensable": true, "by": "the system's owner", "units": 1},
//	    "notify":   {"compensable": false}
//	  },
//	  "billing": {"basis": "effects"}           none, accepted, completed (both with "units" for a task) or effects
//	}
//
// All members are needed but those that may be absent, and there are no others. What a
// document says of effects is in the first entry of each task: on DynamoDB every
// kilobyte of it costs two write units a task.
package policy
