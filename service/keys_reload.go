package service

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// keysInterval is the poll interval of the keys file. A change takes effect after two polls.
const keysInterval = time.Second

// reloadKeysLoop reloads the keys file whenever it has changed.
func (g *Gateway) reloadKeysLoop(ctx context.Context) {
	tick := time.NewTicker(keysInterval)
	defer tick.Stop()

	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}

		before := g.core.Config.Keys.Unread()
		c, err := g.core.Config.Keys.Reload()
		switch {
		case err != nil:
			g.core.Log.Error("THE KEYS FILE CANNOT BE RELOADED: the keys stay as they were until it can", "err", err)
			if before.IsZero() {
				g.alertUnreadKeys(ctx)
			}

		case c != nil:
			g.core.Log.Warn("keys reloaded", "added", c.Added, "removed", c.Removed, "changed", c.Changed)
			g.core.Activity.Forget(g.core.Config.Keys.List())
			g.auditKeys(ctx, api.AuditKeyAdded, c.Added)
			g.auditKeys(ctx, api.AuditKeyRemoved, c.Removed)
			g.auditKeys(ctx, api.AuditKeyChanged, c.Changed)
			if names := g.permits.UselessProfileLog(); len(names) > 0 {
				g.core.Log.Warn("profile_log of these keys has no effect: the agent allows profile_mode log only to "+
					"root until it is started with --profile-log", "keys", names)
			}

			g.permits.WarnUselessNetworks()
			if len(g.core.Config.Keys.List()) == 0 {
				g.core.Log.Warn("the keys file has no keys: no caller may use the service")
			}

			for _, name := range c.Removed {
				if ids := g.sessions.Of(name); len(ids) > 0 {
					g.core.Log.Warn("sessions of a removed key: no caller can use them, and they end when they are idle",
						"key", name, "sessions", ids)
				}
			}
		}
	}
}

// alertUnreadKeys records an alert: an operator who removed a key must see that it is still valid.
func (g *Gateway) alertUnreadKeys(ctx context.Context) {
	a := api.Alert{Time: g.core.Config.Keys.Unread(), Kind: api.KeysUnread,
		Text: "the keys file cannot be read: keys removed from it since then are still valid; the log has the reason"}
	g.core.KeepAlert(ctx, a)
}

// auditKeys records what has happened to keys in the file.
func (g *Gateway) auditKeys(ctx context.Context, action api.AuditAction, names []string) {
	for _, name := range names {
		g.core.KeepAudit(ctx, api.AuditEntry{Time: time.Now().UTC(), Action: action, Subject: name})
	}
}
