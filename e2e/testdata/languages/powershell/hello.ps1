"hello, world"
