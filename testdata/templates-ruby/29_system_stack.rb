def f = f
begin; f; rescue SystemStackError => e; puts e.message, e.backtrace.size > 1000; end
def g(n) = n == 0 ? 0 : 1 + g(n - 1)
p g(8000)
