def g(n) = n == 0 ? 0 : 1 + g(n - 1)
p Thread.new { g(9000) }.value
p Thread.new { begin; (f = proc { f.() + 1 }).(); rescue SystemStackError; "overflow"; end }.value
