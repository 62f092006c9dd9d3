package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// What CloudWatch demands of a name (PutMetricData, API reference: 1 to 255 bytes of
// ASCII), and what this product does.
var plainName = regexp.MustCompile(`^[A-Z][A-Za-z]{1,60}$`)

func TestNamesAreDeclaredOnce(t *testing.T) {
	seen := map[metrics.Name]bool{}
	for _, m := range metrics.All() {
		if seen[m.Name] || !plainName.MatchString(string(m.Name)) {
			t.Errorf("%q is there twice, or is no name", m.Name)
		}
		seen[m.Name] = true
		if m.Unit != metrics.Count && m.Unit != metrics.Seconds {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		if found, ok := metrics.Of(m.Name); !ok || found != m {
			t.Errorf("%s is found as %+v", m.Name, found)
		}
	}
	if _, ok := metrics.Of("Nothing"); ok {
		t.Error("a metric that is not there is found")
	}
}

func at() time.Time { return time.UnixMilli(1_772_359_200_123) }

func written(wrap func(slog.Handler) slog.Handler, write func(metrics.Log)) string {
	var out bytes.Buffer
	handler := slog.NewJSONHandler(&out, nil)
	write(metrics.Log{Logger: slog.New(wrap(handler)), Deployment: "blue", Now: at})
	return out.String()
}

func same(h slog.Handler) slog.Handler { return h }

func refused(l metrics.Log) {
	l.Write(context.Background(), slog.LevelWarn, "a report was refused", []metrics.Value{{Name: metrics.PostTerminal, Number: 1}}, slog.String("task", "T-1"))
}

// A line is what the embedded metric format demands: the root names namespace,
// dimensions and metrics, and each of them has a member of its own.
func TestLineIsAMetric(t *testing.T) {
	var line struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		} `json:"_aws"`
		Message      string `json:"msg"`
		Task         string `json:"task"`
		Deployment   string
		PostTerminal *float64
	}
	text := written(same, refused)
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatal(err)
	}
	if strings.Count(text, "\n") != 1 {
		t.Errorf("not one line: %q", text)
	}
	if line.AWS.Timestamp != at().UnixMilli() || len(line.AWS.CloudWatchMetrics) != 1 {
		t.Fatalf("%+v", line.AWS)
	}
	d := line.AWS.CloudWatchMetrics[0]
	if d.Namespace != "Holdfast" || len(d.Dimensions) != 1 || len(d.Dimensions[0]) != 1 || d.Dimensions[0][0] != "Deployment" {
		t.Errorf("%+v: one dimension, the deployment", d)
	}
	if len(d.Metrics) != 1 || d.Metrics[0].Name != "PostTerminal" || d.Metrics[0].Unit != "Count" {
		t.Errorf("%+v", d.Metrics)
	}
	if line.Deployment != "blue" || line.PostTerminal == nil || *line.PostTerminal != 1 || line.Task != "T-1" || line.Message != "a report was refused" {
		t.Errorf("%s", text)
	}
}

// What is in no table is no metric, and a line without a metric is a log line.
func TestUnknownIsNoMetric(t *testing.T) {
	text := written(same, func(l metrics.Log) {
		l.Write(context.Background(), slog.LevelInfo, "hello", []metrics.Value{{Name: "Nothing", Number: 1}})
	})
	if strings.Contains(text, "_aws") || strings.Contains(text, "Nothing") || !strings.Contains(text, "hello") {
		t.Error(text)
	}
}

func TestHandlers(t *testing.T) {
	measure := func(l metrics.Log) {
		l.Write(context.Background(), slog.LevelInfo, "measured", []metrics.Value{{Name: metrics.TasksPastDue, Number: 0}})
	}
	plain := func(l metrics.Log) { l.Logger.Info("plain") }
	deep := func(l metrics.Log) {
		l.Logger = l.Logger.With("function", "api").WithGroup("")
		refused(l)
		plain(l)
	}
	for name, c := range map[string]struct {
		wrap     func(slog.Handler) slog.Handler
		write    func(metrics.Log)
		has, not string
	}{
		"only a metric":              {metrics.Only, refused, `"_aws"`, "plain"},
		"only a measurement":         {metrics.Only, measure, `"TasksPastDue":0`, "plain"},
		"only a log line":            {metrics.Only, plain, "", "plain"},
		"only, below":                {metrics.Only, deep, `"function":"api"`, "plain"},
		"without, an event":          {metrics.Without, refused, `"PostTerminal":1`, "_aws"},
		"without, a measurement":     {metrics.Without, measure, "", "measured"},
		"without, a log line":        {metrics.Without, plain, "plain", "_aws"},
		"without, the deployment":    {metrics.Without, refused, "a report was refused", "blue"},
		"without, below":             {metrics.Without, deep, "plain", "_aws"},
		"without, below, attributes": {metrics.Without, deep, `"function":"api"`, "_aws"},
	} {
		if text := written(c.wrap, c.write); !strings.Contains(text, c.has) || strings.Contains(text, c.not) {
			t.Errorf("%s: %q, want %q and no %q", name, text, c.has, c.not)
		}
	}
}
