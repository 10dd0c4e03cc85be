foo = 1
puts fooo
