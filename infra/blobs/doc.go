// Package blobs keeps large bytes in a bucket of S3, each under
// <tenant>/<task>/<digest>, so that everything of a task goes with its prefix.
//
// Nothing is ever handed out that is not what its digest says (I6). S3 is
// strongly consistent: what was put is read (Amazon S3 data consistency model,
// user guide).
package blobs
