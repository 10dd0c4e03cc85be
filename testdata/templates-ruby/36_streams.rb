$stderr.puts "err"
$stdout.print "a", "b\n"
STDOUT.write("w\n")
p $stdout.sync, $stderr.sync, $stdout.tty?, $stdin.fileno
print "no newline"
system "printf child"
