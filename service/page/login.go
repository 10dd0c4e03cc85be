package page

import (
	"net/http"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

const maxLoginForm = 8 << 10 // bytes

func (s *server) loginForm(w http.ResponseWriter, r *http.Request) {
	if s.core.Config.Keys == nil {
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
		return
	}
	s.show(w, http.StatusOK, "login.html", view{Keys: true, To: local(r.URL.Query().Get("to"))})
}

// login exchanges a key for a cookie. The browser keeps the cookie from scripts (HttpOnly) and from requests that other
// sites cause (SameSite=Strict).
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	if s.core.Config.Keys == nil {
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
		return
	}

	r.Body = http.MaxBytesReader(w, r.Body, maxLoginForm)
	refuse := func(status int, why string) {
		s.show(w, status, "login.html", view{Keys: true, Problem: why, To: local(r.PostFormValue("to"))})
	}
	if err := r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "The form could not be read. Send the key alone.")
		return
	}
	key, ok := s.core.Config.Keys.Find(strings.TrimSpace(r.PostFormValue("key")))
	if !ok {
		refuse(http.StatusUnauthorized, "This key is not known. Ask the operator for one, or look whether it was copied whole.")
		return
	}

	cookie, err := s.core.Logins.Start(key, time.Now())
	if err != nil {
		refuse(http.StatusServiceUnavailable, err.Error())
		return
	}
	http.SetCookie(w, loginCookie(r, cookie, int(auth.LoginLife.Seconds())))
	http.Redirect(w, r, local(r.PostFormValue("to")), http.StatusSeeOther)
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(core.LoginCookie); err == nil {
		s.core.Logins.End(cookie.Value)
	}
	http.SetCookie(w, loginCookie(r, "", -1))
	http.Redirect(w, r, "/ui/login", http.StatusSeeOther)
}

// loginCookie is a cookie with value for seconds; negative: the browser forgets it. It is only sent over TLS if the
// browser came by TLS, which it tells by Origin: a proxy may have ended the TLS.
func loginCookie(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: core.LoginCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	}
}

// local returns a path of the page, and the start page instead of any other: a link to the login leads nowhere else.
func local(to string) string {
	if !strings.HasPrefix(to, "/ui/") || strings.ContainsAny(to, "\\\r\n") || strings.Contains(to, "//") {
		return "/ui/"
	}
	return to
}
