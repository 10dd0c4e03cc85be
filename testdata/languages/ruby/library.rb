require 'json'
require 'securerandom'
require 'tempfile'
require 'time'

puts "json #{JSON.parse('[1,2]').sum}"
puts "regex #{'the year 2026, I think'[/\d{4}/]}"
puts "big #{2**100}"
ENV['TZ'] = 'Asia/Tokyo'
puts "zone #{Time.iso8601('2026-01-01T12:00:00Z').localtime.strftime('%H:%M')}"
puts "random #{rand < 1 && SecureRandom.bytes(16).size == 16 ? 'ok' : 'bad'}"
Tempfile.create('test') do |file|
  file.write('ok')
  file.rewind
  puts "temp #{file.read}"
end
