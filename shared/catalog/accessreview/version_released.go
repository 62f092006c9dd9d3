//go:build !next

package accessreview

// shipped is the highest version of this build.
const shipped = 1
