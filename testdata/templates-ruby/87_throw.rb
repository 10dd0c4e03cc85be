p catch(:x) { throw :x, 5 }
throw :uncaught
