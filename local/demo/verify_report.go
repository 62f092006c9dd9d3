package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// checkReport: the task completed, and its report tells what the systems did.
func checkReport(f facts) (string, error) {
	if f.final.Status.State != stateCompleted || len(f.final.Artifacts) != 1 || len(f.final.Artifacts[0].Parts) == 0 {
		return "", fmt.Errorf("the task is %s with %d artifacts", f.final.Status.State, len(f.final.Artifacts))
	}
	report := f.final.Artifacts[0]
	var says struct {
		Systems   int `json:"systems"`
		Revoked   int `json:"revoked"`
		Proposals []struct {
			System  string `json:"system"`
			Account string `json:"account"`
			Role    string `json:"role"`
		} `json:"proposals"`
	}
	text := report.Parts[0].Text
	if text == nil {
		return "", errors.New("the report does not begin with text")
	}
	if err := json.Unmarshal([]byte(*text), &says); err != nil {
		return "", fmt.Errorf("the report's JSON: %w", err)
	}
	if says.Systems != len(f.systems) || says.Revoked != grantCount || len(says.Proposals) != grantCount {
		return "", fmt.Errorf("it tells of %d systems, %d proposals and %d revocations", says.Systems, len(says.Proposals), says.Revoked)
	}
	for _, p := range says.Proposals {
		name := strings.Join([]string{p.System, p.Account, p.Role}, "/")
		if f.counters.Revocations[name].Applied == 0 {
			return "", fmt.Errorf("it tells of the revocation of %s, which the systems know nothing of", name)
		}
	}
	sum, size := digest(report)
	return fmt.Sprintf("%d systems, %d revoked; %d bytes, sha256 %s", says.Systems, says.Revoked, size, sum), nil
}

// digest is over an artifact's parts in order.
func digest(a artifact) (sum string, size int) {
	h := sha256.New()
	for _, p := range a.Parts {
		content := append([]byte(p.Data), p.Raw...)
		if p.Text != nil {
			content = append(content, *p.Text...)
		}
		content = append(content, p.URL...)
		size += len(content)
		h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil)), size
}
