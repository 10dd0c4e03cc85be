nil.foo.bar
