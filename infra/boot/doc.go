// Package boot puts the functions together. It is the only place on AWS where the
// environment and the clock are read: once, when a process starts. Every problem of
// the configuration is reported in one error, each with the variable's name and what
// to do, so that a deployment is corrected once.
//
// A function is a value that lambda.Start takes: [API], [Step], [Settle], [Stream],
// [Sweep], [Deliver]. None of them keeps anything of a task between two invocations.
//
// The variables, all of them strings; durations as Go writes them ("30s", "5m"):
//
//	HOLDFAST_TASKS_TABLE       the streamed table
//	HOLDFAST_PRIVATE_TABLE     the table that is not streamed
//	HOLDFAST_BLOBS_BUCKET      the bucket of large parts
//	HOLDFAST_STATE_MACHINE     ARN of the state machine's alias
//	HOLDFAST_DELIVERY_MACHINE  ARN of the delivery machine's alias
//	HOLDFAST_DEPLOYMENT        name of this deployment, the one dimension of its metrics
//	HOLDFAST_SYSTEMS_URL       API of the systems that accessreview works on; without it
//	                           that agent is not offered
//	HOLDFAST_PUBLIC_URL        address under which callers reach the API; without it, the
//	                           one that a request was sent to
//	HOLDFAST_STREAMING         false: the API's integration is buffered
//	HOLDFAST_AUTH              oidc, keys, or both ("oidc,keys")
//	HOLDFAST_OIDC_ISSUER       issuer of the tokens
//	HOLDFAST_OIDC_AUDIENCE     audiences, separated by commas, one of which a token has
//	HOLDFAST_OIDC_JWKS_URL     where its keys are; without it, where the issuer says
//	HOLDFAST_OIDC_TENANT_CLAIM claim that names the tenant; or
//	HOLDFAST_OIDC_TENANT       the tenant of everybody
//	HOLDFAST_OIDC_SCOPE_PREFIX what stands before our scopes' names in a token
//	HOLDFAST_OIDC_GRANT        scopes that every valid token has; "caller" if not set
//	HOLDFAST_API_KEYS          JSON array of keys, see auth.KeyEntry
//	HOLDFAST_RECEIPT_ISSUERS   JSON array of {"issuer", "jwksUrl", "audience"}: whose
//	                           authorization receipts are taken, see package receipt
//	HOLDFAST_LEASE, HOLDFAST_RENEWAL, HOLDFAST_GRACE    see lifecycle's defaults
//	HOLDFAST_HEALTH_LATE, HOLDFAST_HEALTH_WINDOW    see health's defaults
//	HOLDFAST_RESERVE           kept free at the end of an invocation
//	HOLDFAST_WAIT_BUDGET, HOLDFAST_KEEP_ALIVE, HOLDFAST_STREAM_LIMIT    see api's defaults
//	HOLDFAST_SWEEP_MOST        tasks that one sweep looks at
//	HOLDFAST_WEBHOOK_NETWORKS  networks that webhooks may lead to besides public addresses, for emulators
//	HOLDFAST_KMS_KEY           ARN of the key that wraps the deployment's key ring; without
//	                           it the ring lies in the private table as it is
//
// Another variable that begins with HOLDFAST_ is a problem too: it is a misspelled
// one. The log level, the region and the addresses of AWS's services are Lambda's and
// the SDK's own variables (AWS_LAMBDA_LOG_LEVEL, AWS_REGION, AWS_ENDPOINT_URL).
package boot
