require "stringio"
old, $stdout = $stdout, StringIO.new
puts "captured"
s, $stdout = $stdout.string, old
p s
