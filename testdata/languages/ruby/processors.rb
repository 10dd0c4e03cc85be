require 'etc'
puts "processors #{Etc.nprocessors}"
