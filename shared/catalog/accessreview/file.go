package accessreview

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// columns are the ones that a file must have, in any order. Others are ignored.
var columns = []string{
	"system", "owner", "account", "person", "status", "role", "entitled_role", "granted_on", "last_used_on",
}

// file is a file of grants.
type file struct {
	systems []System           // in the order of their first line
	grants  map[string][]Grant // by system
	asOf    string             // the latest date
}

// reader gathers the lines of a file.
type reader struct {
	file
	line map[string]int // where each system, and each grant, stands first
}

// parseFile reads a file. Its errors name the line and the column.
func parseFile(content []byte) (file, error) {
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return file{}, errors.New("the file is empty: its first line names the columns " + strings.Join(columns, ", "))
	}
	if err != nil {
		return file{}, err
	}
	place, err := placeColumns(header)
	if err != nil {
		return file{}, fmt.Errorf("line 1: %w", err)
	}
	r := reader{file: file{grants: map[string][]Grant{}}, line: map[string]int{}}
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return file{}, err // encoding/csv names the line
		}
		line, _ := in.FieldPos(0)
		if err := r.add(line, func(column string) string { return record[place[column]] }); err != nil {
			return file{}, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if len(r.systems) == 0 {
		return file{}, errors.New("the file has a header and no grants")
	}
	return r.file, nil
}

// placeColumns finds the index of each column in the header.
func placeColumns(header []string) (map[string]int, error) {
	place := map[string]int{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if _, doubled := place[name]; doubled && slices.Contains(columns, name) {
			return nil, fmt.Errorf("column %s is there twice", name)
		}
		place[name] = i
	}
	var missing []string
	for _, name := range columns {
		if _, ok := place[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("missing column %s; the file needs %s", strings.Join(missing, ", "), strings.Join(columns, ", "))
	}
	return place, nil
}

// add takes one line, whose fields it reads by column.
func (r *reader) add(line int, field func(column string) string) error {
	system := System{Name: field("system"), Owner: field("owner")}
	if err := system.check(); err != nil {
		return err
	}
	g := Grant{
		Account: field("account"), Person: field("person"), Status: field("status"), Role: field("role"),
		EntitledRole: field("entitled_role"), GrantedOn: field("granted_on"), LastUsedOn: field("last_used_on"),
	}
	if err := g.check(); err != nil {
		return err
	}
	first, known := r.line[system.Name]
	switch {
	case !known:
		r.line[system.Name] = line
		r.systems = append(r.systems, system)
	case r.systems[len(r.systems)-1].Name != system.Name:
		return fmt.Errorf("column system: duplicate system %q, which began on line %d: a system's grants stand together", system.Name, first)
	case r.systems[len(r.systems)-1].Owner != system.Owner:
		return fmt.Errorf("column owner: %q, but line %d names %q as the owner of system %q", system.Owner, first, r.systems[len(r.systems)-1].Owner, system.Name)
	}
	name := strings.Join([]string{system.Name, g.Account, g.Role}, "\x00")
	if first, doubled := r.line[name]; doubled {
		return fmt.Errorf("column account: duplicate grant: system %q, account %q, role %q is on line %d already", system.Name, g.Account, g.Role, first)
	}
	r.line[name] = line
	r.grants[system.Name] = append(r.grants[system.Name], g)
	r.asOf = latest(r.asOf, []Grant{g})
	return nil
}

// check says what is wrong with a system, by the name of its column.
func (s System) check() error {
	if err := checkField("system", s.Name); err != nil {
		return err
	}
	if s.Name == "." || s.Name == ".." {
		return fmt.Errorf("column system: %q cannot be a system's name", s.Name)
	}
	return checkField("owner", s.Owner)
}
