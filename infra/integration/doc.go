// Package integration holds the tests of the deployed shape on one machine: the
// compiled function binaries as separate processes, joined as on AWS.
//
// Real: the five binaries (go build, as they are deployed), each process started and
// served by infra/lambdahost; DynamoDB's and S3's protocols, spoken by a server that
// infra/emulator/start.sh starts; the SDK's clients; SIGKILL; the systems under review
// over HTTP; time.
//
// Ours in the place of AWS: API Gateway is lambdahost's front. Step Functions is a
// small front that speaks its protocol (AWS JSON 1.0) over local/asl, which interprets
// statemachine/task.asl.json. The schedule is a ticker, the stream mapping a reader of
// the table's stream that calls the stream function with the records as they are. Where a
// test says trial, the functions are built with the agent of testdata/trial in the place
// of hello.
//
// Nothing sleeps: every wait is for a condition and has a deadline. What is random is
// drawn from a seed that is printed. The tests need the addresses of the server:
//
//	eval "$(infra/emulator/start.sh)" && go test -v ./infra/integration
//
// HOLDFAST_INTEGRATION_KILLS, HOLDFAST_INTEGRATION_ROUNDS and HOLDFAST_INTEGRATION_SEED
// change how often processes are killed, how often races are run, and the seed.
package integration
