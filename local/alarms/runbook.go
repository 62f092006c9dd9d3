package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// section is a section of the runbook.
type section struct {
	means    string
	commands []string
}

// readRunbook reads the sections that alarms lead to.
func readRunbook(root string) (map[string]section, error) {
	text, err := os.ReadFile(filepath.Join(root, "infra", "RUNBOOK.md"))
	if err != nil {
		return nil, err
	}
	out := map[string]section{}
	headings := regexp.MustCompile(`(?m)^### ([a-z-]+)$`).FindAllStringSubmatchIndex(string(text), -1)
	for i, h := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		body := string(text[h[1]:end])
		var s section
		for _, part := range []string{"**Means.**", "**Look.**", "**Do.**", "**Over.**"} {
			_, after, there := strings.Cut(body, part)
			if part == "**Look.**" && !there {
				continue // the command says it
			}
			if !there {
				return nil, fmt.Errorf("section %s has no %s", string(text[h[2]:h[3]]), part)
			}
			if part == "**Means.**" {
				s.means, _, _ = strings.Cut(strings.TrimSpace(after), "\n")
			}
		}
		if _, block, there := strings.Cut(body, "```sh\n"); there {
			block, _, _ = strings.Cut(block, "```")
			s.commands = strings.Split(strings.TrimSpace(block), "\n")
		}
		if len(s.commands) == 0 {
			return nil, fmt.Errorf("section %s says no command", string(text[h[2]:h[3]]))
		}
		out[string(text[h[2]:h[3]])] = s
	}
	return out, nil
}

// try runs the commands of a section as an operator would. A light that is red is what
// holdfast health says with exit code 1; a command about the task must name it.
func (s section) try(ctx context.Context, bin string, on *server, agent, task string) (ran []string, err error) {
	for _, line := range s.commands {
		ctx, cancel := context.WithTimeout(ctx, commandTime)
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "SERVER="+on.url(), "AGENT="+agent, "TASK="+task, "HOLDFAST_KEY="+on.key)
		out, failed := cmd.CombinedOutput()
		cancel()
		exit, is := errors.AsType[*exec.ExitError](failed)
		if is && exit.ExitCode() == 1 && (strings.HasPrefix(line, "holdfast health") || strings.Contains(string(out), "breaks its invariants")) {
			failed = nil // it says what is wrong
		}
		switch {
		case failed != nil:
			return ran, fmt.Errorf("%s: %w\n%s", line, failed, out)
		case len(out) == 0, strings.Contains(line, "$TASK") && !strings.Contains(string(out), task):
			return ran, fmt.Errorf("%s says nothing of task %s:\n%s", line, task, out)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "holdfast "), " ")
		ran = append(ran, name)
	}
	return ran, nil
}
