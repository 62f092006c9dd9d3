package lambdahost

import (
	"bytes"
	"io"
	"sync"
)

// environment is what Lambda sets ("Working with Lambda environment variables"), with
// keys that open nothing.
func environment(c Config, api, process string) []string {
	return append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + api,
		"AWS_LAMBDA_FUNCTION_NAME=" + c.Name,
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + c.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME=" + process,
		"AWS_LAMBDA_LOG_FORMAT=JSON",
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_EC2_METADATA_DISABLED=true", // there is none, and nothing may go looking for it
		"LAMBDA_TASK_ROOT=/var/task",
		"LAMBDA_RUNTIME_DIR=/var/runtime",
		"_HANDLER=bootstrap",
		"PATH=/usr/local/bin:/usr/bin:/bin:/opt/bin",
		"LANG=en_US.UTF-8",
		"TZ=:UTC",
	}, c.Env...)
}

// lineWriter lets several processes share one log: it passes on whole lines.
type lineWriter struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte
}

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	if end := bytes.LastIndexByte(l.rest, '\n'); end >= 0 {
		_, _ = l.to.Write(l.rest[:end+1])
		l.rest = append(l.rest[:0], l.rest[end+1:]...)
	}
	return len(p), nil
}
