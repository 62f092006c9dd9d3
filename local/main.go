// Command local runs Holdfast in one process on a laptop: the same handlers as on
// AWS over an embedded ledger, and a few tools around it.
//
//	local serve      the agents, on 127.0.0.1:8080, data in .holdfast
//	local watch      follow a task, across cut streams and server restarts
//	local export     write a task's ledger as a file that others can check
//	local verify     check such files without a server
//	local replay     rebuild a task from one
//	local show       a task as operators see it
//	local health     what is watched, and the tasks that break it
//	local reconcile  a task's outside calls, and what may be done about them
//	local receive    take webhooks, verify them and print what they are
//	local redeliver  have a task's webhooks delivered again
//	local keys       look after the keys that sign and seal
//	local systems    the systems under review of the worked example
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// command is one subcommand.
type command struct {
	about string
	run   func(ctx context.Context, args []string, out, logs io.Writer) error
}

func commands() map[string]command {
	return map[string]command{
		"serve":     {"serve the agents", serve},
		"watch":     {"follow a task, across cut streams and server restarts", follow},
		"export":    {"write a task's ledger as a file that others can check", exportTask},
		"verify":    {"check such files without a server", verify},
		"replay":    {"rebuild a task, its head and its artifacts from one", replay},
		"show":      {"show a task as operators see it", show},
		"health":    {"show what is watched, and the tasks that break it", lights},
		"reconcile": {"list a task's outside calls, and what may be done about them", reconcile},
		"receive":   {"take webhooks, verify them and print what they are", receive},
		"redeliver": {"have a task's webhooks delivered again", redeliver},
		"keys":      {"look after the keys that sign and seal", keys},
		"systems":   {"serve the systems under review of the worked example", serveSystems},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(exitCode(err))
}

// exitCode is 0, 1 for a failure, 2 for a command line that cannot be understood, or 3
// for a followed task that was not completed.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[endedBadly](err); ok {
		return 3
	}
	fmt.Fprintln(os.Stderr, "holdfast:", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, out, logs io.Writer) error {
	all := commands()
	if len(args) > 0 {
		if c, ok := all[args[0]]; ok {
			err := c.run(ctx, args[1:], out, logs)
			if errors.Is(err, flag.ErrHelp) {
				return nil
			}
			return err
		}
	}
	fmt.Fprintln(logs, "usage: local COMMAND [flags]; local COMMAND -h lists a command's flags")
	for _, name := range []string{"serve", "watch", "export", "verify", "replay", "show", "health", "reconcile", "receive", "redeliver", "keys", "systems"} {
		fmt.Fprintf(logs, "  %-9s %s\n", name, all[name].about)
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return nil
	}
	return fmt.Errorf("unknown command %q: %w", args[0], errUsage)
}
