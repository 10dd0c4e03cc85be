package auth

import (
	"crypto/sha256"
	"testing"
	"time"
)

func keysOf(tokens map[string]string) *Keys {
	var list []Key
	for name, token := range tokens {
		list = append(list, Key{Name: name, sum: sha256.Sum256([]byte(token))})
	}
	k := new(Keys)
	k.all.Store(&list)
	return k
}

// A cookie is worth what its key is worth: it ends with the time, with the logout, and when the key is removed or
// rotated. No cookie is that of another key.
func TestLogins(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	keys := keysOf(map[string]string{"ann": "token of ann", "ben": "token of ben"})
	logIn := func(l *Logins, token string) string {
		k, ok := keys.Find(token)
		if !ok {
			t.Fatalf("no key has the token %q", token)
		}
		cookie, err := l.Start(k, start)
		if err != nil {
			t.Fatal(err)
		}
		return cookie
	}

	for _, tt := range []struct {
		name  string
		after time.Duration
		keys  *Keys
		logout,
		want bool
	}{
		{"at once", 0, keys, false, true},
		{"a minute before its end", LoginLife - time.Minute, keys, false, true},
		{"a minute after its end", LoginLife + time.Minute, keys, false, false},
		{"after the logout", 0, keys, true, false},
		{"after the key was removed", 0, keysOf(map[string]string{"ben": "token of ben"}), false, false},
		{"after the key was rotated", 0, keysOf(map[string]string{"ann": "another"}), false, false},
		{"after its name went to another key", 0, keysOf(map[string]string{"ann": "token of ben"}), false, false},
	} {
		l := &Logins{}
		ann, ben := logIn(l, "token of ann"), logIn(l, "token of ben")
		if tt.logout {
			l.End(ann)
		}
		if k, ok := l.Find(ann, start.Add(tt.after), tt.keys); ok != tt.want || ok && k.Name != "ann" {
			t.Errorf("%s: %v %q, want %v", tt.name, ok, k.Name, tt.want)
		}
		if k, ok := l.Find(ben, start, keys); !ok || k.Name != "ben" {
			t.Errorf("%s: the other key's login is %v %q", tt.name, ok, k.Name)
		}
	}

	for _, cookie := range []string{"", "x", "token of ann"} {
		if _, ok := new(Logins).Find(cookie, start, keys); ok {
			t.Errorf("cookie %q is known", cookie)
		}
	}
}

// The logins of one key are few, and its oldest makes room for the next; those of others stay.
func TestLoginsOfOneKeyAreBounded(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	keys := keysOf(map[string]string{"ann": "a", "ben": "b"})
	ann, _ := keys.Find("a")
	ben, _ := keys.Find("b")
	l := &Logins{}
	other, err := l.Start(ben, start)
	if err != nil {
		t.Fatal(err)
	}

	var cookies []string
	for i := range maxLoginsPerKey + 3 {
		c, err := l.Start(ann, start.Add(time.Duration(i)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		cookies = append(cookies, c)
	}

	for i, c := range cookies {
		if _, ok := l.Find(c, start.Add(time.Minute), keys); ok != (i >= 3) {
			t.Errorf("login %d of %d: %v", i+1, len(cookies), ok)
		}
	}
	if _, ok := l.Find(other, start.Add(time.Minute), keys); !ok {
		t.Error("the login of the other key has ended")
	}
}
