def Warning.warn(m, **k) = print("filtered ", m)
warn "w"
X = 1; X = 2
