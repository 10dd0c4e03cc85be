puts 'grün 日本 😀'
line = gets
raise "read #{line.encoding}" unless line.encoding == Encoding::UTF_8

puts line
