def f(n, &b) = n == 0 ? b.call : [1].each { f(n - 1, &b) }
f(2000) { puts "bottom" }
begin; [1].each(&(r = proc { |x| [x].each(&r) })); rescue SystemStackError; puts "overflow in C"; end
