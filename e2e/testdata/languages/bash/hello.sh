echo 'hello, world'
