package systems

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// columns are the ones that a file must have, in any order. Others are ignored.
var columns = []string{
	"system", "owner", "account", "person", "status", "role", "entitled_role", "granted_on", "last_used_on",
}

// grant is one line of the file. LastUsedOn is empty for a grant never used.
type grant struct {
	Account      string `json:"account"`
	Person       string `json:"person"`
	Status       string `json:"status"`
	Role         string `json:"role"`
	EntitledRole string `json:"entitledRole"`
	GrantedOn    string `json:"grantedOn"`
	LastUsedOn   string `json:"lastUsedOn"`
}

// system is one system under review with its grants, in file order. Nothing
// changes it after New.
type system struct {
	Name   string  `json:"system"`
	Owner  string  `json:"owner"`
	Grants []grant `json:"grants"`

	line int // where the file names it first
}

// grantName says which grant is meant: a system, an account in it, a role.
type grantName struct{ system, account, role string }

var slashEscaper = strings.NewReplacer("%", "%25", "/", "%2F")

// String joins the three with slashes; a slash within a part is escaped, so
// that no two grants have the same string.
func (g grantName) String() string {
	return slashEscaper.Replace(g.system) + "/" + slashEscaper.Replace(g.account) + "/" + slashEscaper.Replace(g.role)
}

// parseInventory reads the systems from a file, in the order of their first line.
func parseInventory(file []byte) ([]*system, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte("\ufeff"))))
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: its first line names the columns " + strings.Join(columns, ", "))
	}
	if err != nil {
		return nil, err
	}
	place, err := placeColumns(header)
	if err != nil {
		return nil, err
	}
	inv := inventory{byName: map[string]*system{}, lines: map[grantName]int{}}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err // encoding/csv names the line
		}
		line, _ := r.FieldPos(0)
		if err := inv.add(line, func(column string) string { return record[place[column]] }); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if len(inv.systems) == 0 {
		return nil, errors.New("the file has a header and no grants")
	}
	return inv.systems, nil
}

// placeColumns finds the index of each column in the header.
func placeColumns(header []string) (map[string]int, error) {
	place := map[string]int{}
	for i, name := range header {
		if _, ok := place[name]; ok && slices.Contains(columns, name) {
			return nil, fmt.Errorf("line 1: the column %q stands there twice", name)
		}
		place[name] = i
	}
	var missing []string
	for _, name := range columns {
		if _, ok := place[name]; !ok {
			missing = append(missing, fmt.Sprintf("%q", name))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("line 1: missing column %s", strings.Join(missing, ", "))
	}
	return place, nil
}

// inventory gathers the lines of a file.
type inventory struct {
	systems []*system
	byName  map[string]*system
	lines   map[grantName]int // where each grant stands
}

// add takes one line, whose fields it reads by column.
func (inv *inventory) add(line int, field func(column string) string) error {
	for _, column := range []string{"system", "owner", "account", "role"} {
		if field(column) == "" {
			return fmt.Errorf("%s is empty", column)
		}
	}
	for _, column := range []string{"granted_on", "last_used_on"} {
		value := field(column)
		if column == "last_used_on" && value == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, value); err != nil {
			return fmt.Errorf("%s %q is not a date like 2026-09-30", column, value)
		}
	}
	name := grantName{field("system"), field("account"), field("role")}
	for _, part := range []string{name.system, name.account, name.role} {
		if len(part) > maxNameBytes {
			return fmt.Errorf("%.20q… is longer than %d bytes", part, maxNameBytes)
		}
	}
	if first, ok := inv.lines[name]; ok {
		return fmt.Errorf("duplicate grant: system %q, account %q, role %q is on line %d already",
			name.system, name.account, name.role, first)
	}
	inv.lines[name] = line

	sys, ok := inv.byName[name.system]
	if !ok {
		sys = &system{Name: name.system, Owner: field("owner"), line: line}
		inv.byName[name.system] = sys
		inv.systems = append(inv.systems, sys)
	}
	if sys.Owner != field("owner") {
		return fmt.Errorf("duplicate system: the owner of %q is %q here and %q on line %d",
			sys.Name, field("owner"), sys.Owner, sys.line)
	}
	sys.Grants = append(sys.Grants, grant{
		Account:      name.account,
		Person:       field("person"),
		Status:       field("status"),
		Role:         name.role,
		EntitledRole: field("entitled_role"),
		GrantedOn:    field("granted_on"),
		LastUsedOn:   field("last_used_on"),
	})
	return nil
}
