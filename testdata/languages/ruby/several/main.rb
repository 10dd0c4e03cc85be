require_relative 'other'

puts "7 #{TEXT}"
