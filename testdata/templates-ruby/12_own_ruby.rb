require "rbconfig"
puts RbConfig.ruby, `#{RbConfig.ruby} -e 'puts $0, 1 + 1'`
system(RbConfig.ruby, "-e", "p ARGV", "a", "b c")
