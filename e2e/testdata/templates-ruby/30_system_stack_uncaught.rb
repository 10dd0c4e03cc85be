def f = f
f rescue puts $!.class
f
