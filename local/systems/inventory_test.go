package systems

import (
	"strings"
	"testing"
)

func TestNewRefusesBadFiles(t *testing.T) {
	head, _, _ := strings.Cut(sample, "\n")
	row := "payroll,Ingrid,jdoe,Jane,active,admin,viewer,2024-01-02,"
	for name, c := range map[string]struct{ file, want string }{
		"empty":            {"", "the file is empty"},
		"no grants":        {head + "\n", "a header and no grants"},
		"a missing column": {strings.Replace(sample, "entitled_role", "entitled", 1), `line 1: missing column "entitled_role"`},
		"two missing":      {"system,owner,account,person,status,role,entitled_role\n", `missing column "granted_on", "last_used_on"`},
		"a column twice":   {head + ",role\n" + row + ",admin\n", `line 1: the column "role" stands there twice`},
		"a short line":     {head + "\n" + row + "\ncrm,Amara\n", "line 3"},
		"a stray quote":    {head + "\n" + row + "\ncrm,\"Ama\"ra,a,b,active,admin,admin,2024-01-02,\n", "line 3"},
		"a duplicate":      {head + "\n" + row + "\ncrm,Amara,a,b,active,admin,admin,2024-01-02,\n" + row + "\n", `line 4: duplicate grant: system "payroll", account "jdoe", role "admin" is on line 2 already`},
		"a second owner":   {head + "\n" + row + "\npayroll,Amara,a,b,active,admin,admin,2024-01-02,\n", `line 3: duplicate system: the owner of "payroll" is "Amara" here and "Ingrid" on line 2`},
		"no account":       {head + "\npayroll,Ingrid,,Jane,active,admin,viewer,2024-01-02,\n", "line 2: account is empty"},
		"a bad date":       {head + "\n" + strings.Replace(row, "2024-01-02", "02.01.2024", 1) + "\n", `line 2: granted_on "02.01.2024" is not a date`},
		"a bad last use":   {head + "\n" + row + "never\n", `line 2: last_used_on "never" is not a date`},
		"no grant date":    {head + "\n" + strings.Replace(row, "2024-01-02", "", 1) + "\n", `line 2: granted_on "" is not a date`},
		"a long name":      {head + "\n" + strings.Replace(row, "jdoe", strings.Repeat("j", maxNameBytes+1), 1) + "\n", "is longer than 128 bytes"},
		"a line that goes on, then a duplicate": {head + "\n" + strings.Replace(row, "Jane", "\"Jane\nDoe\"", 1) + "\n" + row + "\n",
			"line 4: duplicate grant: system \"payroll\", account \"jdoe\", role \"admin\" is on line 2 already"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q in it", err, c.want)
			}
		})
	}
}

// Columns may stand in another order, among others, after a byte order mark,
// and a system's lines may be apart.
func TestNewAcceptsOtherLayouts(t *testing.T) {
	s, err := New([]byte("\ufeffnote,role,account,system,owner,person,status,last_used_on,granted_on,entitled_role\r\n" +
		"x,admin,jdoe,payroll,Ingrid,Jane,active,,2024-01-02,viewer\r\n" +
		",editor,rroe,crm,Amara,Rob,left,,2024-01-02,editor\r\n" +
		",viewer,jdoe,payroll,Ingrid,Jane,active,2024-02-03,2024-01-02,viewer\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.systems) != 2 || s.systems[0].Name != "payroll" || len(s.systems[0].Grants) != 2 {
		t.Fatalf("systems %+v", s.systems)
	}
	want := grant{Account: "jdoe", Person: "Jane", Status: "active", Role: "viewer", EntitledRole: "viewer",
		GrantedOn: "2024-01-02", LastUsedOn: "2024-02-03"}
	if got := s.systems[0].Grants[1]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
