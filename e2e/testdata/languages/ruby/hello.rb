puts 'hello, world'
